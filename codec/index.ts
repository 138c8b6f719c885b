export { dataConverter, payloadConverterPath } from './data-converter.ts';
export { decodeFailureMessage, decodePayloads } from './decode.ts';
