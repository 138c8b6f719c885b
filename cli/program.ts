import { Command, Option } from 'commander';
import { commandDefiner, type Run, withCommonOptions } from './define-command.ts';
import {
  agentId,
  collect,
  collectAddresses,
  naturalNumber,
  portNumber,
  positiveInteger,
  rate,
  seconds,
} from './option-values.ts';

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
    .exitOverride((error) => {
      const named = program.args.includes('help')
        ? program.args[program.args.indexOf('help') + 1]
        : undefined;
      // Commander takes help on a command that it does not know for a missing command.
      if (error.code === 'commander.help' && error.exitCode !== 0 && named !== undefined) {
        program.error(`error: unknown command '${named}'`, { code: 'commander.unknownCommand' });
      }
      throw error;
    })
    .configureOutput({ writeErr: () => {}, outputError: () => {} })
    .addHelpText('after', EXAMPLES);
  withCommonOptions(program);

  const { define, defineForAgent } = commandDefiner(started);

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
    .option('--host <name>', 'with --queue: live on that host, whose workers do all of its work')
    .option('-i, --image <file>', 'image to look at; may be repeated', collect)
    .option('-o, --output <file>', 'write the answer to a file, too')
    .option('--output-schema <file>', 'JSON schema that the answer has to follow')
    .option('--max-steps <n>', 'most model calls in a turn', positiveInteger)
    .option('--max-tokens <n>', 'most tokens of the whole session', positiveInteger)
    .option('--timeout <seconds>', 'leave it running in the background after this time', seconds)
    .addOption(
      // It has nobody who could wait, or write an answer.
      new Option('--detach', 'print the id and let it run in the background').conflicts([
        'output',
        'timeout',
      ]),
    )
    .option('--no-wait-agents', 'end with the first answer, closing what still runs')
    .option('--non-interactive', 'ask nobody: what needs an approval is refused')
    .option(...STREAM)
    .addHelpText('after', '\nWith - or without TEXT the task is read from standard input.');
  defineForAgent(
    program,
    'attach <id>',
    'follow a session again, and work for it if nobody does',
    () => import('./commands/attach.ts'),
  ).option(...STREAM);
  defineForAgent(
    program,
    'send <id> <text>',
    'send input to an agent; - reads it from standard input',
    () => import('./commands/send.ts'),
  ).option('--interrupt', 'stop what it does now, then start over with this input');
  defineForAgent(
    program,
    'interrupt <id>',
    'stop the turn of an agent and of those below it',
    () => import('./commands/interrupt.ts'),
  ).option('--reason <text>', 'why, for the conversation');
  defineForAgent(
    program,
    'wait <id...>',
    'wait until the first agent is done',
    () => import('./commands/wait.ts'),
  )
    .option('--all', 'wait for all of them')
    .option('--timeout <seconds>', 'give up after this time', seconds);
  defineForAgent(
    program,
    'close <id>',
    'close an agent and all below it',
    () => import('./commands/close.ts'),
  );
  defineForAgent(
    program,
    'note <id> [text]',
    'set the note of an agent; without a text, clear it',
    () => import('./commands/note.ts'),
  );

  defineForAgent(
    program,
    'compact <id>',
    'have an agent summarise its conversation before its next step',
    () => import('./commands/compact.ts'),
  );

  defineForAgent(
    program,
    'resume <id> [text]',
    'bring a closed agent back, with everything it had',
    () => import('./commands/resume.ts'),
  ).option('--recursive', 'and what was open below it when it was closed');
  defineForAgent(
    program,
    'fork <id> [text]',
    'start a new session from the conversation of an agent',
    () => import('./commands/fork.ts'),
  ).option('--before-message <n>', 'end just before its nth user message', positiveInteger);
  defineForAgent(
    program,
    'export <id>',
    'write all that a session is as JSON lines: its rollout',
    () => import('./commands/export.ts'),
  )
    .option('-o, --output <file>', 'into a file (default: standard output)')
    .option('--plain', 'readable for everybody, also where [encryption] is on');
  define(
    program,
    'import <file>',
    'take in what export has written, so that resume finds it (-: standard input)',
    () => import('./commands/import.ts'),
  ).option('--replace', 'in place of another rollout of the same session');
  defineForAgent(
    program,
    'rm <id>',
    'remove a closed session for good, and its rollout',
    () => import('./commands/rm.ts'),
  );
  define(
    program,
    'call <tool> [json]',
    'call a tool as if the model of an agent had',
    () => import('./commands/call.ts'),
  )
    .option('--agent <id>', 'the agent')
    .option('--last', 'the newest session of this folder, in place of an id');

  program.commandsGroup('Answer:');
  defineForAgent(
    program,
    'approvals [id]',
    'list what waits for an approval',
    () => import('./commands/approvals.ts'),
  );
  define(program, 'approve <request>', 'allow what an agent asks for', () => import('./commands/approve.ts'))
    .option('--for-session', 'and the same for the rest of the session')
    .option('--always', 'and the same in later sessions: a rule is saved');
  define(program, 'deny <request>', 'refuse what an agent asks for', () => import('./commands/deny.ts'))
    .option('--reason <text>', 'why, for the agent')
    .option('--abort', 'and stop its turn');

  program.commandsGroup('Look:');
  define(
    program,
    'ps',
    'list agents; SINCE is the time since the start, or since the end of those that have ended',
    () => import('./commands/ps.ts'),
  )
    .option('--all', 'closed ones, too')
    .option('--orphans', 'only those that run on though somebody above them was ended from outside')
    .addOption(new Option('--status <status>', 'only those of this status').choices(LISTED_STATUSES))
    .option('--role <role>', 'only those of this role')
    .option('--limit <n>', 'at most so many', positiveInteger);
  defineForAgent(program, 'tree <id>', 'show the tree of a session', () => import('./commands/tree.ts'));
  defineForAgent(program, 'status <id>', 'show one agent', () => import('./commands/status.ts'));
  defineForAgent(
    program,
    'items <id>',
    'show the conversation of an agent',
    () => import('./commands/items.ts'),
  ).option('--whole', 'also the items that summaries have replaced');
  defineForAgent(
    program,
    'events <id>',
    'show what happened to an agent',
    () => import('./commands/events.ts'),
  )
    .option('-f, --follow', 'go on until the agent is closed')
    .option('--after <seq>', 'only events after this number', naturalNumber);

  const agents = program.command('agents').description('the roles that agents may have');
  define(agents, 'list', 'list them (the default)', () => import('./commands/agents-list.ts'), {
    isDefault: true,
  });
  define(agents, 'show <name>', 'show one', () => import('./commands/agents-show.ts'));
  define(
    agents,
    'check [file...]',
    'tell what is wrong with role files',
    () => import('./commands/agents-check.ts'),
  );

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
    .option(
      '--grace <seconds>',
      'told to stop, it gives what runs this time to finish (default: 10)',
      seconds,
    )
    .option(
      '--host [name]',
      'also work for sessions that live on this host (default: the name of the machine)',
    )
    .option(
      '--models <provider>',
      'also make model calls that have a queue of their own; may be repeated',
      collect,
    )
    .option('--rate <n>', 'with --models: so many calls a second, by all workers together', rate)
    .option('--no-agents', 'with --models: make these calls, and do nothing else')
    .option('--deployment <name>', 'with --build-id: a versioned worker of this Worker Deployment')
    .option('--build-id <id>', 'its build: sessions stay with the build that they began on')
    .addOption(
      new Option('--session <id>', 'work for one local session until it is closed')
        .argParser(agentId)
        .hideHelp(),
    );
  define(
    program,
    'mcp-server',
    'let an MCP client (Claude Code, Codex, an IDE) drive Cadre, over standard input and output',
    () => import('./commands/mcp-server.ts'),
  ).option(
    '--timeout <seconds>',
    'run and wait answer after this time at the latest; what runs goes on',
    seconds,
  );
  define(
    program,
    'codec-server',
    'show the Temporal Web UI and `temporal` what payloads hold; one runs beside the embedded server',
    () => import('./commands/codec-server.ts'),
  )
    .option('--port <port>', 'where it listens, on 127.0.0.1 (default: a free one)', portNumber)
    .option(
      '--ui <url>',
      'Web UI whose page may ask; may be repeated (default: the embedded server’s)',
      collectAddresses,
    )
    .addOption(new Option('--beside', 'serve as long as the embedded server runs').hideHelp());
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
  define(
    program,
    'trust [dir]',
    'let the settings and roles of a repository count as yours (default: the one of this folder)',
    () => import('./commands/trust.ts'),
  )
    .addOption(new Option('--list', 'list the folders that are trusted').conflicts('revoke'))
    .option('--revoke', 'trust it no longer');
  return program;
}

const LISTED_STATUSES = ['pending_init', 'running', 'completed', 'errored', 'interrupted', 'shutdown'];

const STREAM = ['--stream', 'with --jsonl: also what models say while they say it'] as const;

const EXAMPLES = `
Examples:
  cadre run "survey this folder"         run a task and print the answer
  cadre run --detach - < task.md         start it in the background, print its id
  cadre attach ID                        follow it again
  cadre ps                               what runs

Exit codes: 0 done, 1 the agent ended on an error, 2 wrong usage or configuration, 3 not found,
4 an approval was needed and nobody could give it, 5 refused by a limit, 6 ended by a limit or --timeout,
69 Temporal or the model could not be reached, 130 interrupted, 141 nobody read the output any more (a session that is followed goes on)`;
