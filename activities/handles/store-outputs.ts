import type { CoreActivities } from '../../protocol/index.ts';
import { storeText } from './handle-store.ts';

/** The `store_outputs` activity: keeps what a workflow has cut, since a workflow has no files. */
export function createStoreOutputs(stateDir: string): CoreActivities['store_outputs'] {
  return async ({ texts }) => ({ stored: await Promise.all(texts.map((text) => storeText(stateDir, text))) });
}
