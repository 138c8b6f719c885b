import { CadreError } from '../../protocol/index.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { columns } from '../terminal-text.ts';
import { summaryOf } from './agents-list.ts';
import { rolesHere } from './known-roles.ts';

/**
 * One role: what it may do, and what it is told.
 *
 * @throws CadreError `role_not_found` with the names of those that there are
 */
export default async function show(invocation: Invocation, [name]: [string]): Promise<ExitCode> {
  const { roles, files, named } = await rolesHere(invocation);
  const found = findNamed(name, named, () =>
    roles.flatMap(({ role, aliases }) => [role.name, ...aliases]).sort(),
  );
  const summary = summaryOf(found);
  const { body } = found.role;
  const file = files.find(({ path }) => path === found.path);
  const warnings = file?.ok ? file.warnings : [];
  invocation.output.result({ ...summary, warnings, body }, () => {
    const rows = Object.entries(summary)
      .filter(([key]) => key !== 'aliases' || found.aliases.length > 0)
      .map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]);
    return [...columns(rows), ...warnings.map((warning) => `notice  ${warning}`), '', body].join('\n');
  });
  return EXIT.done;
}

function findNamed<T>(name: string, named: (name: string) => T, names: () => string[]): T {
  try {
    return named(name);
  } catch (error) {
    if (!(error instanceof CadreError) || error.code !== 'unknown_role') throw error;
    throw new CadreError('role_not_found', error.message, {
      hint: `There are: ${[...new Set(names())].join(', ')}.`,
    });
  }
}
