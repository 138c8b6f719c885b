import { relative } from 'node:path';
import type { KnownRole } from '../../worker/roles.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { columns, oneLine } from '../terminal-text.ts';
import { rolesHere } from './known-roles.ts';

/** Roles, and where each comes from; what is wrong with a file is told beside them. */
export default async function list(invocation: Invocation): Promise<ExitCode> {
  const { roles, files } = await rolesHere(invocation);
  for (const file of files) if (!file.ok) invocation.output.warn(file.error.message);
  const agents = roles.map((known) => ({
    ...summaryOf(known),
    ...(known.dialect === undefined ? {} : { listed_in: known.dialect }),
  }));
  invocation.output.result({ agents }, () => {
    const rows = roles.map(({ role, origin, path, aliases, dialect, within }) => [
      [role.name, ...aliases].join(', '),
      origin === 'built-in'
        ? `built-in${dialect === undefined ? '' : ` (${dialect})`}`
        : shortPath(path, invocation),
      boundsOf(role.read_only === true, within?.name),
      oneLine(role.description, 100),
    ]);
    return columns([['ROLE', 'FROM', '', 'WHAT FOR'], ...rows]).join('\n');
  });
  return EXIT.done;
}

/** What holds a role whatever its tools are. */
function boundsOf(isReadOnly: boolean, within: string | undefined): string {
  const bounds = [isReadOnly ? ['read-only'] : [], within === undefined ? [] : [`within ${within}`]];
  return bounds.flat().join(', ');
}

/** As a person would write it here. */
function shortPath(path: string, { cwd, environment: { HOME: home } }: Invocation): string {
  if (path.startsWith(`${cwd}/`)) return relative(cwd, path);
  return home !== undefined && path.startsWith(`${home}/`) ? `~/${relative(home, path)}` : path;
}

/** A role without its text. */
export function summaryOf({ role, origin, path, aliases, within }: KnownRole) {
  const { body: _, ...about } = role;
  return { ...about, aliases, origin, path, ...(within === undefined ? {} : { within: within.name }) };
}
