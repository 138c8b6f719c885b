import type { CommonOptions } from './invocation.ts';

/** The common options that a worker started on behalf of a command needs, too. */
export function workerOptionsOf({ config = [], profile, address, namespace }: CommonOptions): string[] {
  const option = (name: string, value: string | undefined): string[] =>
    value === undefined ? [] : [name, value];
  return [
    ...config.flatMap((override) => ['-c', override]),
    ...option('--profile', profile),
    ...option('--address', address),
    ...option('--namespace', namespace),
  ];
}
