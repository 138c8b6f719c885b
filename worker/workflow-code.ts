import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { WorkerOptions } from '@temporalio/worker';

const bundle = fileURLToPath(new URL('../workflow-bundle.js', import.meta.url));

/** The bundle that the build has made; from source, as in tests, it is made on the spot, which takes 1.5 s. */
export function workflowCode(): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath' | 'bundlerOptions'> {
  if (existsSync(bundle)) return { workflowBundle: { codePath: bundle } };
  const folder = fileURLToPath(new URL('../workflows/', import.meta.url));
  return {
    workflowsPath: `${folder}index.ts`,
    bundlerOptions: { preloadModules: [`${folder}preload.ts`] },
  };
}
