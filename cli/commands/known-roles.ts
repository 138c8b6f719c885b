import type { Dialect } from '../../protocol/index.ts';
import { cadreHome } from '../../server/home.ts';
import type { KnownRole, RoleFile } from '../../worker/roles.ts';
import { isTrusted } from '../../worker/trust.ts';
import type { Invocation } from '../invocation.ts';

export interface ListedRole extends KnownRole {
  /** A built-in role that agents of one dialect only are told of. */
  dialect?: Dialect;
}

export interface RolesHere {
  roles: ListedRole[];
  /** All files that were found, the nearest first, the broken ones included. */
  files: readonly RoleFile[];
  /** Whether the person trusts the project. */
  trusted: boolean;
  /** @throws CadreError `unknown_role`, and `config_invalid` where the file is broken */
  named(name: string): KnownRole;
}

/** The roles that an agent has which works in this folder. */
export async function rolesHere({ cwd, environment }: Invocation): Promise<RolesHere> {
  const { readRoleCatalog } = await import('../../worker/roles.ts');
  const trusted = isTrusted(cadreHome(environment), cwd);
  const places = { folder: cwd, home: environment.HOME, trusted };
  const usual = await readRoleCatalog({ ...places, dialect: 'collab' });
  const sessions = await readRoleCatalog({ ...places, dialect: 'sessions' });
  const known = usual.all();
  const names = new Set(known.map(({ role }) => role.name));
  const more = sessions.all().filter(({ role }) => !names.has(role.name));
  return {
    roles: [...known, ...more.map((role) => ({ ...role, dialect: 'sessions' as const }))],
    files: usual.files,
    trusted,
    named: (name) => usual.named(name),
  };
}
