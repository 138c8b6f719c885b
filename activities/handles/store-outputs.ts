import type { CoreActivities } from '../../protocol/index.ts';
import { storeOutput } from './handle-store.ts';

/** The `store_outputs` activity: keeps what a workflow has cut, since a workflow has no files. */
export function createStoreOutputs(stateDir: string): CoreActivities['store_outputs'] {
  const store = (text: string) =>
    storeOutput(stateDir, { text }).then(
      (handle) => ({ handle }),
      (error: unknown) => ({ problem: error instanceof Error ? error.message : String(error) }),
    );
  return async ({ texts }) => ({ stored: await Promise.all(texts.map(store)) });
}
