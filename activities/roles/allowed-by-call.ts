import { CadreError } from '../../protocol/index.ts';
import { CUSTOM_ROLE } from './builtin-roles.ts';
import type { KnownRole } from './role-catalog.ts';
import { allowedTools } from './tool-names.ts';

/**
 * The tools that a call leaves to the agent that it starts, under the names that they have here; undefined where it says nothing.
 *
 * @throws CadreError `invalid_arguments` for a list that is empty, and for none where the role consists of it
 */
export function allowedByCall(
  { role, origin }: KnownRole,
  allowed: readonly string[] | undefined,
): string[] | undefined {
  if (allowed === undefined && (role.name !== CUSTOM_ROLE || origin !== 'built-in')) return undefined;
  const names = (allowed ?? []).map((name) => name.trim()).filter((name) => name !== '');
  if (names.length > 0) return allowedTools(names).names;
  if (role.name === CUSTOM_ROLE) {
    throw new CadreError(
      'invalid_arguments',
      `The role ${role.name} has the tools of allowed_tools, which names none.`,
      {
        hint: 'Name at least one tool in allowed_tools, or take another role.',
      },
    );
  }
  throw new CadreError('invalid_arguments', 'allowed_tools names no tool.', {
    hint: `Name at least one, or leave it out: the agent has the tools of the role ${role.name} then.`,
  });
}
