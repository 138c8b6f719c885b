import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { formatKey, type KeyPath, leaves, matches, removeAt, type Table, valueAt } from './key-path.ts';

/** The root of the repository that a folder is in; undefined outside of any. */
export function repositoryRoot(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return at;
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
  'memory',
  'profile',
];

/** From the person's value to one that surely allows less. */
const TIGHTER: Record<string, Record<string, readonly string[]>> = {
  sandbox_mode: {
    'danger-full-access': ['workspace-write', 'read-only'],
    'workspace-write': ['read-only'],
    'read-only': [],
  },
  approval_policy: { 'on-request': ['untrusted', 'never'], untrusted: [], never: [] },
};

export interface PersonalSettings {
  /** The values in force without the repository, defaults included. */
  values: Table;
  /** Whether the person set the key; a default is nobody's wish. */
  isSet(path: KeyPath): boolean;
}

/**
 * Takes out of a repository's own configuration whatever would loosen what the person has set.
 * A cloned folder is a stranger's until its owner trusts it.
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
  const current = valueAt(person.values, path);
  const tighter = TIGHTER[formatKey(path)];
  if (tighter !== undefined) {
    return value !== current && !(tighter[String(current)] ?? []).includes(String(value));
  }
  if (!person.isSet(path)) return false;
  if (path[0] === 'tools') return current === false && value !== false;
  if (path[0] !== 'agents') return false;
  if (path[1]?.startsWith('max_')) return Number(value) > Number(current);
  if (path[1] === 'allowed_models' && Array.isArray(current)) {
    return !Array.isArray(value) || value.some((model) => !current.includes(model));
  }
  return false;
}
