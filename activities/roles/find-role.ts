import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CadreError } from '../../protocol/index.ts';
import { parseRole } from './parse-role.ts';
import type { Role } from './role.ts';

/** Beside the sources, and in dist/ beside what was built from them. */
const BUILTIN_FOLDER = fileURLToPath(new URL('../../roles/', import.meta.url));
/** Other names under which roles are asked for. */
const ALIASES: Readonly<Record<string, string>> = { search: 'explorer' };
export const DEFAULT_ROLE = 'default';

let builtin: ReadonlyMap<string, Role> | undefined;

/** The roles that come with Cadre, by name. */
export function builtinRoles(): ReadonlyMap<string, Role> {
  builtin ??= new Map(
    readdirSync(BUILTIN_FOLDER)
      .filter((file) => file.endsWith('.md'))
      .sort()
      .map((file) => {
        const name = file.slice(0, -'.md'.length);
        const path = join(BUILTIN_FOLDER, file);
        return [name, parseRole(name, readFileSync(path, 'utf8'), path).role];
      }),
  );
  return builtin;
}

/** The role of that name or alias; undefined when there is none. */
export function findRole(name: string): Role | undefined {
  const roles = builtinRoles();
  return roles.get(name) ?? roles.get(Object.hasOwn(ALIASES, name) ? (ALIASES[name] as string) : name);
}

/**
 * The role of that name or alias.
 *
 * @throws CadreError `unknown_role` with the names that are accepted
 */
export function roleNamed(name: string): Role {
  const role = findRole(name);
  if (role !== undefined) return role;
  throw new CadreError('unknown_role', `There is no role ${JSON.stringify(name.slice(0, 100))}.`, {
    hint: `Accepted: ${roleNames().join(', ')}.`,
  });
}

/** Every name that is accepted for a role. */
export function roleNames(): string[] {
  return [...builtinRoles().keys(), ...Object.keys(ALIASES)].sort();
}
