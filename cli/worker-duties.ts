import { hostname } from 'node:os';
import { CadreError } from '../protocol/errors.ts';
import { hostQueue } from '../protocol/queues.ts';
import type { WorkerOptions } from '../worker/types.ts';

/** What a worker does beside working for its queue, or in place of it. */
export type Duties = Pick<WorkerOptions, 'host' | 'models' | 'agents'>;

export interface DutyOptions {
  /** true: the name of this machine. */
  host?: string | true;
  /** Providers whose model calls it makes. */
  models?: string[];
  /** Of these calls a second. */
  rate?: number;
  agents: boolean;
}

/** @throws CadreError `usage` for what does not go together, `invalid_arguments` for what is no name of a host */
export function dutiesOf(options: DutyOptions, queue: string | undefined): Duties {
  const { models: providers, rate: perSecond, agents } = options;
  const host = options.host === true ? hostname() : options.host;
  if (queue === undefined && (host !== undefined || providers !== undefined)) {
    throw usage('--host and --models belong to a worker with --queue.', 'cadre worker --queue NAME --host');
  }
  if (providers === undefined && (perSecond !== undefined || !agents)) {
    throw usage(
      '--rate and --no-agents belong to --models.',
      'cadre worker --queue NAME --models PROVIDER --rate 5',
    );
  }
  if (host !== undefined && !agents) {
    throw usage(
      '--host and --no-agents do not go together.',
      'Agents live on a host; leave one of them out.',
    );
  }
  if (host !== undefined && queue !== undefined) hostQueue(queue, host);
  return {
    ...(host === undefined ? {} : { host }),
    ...(providers === undefined
      ? {}
      : {
          models: { providers: [...new Set(providers)], ...(perSecond === undefined ? {} : { perSecond }) },
        }),
    agents,
  };
}

function usage(message: string, hint: string): CadreError {
  return new CadreError('usage', message, { hint });
}
