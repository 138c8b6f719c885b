export type { ContentPart, Item } from '../protocol/index.ts';
export { CadreClient } from './client.ts';
export type * from './types.ts';
