import { formatKey, type KeyPath, leaves, matches, removeAt, type Table, valueAt } from './key-path.ts';

/** What a stranger's repository may choose: it reaches, runs and reveals nothing. All else has to be known to tighten. */
const FREE = ['model', 'model_aliases', 'reasoning_effort', 'notifications', 'agents.profile'];

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
const BOUNDS = /^(agents\.(max_\w+|wait_\w+|tool_output_limit)|model_retry_ms|project_doc_max_bytes)$/;

export interface PersonalSettings {
  /** The values in force without the repository, defaults included. */
  values: Table;
  /** Whether the person set the key. */
  isSet(path: KeyPath): boolean;
}

/**
 * Takes out of a repository's own configuration whatever would loosen what is in force without it, be
 * it set by the person or a default. A cloned folder is a stranger's until the person trusts it.
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
  if (matches(path, FREE)) return false;
  const key = formatKey(path);
  const current = valueAt(person.values, path);
  const [, tighter] = Object.entries(TIGHTER).find(([pattern]) => matches(path, [pattern])) ?? [];
  if (tighter !== undefined) {
    return value !== current && !(tighter[String(current)] ?? []).includes(String(value));
  }
  if (BOUNDS.test(key)) return current !== undefined && Number(value) > Number(current);
  if (key === 'agents.allowed_models') {
    if (!Array.isArray(current)) return false;
    return !Array.isArray(value) || value.some((model) => !current.includes(model));
  }
  // Each comes with limits of its own, which may be wider than those of the one that the person chose.
  return key !== 'agents.dialect' || (person.isSet(path) && value !== current);
}
