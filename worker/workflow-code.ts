import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { WorkerOptions } from '@temporalio/worker';

/**
 * No call into workflow code is broken off. The SDK would do so after 5 s, which a busy machine takes, or one that was
 * stopped for a moment; what the broken-off agent had left to do is then done in the next agent that runs, as all share
 * one V8 context: that one sends what its own code never sent, and does not replay any more (docs/decisions/036). The
 * SDK takes this option and does not declare it; this is the value of its debug mode.
 */
export const UNBROKEN = { isolateExecutionTimeout: '4294967295ms' };

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
