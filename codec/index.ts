export { dataConverter, payloadConverterPath } from './data-converter.ts';
export { decodePayloads } from './decode.ts';
