import { type Command, type CommandOptions, Option } from 'commander';
import { agentArguments, lenientUsage } from './agent-arguments.ts';
import type { ExitCode } from './exit-codes.ts';
import { type CommonOptions, Invocation } from './invocation.ts';
import { collect } from './option-values.ts';
import { LOG_LEVELS } from './output.ts';

/** A command's file: it is loaded only when the command runs, so that --help stays quick. */
export interface CommandModule {
  default(invocation: Invocation, args: never, options: never): Promise<ExitCode>;
}

export interface Run {
  invocation: Invocation;
  exitCode: Promise<ExitCode>;
}

export type Define = (
  parent: Command,
  usage: string,
  description: string,
  load: () => Promise<CommandModule>,
  options?: CommandOptions,
) => Command;

/**
 * Ways to define commands: any, and one whose first argument names an agent, which `--last` may do as well.
 *
 * @param started is told of the one command that runs
 */
export function commandDefiner(started: (run: Run) => void): { define: Define; defineForAgent: Define } {
  const defineWith =
    (forAgent: boolean): Define =>
    (parent, usage, description, load, options) => {
      const command = withCommonOptions(parent.command(forAgent ? lenientUsage(usage) : usage, options));
      if (forAgent) command.option('--last', 'the newest session of this folder, in place of an id');
      return command.description(description).action(() => {
        const chosen = optionsOf(command);
        const given = command.processedArgs;
        const args = forAgent ? agentArguments(usage, given, chosen.last === true) : given;
        const invocation = new Invocation(chosen);
        const exitCode = load().then((module) => module.default(invocation, args as never, chosen as never));
        started({ invocation, exitCode });
        return exitCode.then(() => {});
      });
    };
  return { define: defineWith(false), defineForAgent: defineWith(true) };
}

/** Every command takes them, also after its name. */
export function withCommonOptions(command: Command): Command {
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
function optionsOf(command: Command): CommonOptions & { last?: boolean } {
  const chain: Command[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) chain.unshift(at);
  const options = chain.map((each) => each.opts<CommonOptions>());
  const config = options.flatMap((each) => each.config ?? []);
  return Object.assign({}, ...options, { config });
}
