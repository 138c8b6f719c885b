/** Stands for a worker: runs a line for the shell in a folder, and says how that ended. */
import { shell } from '../../../activities/tools/shell.ts';
import type { ApprovalPolicy } from '../../../protocol/index.ts';
import { contextIn } from '../tools/tool-context.ts';

const [folder = '', command, approval_policy] = process.argv.slice(2);
const context = contextIn(folder, {
  settings: { sandbox_mode: 'workspace-write', approval_policy: approval_policy as ApprovalPolicy },
});
const result = await Promise.resolve(shell.run(shell.parameters.parse({ command }), context)).catch(
  (error: Error) => error.message,
);
console.log(JSON.stringify(result));
process.exit(0);
