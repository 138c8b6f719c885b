import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Dialect } from '../../protocol/index.ts';
import { parseRole } from './parse-role.ts';
import type { Role } from './role.ts';

/** Beside the sources, and in dist/ beside what was built from them. */
const BUILTIN_FOLDER = fileURLToPath(new URL('../../roles/', import.meta.url));
export const DEFAULT_ROLE = 'default';
/** The role that has exactly the tools that the call names. */
export const CUSTOM_ROLE = 'custom';

/** Roles that belong to one dialect, with their other names. Case does not matter. */
const SESSIONS_ROLES: Readonly<Record<string, readonly string[]>> = {
  general: ['worker', 'default', 'general-purpose'],
  explore: ['explorer', 'exploration'],
  plan: ['planning', 'awaiter'],
  review: ['reviewer', 'code-review'],
  implementer: ['implement', 'implementation', 'builder'],
  verifier: ['verify', 'verification', 'validator', 'tester'],
  [CUSTOM_ROLE]: [],
};
const OTHER_ROLES: Readonly<Record<string, readonly string[]>> = {
  default: [],
  orchestrator: [],
  worker: [],
  explorer: ['search'],
};

let builtin: ReadonlyMap<string, Role> | undefined;

/** The roles that come with Cadre, by name. */
export function builtinRoles(): ReadonlyMap<string, Role> {
  builtin ??= new Map(
    readdirSync(BUILTIN_FOLDER)
      .filter((file) => file.endsWith('.md'))
      .sort()
      .map((file) => {
        const name = file.slice(0, -'.md'.length);
        const path = builtinPath(name);
        return [name, parseRole(name, readFileSync(path, 'utf8'), path).role];
      }),
  );
  return builtin;
}

export function builtinPath(name: string): string {
  return join(BUILTIN_FOLDER, `${name}.md`);
}

/** The built-in roles that a dialect lists. Those of the other one are there, too, for who asks for them by name. */
export function isListedIn(dialect: Dialect, name: string): boolean {
  return !Object.hasOwn(dialect === 'sessions' ? OTHER_ROLES : SESSIONS_ROLES, name);
}

/** Other names of a built-in role, in this dialect. */
export function aliasesOf(dialect: Dialect, name: string): readonly string[] {
  const table = dialect === 'sessions' ? SESSIONS_ROLES : OTHER_ROLES;
  return Object.hasOwn(table, name) ? (table[name] as readonly string[]) : [];
}

/** The built-in role of that name or alias; the dialect's own goes first. */
export function findBuiltin(name: string, dialect: Dialect): Role | undefined {
  const roles = [...builtinRoles().values()];
  const own = roles.filter((role) => isListedIn(dialect, role.name));
  const wanted = name.toLowerCase();
  const other: Dialect = dialect === 'sessions' ? 'collab' : 'sessions';
  return (
    own.find((role) => role.name.toLowerCase() === wanted) ??
    own.find((role) => aliasesOf(dialect, role.name).includes(wanted)) ??
    roles.find((role) => role.name.toLowerCase() === wanted) ??
    roles.find((role) => aliasesOf(other, role.name).includes(wanted))
  );
}
