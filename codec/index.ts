export { dataConverter, payloadConverterPath } from './data-converter.ts';
export { decodeFailureMessage, decodePayloads, failureMessage } from './decode.ts';
