import type { KnownRole } from '../../worker/roles.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { columns, oneLine } from '../terminal-text.ts';

/** Roles, and where each comes from. */
export default async function list(invocation: Invocation): Promise<ExitCode> {
  const { knownRoles } = await import('../../worker/roles.ts');
  const roles = knownRoles();
  invocation.output.result({ agents: roles.map(summaryOf) }, () => {
    const rows = roles.map(({ role, origin, aliases }) => [
      [role.name, ...aliases].join(', '),
      origin,
      role.read_only === true ? 'read-only' : '',
      oneLine(role.description, 100),
    ]);
    return columns([['ROLE', 'FROM', '', 'WHAT FOR'], ...rows]).join('\n');
  });
  return EXIT.done;
}

/** A role without its text. */
export function summaryOf({ role, origin, path, aliases }: KnownRole) {
  const { body: _, ...about } = role;
  return { ...about, aliases, origin, path };
}
