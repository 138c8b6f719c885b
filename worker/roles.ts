import { fileURLToPath } from 'node:url';
import { builtinRoles, findRole, roleNames } from '../activities/roles/find-role.ts';
import type { Role } from '../activities/roles/role.ts';

export { parseRole } from '../activities/roles/parse-role.ts';

/** A role, and where it comes from. */
export interface KnownRole {
  role: Role;
  origin: 'built-in';
  path: string;
  /** Other names under which it is asked for. */
  aliases: string[];
}

/** Every role that agents may have. */
export function knownRoles(): KnownRole[] {
  const names = roleNames();
  return [...builtinRoles().values()].map((role) => ({
    role,
    origin: 'built-in',
    path: fileURLToPath(new URL(`../roles/${role.name}.md`, import.meta.url)),
    aliases: names.filter((name) => name !== role.name && findRole(name) === role),
  }));
}
