import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PLACEHOLDER_TIME } from '../../protocol/placeholders.ts';
import { formatKey, type KeyPath, leaves, matches, removeAt, type Table, valueAt } from './key-path.ts';

/** The root of the repository that a folder is in; undefined outside of any. */
export function repositoryRoot(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    const git = statSync(join(at, '.git'), { throwIfNoEntry: false });
    if (git !== undefined && git.mtimeMs !== PLACEHOLDER_TIME) return at;
    if (dirname(at) === at) return undefined;
  }
}

/** What a repository may not say at all: it would reach a stranger, or run or reveal something. */
const NEVER = [
  'model_provider',
  'model_providers',
  'mcp_servers',
  'shell_environment',
  'temporal',
  'encryption',
  'rollouts',
  'memory',
  'profile',
  'sandbox.writable_roots',
];

/** From the value in force without the repository to those that surely allow less. `*` stands for any one name. */
const TIGHTER: Record<string, Record<string, readonly string[]>> = {
  sandbox_mode: {
    'danger-full-access': ['workspace-write', 'read-only'],
    'workspace-write': ['read-only'],
    'read-only': [],
  },
  'sandbox.network': { true: ['false'], false: [] },
  approval_policy: { 'on-request': ['untrusted', 'never'], untrusted: [], never: [] },
  'agents.count': { running: ['open'] },
  'agents.when_full': { queue: ['error'] },
  'agents.wake_parent': { true: ['false'] },
  'agents.plan_first': { false: ['true'] },
  'agents.interrupt_descendants': { false: ['true'] },
  'tools.*': { true: ['false'] },
};

/** Numbers that allow the more the higher they are; where none is in force, any is a bound. */
const BOUNDS = /^(agents\.(max_\w+|wait_\w+|tool_output_limit)|model_retry_ms)$/;

export interface PersonalSettings {
  /** The values in force without the repository, defaults included. */
  values: Table;
  /** Whether the person set the key. */
  isSet(path: KeyPath): boolean;
}

/**
 * Takes out of a repository's own configuration whatever would loosen what is in force without it, be
 * it set by the person or a default. A cloned folder is a stranger's until its owner trusts it.
 *
 * @returns the dotted keys that were taken out
 */
export function withholdLoosening(repository: Table, person: PersonalSettings): string[] {
  const ignored = leaves(repository)
    .filter(([path, value]) => path[0] !== 'profiles' && loosens(path, value, person))
    .map(([path]) => path);
  for (const path of ignored) removeAt(repository, path);
  return ignored.map(formatKey);
}

function loosens(path: KeyPath, value: unknown, person: PersonalSettings): boolean {
  if (matches(path, NEVER)) return true;
  const key = formatKey(path);
  const current = valueAt(person.values, path);
  const [, tighter] = Object.entries(TIGHTER).find(([pattern]) => matches(path, [pattern])) ?? [];
  if (tighter !== undefined) {
    return value !== current && !(tighter[String(current)] ?? []).includes(String(value));
  }
  if (BOUNDS.test(key)) return current !== undefined && Number(value) > Number(current);
  if (key === 'agents.allowed_models' && Array.isArray(current)) {
    return !Array.isArray(value) || value.some((model) => !current.includes(model));
  }
  // Each comes with limits of its own, which may be wider than those of the one that the person chose.
  return key === 'agents.dialect' && person.isSet(path) && value !== current;
}
