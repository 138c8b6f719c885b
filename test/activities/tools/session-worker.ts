/** Stands for a worker: leaves a command running as a session, until it is killed itself. */
import { CommandSessions } from '../../../activities/commands/command-sessions.ts';
import type { ToolResult } from '../../../activities/tools/define-tool.ts';
import { execCommand } from '../../../activities/tools/exec-command.ts';
import { contextIn } from './tool-context.ts';

const [sandbox, tty, seconds, folder = ''] = process.argv.slice(2);
const context = contextIn(folder, {
  settings: { sandbox_mode: sandbox as 'read-only' },
  commands: new CommandSessions(),
});
// One that has left its session, one that has left its group, and one in front.
const cmd = `trap '' HUP TERM; set -m; (setsid sleep ${seconds} &); sleep ${seconds} & sleep ${seconds}`;
const args = execCommand.parameters.parse({ cmd, tty: tty === 'tty', yield_time_ms: 500 });
const { output } = (await execCommand.run(args, context)) as ToolResult;
console.log(output);
setInterval(() => {}, 1_000);
