import { CadreError } from '../protocol/errors.ts';
import type { ConfigSources, Flag, LoadedConfig } from './config/load.ts';
import { type Format, type LogLevel, Output, type OutputOptions } from './output.ts';

/** Options that every command takes. */
export interface CommonOptions {
  config?: string[];
  profile?: string;
  address?: string;
  namespace?: string;
  queue?: string;
  json?: boolean;
  jsonl?: boolean;
  quiet?: boolean;
  verbose?: boolean;
  logLevel?: LogLevel;
  color?: 'auto' | 'always' | 'never';
}

/** One run of the command line: its options, its streams, its surroundings. */
export class Invocation {
  readonly options: CommonOptions;
  readonly output: Output;
  readonly environment: NodeJS.ProcessEnv = process.env;

  constructor(options: CommonOptions, output = new Output(outputOptionsOf(options))) {
    this.options = options;
    this.output = output;
  }

  /** @throws CadreError `usage` where somebody has removed the folder */
  get cwd(): string {
    try {
      return process.cwd();
    } catch (error) {
      throw new CadreError('usage', 'The folder in which this command runs is not there any more.', {
        hint: 'Change to another folder, and run it again.',
        cause: error,
      });
    }
  }

  /** The configuration with the common options in it; what a person should know of it is told on stderr. */
  async loadConfig(flags: readonly Flag[] = [], cwd = this.cwd): Promise<LoadedConfig> {
    const { loadConfig } = await import('./config/load.ts');
    const loaded = await loadConfig({
      ...this.configSources(cwd),
      flags: [...this.#temporalFlags(), ...flags],
    });
    for (const notice of loaded.notices) this.output.warn(notice);
    return loaded;
  }

  configSources(cwd = this.cwd): ConfigSources {
    const { profile, config = [] } = this.options;
    return {
      cwd,
      typedIn: this.cwd,
      environment: this.environment,
      profile,
      overrides: config,
      flags: this.#temporalFlags(),
    };
  }

  #temporalFlags(): Flag[] {
    const { address, namespace, queue } = this.options;
    return [
      { path: ['temporal', 'address'], value: address, where: '--address' },
      { path: ['temporal', 'namespace'], value: namespace, where: '--namespace' },
      { path: ['temporal', 'task_queue'], value: queue, where: '--queue' },
    ];
  }
}

export function outputOptionsOf(options: CommonOptions): OutputOptions {
  return {
    format: formatOf(options),
    level: options.logLevel ?? (options.quiet ? 'error' : options.verbose ? 'debug' : 'info'),
    color: options.color ?? 'auto',
    stdout: process.stdout,
    stderr: process.stderr,
    environment: process.env,
  };
}

function formatOf({ json, jsonl }: CommonOptions): Format {
  return jsonl ? 'jsonl' : json ? 'json' : 'text';
}
