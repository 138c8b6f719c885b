/**
 * Stands for a worker: types to a program, tells how far that came, and types on. SIGTERM shuts it down, SIGUSR2 interrupts
 * the call.
 */
import { once } from 'node:events';
import { CommandSessions } from '../../../activities/commands/command-sessions.ts';
import type { ToolResult } from '../../../activities/tools/define-tool.ts';
import { execCommand } from '../../../activities/tools/exec-command.ts';
import { writeStdin } from '../../../activities/tools/write-stdin.ts';
import { contextIn } from './tool-context.ts';

const [folder = '', cmd, chars] = process.argv.slice(2);
const interrupt = new AbortController();
const commands = new CommandSessions();
const context = contextIn(folder, {
  settings: { sandbox_mode: 'danger-full-access' },
  commands,
  signal: interrupt.signal,
});
const asked = { cmd, tty: true, yield_time_ms: 1_000 };
const begun = (await execCommand.run(execCommand.parameters.parse(asked), context)) as ToolResult;
const write = (more: object) => {
  const args = { session_id: begun.command_session?.id, chars, ...more };
  return writeStdin.run(writeStdin.parameters.parse(args), context) as Promise<ToolResult>;
};
const told = Promise.race([
  once(process, 'SIGTERM').then(() => commands.close()),
  once(process, 'SIGUSR2').then(() => interrupt.abort(new Error('interrupted'))),
]);
const first = await write({ yield_time_ms: 1_000 });
const typing = write({ yield_time_ms: 600_000 }).catch((error: Error) => error.message);
process.stdout.write(JSON.stringify(first));
await told;
process.stdout.write(`\n${JSON.stringify(await typing)}`);
process.exit(0);
