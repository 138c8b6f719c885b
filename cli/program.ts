import { Command, Option } from 'commander';
import type { ExitCode } from './exit-codes.ts';
import { type CommonOptions, Invocation } from './invocation.ts';
import { collect, naturalNumber, positiveInteger, seconds } from './option-values.ts';
import { LOG_LEVELS } from './output.ts';

/** A command's file: it is loaded only when the command runs, so that --help stays quick. */
interface CommandModule {
  default(invocation: Invocation, args: never, options: never): Promise<ExitCode>;
}

export interface Run {
  invocation: Invocation;
  exitCode: Promise<ExitCode>;
}

/**
 * The whole command line, as commander knows it.
 *
 * @param started is told of the one command that runs
 */
export function createProgram(version: string, started: (run: Run) => void): Command {
  const program = new Command('cadre')
    .description('Agents that hand work to agents, durably: every agent is a Temporal workflow.')
    .version(version, '--version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeErr: () => {}, outputError: () => {} })
    .addHelpText('after', EXAMPLES);
  withCommonOptions(program);

  const define = (
    parent: Command,
    usage: string,
    description: string,
    load: () => Promise<CommandModule>,
  ): Command =>
    withCommonOptions(parent.command(usage))
      .description(description)
      .action((...all: unknown[]) => {
        const command = all.at(-1) as Command;
        const options = optionsOf(command);
        const invocation = new Invocation(options);
        const exitCode = load().then((module) =>
          module.default(invocation, command.processedArgs as never, options as never),
        );
        started({ invocation, exitCode });
        return exitCode.then(() => {});
      });

  program.commandsGroup('Work:');
  define(
    program,
    'run [text]',
    'run a task: start an agent, follow its tree, print its answer',
    () => import('./commands/run.ts'),
  )
    .option('--agent <role>', 'role of the agent (default: default)')
    .option('--model <model>', 'model')
    .option('-C, --cwd <dir>', 'working directory')
    .addOption(
      new Option('-s, --sandbox <mode>', 'sandbox').choices([
        'read-only',
        'workspace-write',
        'danger-full-access',
      ]),
    )
    .addOption(
      new Option('-a, --approval <policy>', 'approval policy').choices(['untrusted', 'on-request', 'never']),
    )
    .option('-i, --image <file>', 'image to look at; may be repeated', collect)
    .option('-o, --output <file>', 'write the answer to a file, too')
    .option('--output-schema <file>', 'JSON schema that the answer has to follow')
    .option('--max-steps <n>', 'most model calls in a turn', positiveInteger)
    .option('--max-tokens <n>', 'most tokens of the whole session', positiveInteger)
    .option('--timeout <seconds>', 'leave it running in the background after this time', seconds)
    .option('--detach', 'print the id and let it run in the background')
    .option('--no-wait-agents', 'end with the first answer, closing what still runs')
    .option('--non-interactive', 'ask nobody: what needs an approval is refused')
    .addHelpText('after', '\nWith - or without TEXT the task is read from standard input.');
  define(
    program,
    'attach <id>',
    'follow a session again, and work for it if nobody does',
    () => import('./commands/attach.ts'),
  );
  define(
    program,
    'send <id> <text>',
    'send input to an agent; - reads it from standard input',
    () => import('./commands/send.ts'),
  ).option('--interrupt', 'stop what it does now, then start over with this input');
  define(
    program,
    'interrupt <id>',
    'stop the turn of an agent and of those below it',
    () => import('./commands/interrupt.ts'),
  ).option('--reason <text>', 'why, for the conversation');
  define(program, 'wait <id...>', 'wait until the first agent is done', () => import('./commands/wait.ts'))
    .option('--all', 'wait for all of them')
    .option('--timeout <seconds>', 'give up after this time', seconds);
  define(program, 'close <id>', 'close an agent and all below it', () => import('./commands/close.ts'));
  define(
    program,
    'note <id> [text]',
    'set the note of an agent; without a text, clear it',
    () => import('./commands/note.ts'),
  );

  program.commandsGroup('Look:');
  define(program, 'ps', 'list agents', () => import('./commands/ps.ts'))
    .option('--all', 'closed ones, too')
    .addOption(new Option('--status <status>', 'only those of this status').choices(LISTED_STATUSES))
    .option('--role <role>', 'only those of this role')
    .option('--limit <n>', 'at most so many', positiveInteger);
  define(program, 'tree <id>', 'show the tree of a session', () => import('./commands/tree.ts'));
  define(program, 'status <id>', 'show one agent', () => import('./commands/status.ts'));
  define(program, 'items <id>', 'show the conversation of an agent', () => import('./commands/items.ts'));
  define(program, 'events <id>', 'show what happened to an agent', () => import('./commands/events.ts'))
    .option('-f, --follow', 'go on until the agent is closed')
    .option('--after <seq>', 'only events after this number', naturalNumber);

  program.commandsGroup('Set up:');
  const server = program.command('server').description('the embedded Temporal server');
  define(server, 'start', 'start it, if it does not run', () => import('./commands/server-start.ts'));
  define(server, 'status', 'tell whether it runs, and where', () => import('./commands/server-status.ts'));
  define(
    server,
    'stop',
    'stop it; sessions go on when it starts again',
    () => import('./commands/server-stop.ts'),
  );
  define(
    program,
    'worker',
    'work for all local sessions, or with --queue for a named task queue',
    () => import('./commands/worker.ts'),
  )
    .option('--tools <file>', 'module with tools of your own')
    .addOption(new Option('--session <id>', 'work for one local session until it is closed').hideHelp());
  define(
    program,
    'setup',
    'register what Cadre needs on a Temporal cluster',
    () => import('./commands/setup.ts'),
  );
  define(
    program,
    'doctor',
    'tell what works here and how to mend what does not',
    () => import('./commands/doctor.ts'),
  );
  define(
    program,
    'config',
    'print every setting and where it comes from',
    () => import('./commands/config.ts'),
  );
  return program;
}

const LISTED_STATUSES = ['pending_init', 'running', 'completed', 'errored', 'interrupted', 'shutdown'];

const EXAMPLES = `
Examples:
  cadre run "survey this folder"         run a task and print the answer
  cadre run --detach - < task.md         start it in the background, print its id
  cadre attach ID                        follow it again
  cadre ps                               what runs

Exit codes: 0 done, 1 the agent ended on an error, 2 wrong usage or configuration, 3 not found,
4 an approval was needed and nobody could give it, 5 refused by a limit, 6 ended by a limit or --timeout,
69 Temporal or the model could not be reached, 130 interrupted`;

function withCommonOptions(command: Command): Command {
  const options = [
    new Option('-c, --config <key=value>', 'override a setting; may be repeated').argParser(collect),
    new Option('--profile <name>', 'use the settings of [profiles.NAME]'),
    new Option('--address <host:port>', 'Temporal server; default: the embedded one'),
    new Option('--namespace <name>', 'Temporal namespace'),
    new Option('--queue <name>', 'task queue whose workers do the work'),
    new Option('--json', 'print one JSON object'),
    new Option('--jsonl', 'print JSON lines as things happen'),
    new Option('-q, --quiet', 'print nothing but the answer and errors'),
    new Option('-v, --verbose', 'print more of what happens'),
    new Option('--log-level <level>', 'what to print on stderr').choices(LOG_LEVELS),
    new Option('--color <when>', 'colours').choices(['auto', 'always', 'never']),
  ];
  for (const option of options) command.addOption(option.helpGroup('Common options:'));
  return command;
}

/** The options of a command together with those given before it; `-c` of both count. */
function optionsOf(command: Command): CommonOptions {
  const chain: Command[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) chain.unshift(at);
  const options = chain.map((each) => each.opts<CommonOptions>());
  const config = options.flatMap((each) => each.config ?? []);
  return Object.assign({}, ...options, { config });
}
