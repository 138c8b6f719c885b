import { cadreVersion } from '../rollout/cadre-version.ts';
import { isOutputClosed, tellClosedOutput } from './closed-output.ts';
import { failureOf, isCommanderError } from './errors.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { type CommonOptions, Invocation } from './invocation.ts';
import type { Output } from './output.ts';
import { createProgram } from './program.ts';
import { isContained } from './uncaught.ts';

/** Runs one command and ends the process with its exit code. */
export async function main(argv: readonly string[]): Promise<void> {
  const command = new CommandRun(argv);
  for (const stream of [process.stdout, process.stderr]) stream.on('error', endOnClosedPipe);
  process.on('uncaughtException', (error) => {
    if (!isContained(error)) process.exit(command.fail(error));
  });
  const exitCode = await command.execute();
  await Promise.all([flushed(process.stdout), flushed(process.stderr)]);
  process.exit(exitCode === EXIT.done && isOutputClosed() ? EXIT.outputClosed : exitCode);
}

class CommandRun {
  readonly #argv: readonly string[];
  #output: Output | undefined;

  constructor(argv: readonly string[]) {
    this.#argv = argv;
  }

  async execute(): Promise<ExitCode> {
    let exitCode: Promise<ExitCode> | undefined;
    const program = createProgram(cadreVersion(), (run) => {
      this.#output = run.invocation.output;
      exitCode = run.exitCode;
    });
    try {
      if (this.#argv.length === 0) program.outputHelp();
      else await program.parseAsync(this.#argv, { from: 'user' });
      return (await exitCode) ?? EXIT.done;
    } catch (error) {
      return isCommanderError(error) && error.exitCode === 0 ? EXIT.done : this.fail(error);
    }
  }

  /** Prints what went wrong. */
  fail(error: unknown): ExitCode {
    const { body, exitCode, trace } = failureOf(error);
    const output = this.#output ?? new Invocation(roughOptions(this.#argv)).output;
    output.error(body, trace);
    return exitCode;
  }
}

/** Where the command line itself is wrong, its options are not known; how to print that is told from the words. */
function roughOptions(argv: readonly string[]): CommonOptions {
  const words = argv.slice(0, argv.includes('--') ? argv.indexOf('--') : undefined);
  return {
    json: words.includes('--json'),
    jsonl: words.includes('--jsonl'),
    verbose: words.includes('--verbose') || words.includes('-v'),
  };
}

const CLOSED = ['EPIPE', 'EIO', 'ERR_STREAM_DESTROYED'];

/**
 * A reader that has seen enough, like `head`, ends a command as it ends any other program of a pipeline; but what was
 * begun for it is not dropped.
 */
function endOnClosedPipe(error: NodeJS.ErrnoException): void {
  if (CLOSED.includes(error.code ?? '')) {
    if (tellClosedOutput()) return;
    process.exit(EXIT.outputClosed);
  }
  process.stderr.write(`error: the output cannot be written (${error.code ?? error.message})\n`);
  process.exit(EXIT.errored);
}

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write('', () => resolve()));
}
