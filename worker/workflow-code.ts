import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { WorkerOptions } from '@temporalio/worker';

/**
 * The bundle that the build has made; from source, as in tests, it is made on the spot, which takes 1.5 s.
 *
 * @param sealed with encryption: agents write the texts of failures so that they can be sealed
 */
export function workflowCode(
  sealed: boolean,
): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath' | 'bundlerOptions'> {
  const name = sealed ? 'workflow-bundle-sealed.js' : 'workflow-bundle.js';
  const bundle = fileURLToPath(new URL(`../${name}`, import.meta.url));
  if (existsSync(bundle)) return { workflowBundle: { codePath: bundle } };
  const folder = fileURLToPath(new URL('../workflows/', import.meta.url));
  return {
    workflowsPath: `${folder}index.ts`,
    bundlerOptions: { preloadModules: [`${folder}preload.ts`] },
  };
}
