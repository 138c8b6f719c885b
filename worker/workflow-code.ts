import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { WorkerOptions } from '@temporalio/worker';

const bundle = fileURLToPath(new URL('../workflow-bundle.js', import.meta.url));

/** The bundle that the build has made; from source, as in tests, it is made on the spot, which takes 1.5 s. */
export function workflowCode(): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath'> {
  if (existsSync(bundle)) return { workflowBundle: { codePath: bundle } };
  return { workflowsPath: fileURLToPath(new URL('../workflows/index.ts', import.meta.url)) };
}
