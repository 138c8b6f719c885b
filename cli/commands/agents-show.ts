import { CadreError } from '../../protocol/index.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { columns } from '../terminal-text.ts';
import { summaryOf } from './agents-list.ts';

/**
 * One role: what it may do, and what it is told.
 *
 * @throws CadreError `role_not_found` with the names of those that there are
 */
export default async function show(invocation: Invocation, [name]: [string]): Promise<ExitCode> {
  const { knownRoles } = await import('../../worker/roles.ts');
  const roles = knownRoles();
  const found = roles.find(({ role, aliases }) => role.name === name || aliases.includes(name));
  if (found === undefined) {
    const names = roles.flatMap(({ role, aliases }) => [role.name, ...aliases]).sort();
    throw new CadreError('role_not_found', `There is no role ${JSON.stringify(name)}.`, {
      hint: `There are: ${names.join(', ')}.`,
    });
  }
  const summary = summaryOf(found);
  const { body } = found.role;
  invocation.output.result({ ...summary, body }, () => {
    const rows = Object.entries(summary)
      .filter(([, value]) => !Array.isArray(value) || value.length > 0)
      .map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]);
    return [...columns(rows), '', body].join('\n');
  });
  return EXIT.done;
}
