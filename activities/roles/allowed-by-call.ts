import { CadreError } from '../../protocol/index.ts';
import { CUSTOM_ROLE } from './builtin-roles.ts';
import type { KnownRole } from './role-catalog.ts';
import { allowedTools, isOfCadre } from './tool-names.ts';

export interface AllowedByCall {
  /** Under the names that they have here. */
  names: string[];
  /** What the call has named in vain. */
  notices: string[];
}

/**
 * The tools that a call leaves to the agent that it starts; undefined where it says nothing.
 *
 * @param own the names of the tools that the workers have beside those of Cadre
 * @throws CadreError `invalid_arguments` for a list that is empty or names no tool that there is, and for none where the
 *   role consists of it
 */
export function allowedByCall(
  { role, origin }: KnownRole,
  allowed: readonly string[] | undefined,
  own: ReadonlySet<string> = new Set(),
): AllowedByCall | undefined {
  if (allowed === undefined && (role.name !== CUSTOM_ROLE || origin !== 'built-in')) return undefined;
  const names = (allowed ?? []).map((name) => name.trim()).filter((name) => name !== '');
  if (names.length > 0) return those(names, own);
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

function those(given: readonly string[], own: ReadonlySet<string>): AllowedByCall {
  const mapped = given.map((name) => ({ name, tools: allowedTools([name]) }));
  const inVain = mapped.filter(({ tools }) => !tools.names.some((tool) => mayBeThere(tool, own)));
  const unknown = inVain.map(({ name }) => JSON.stringify(name.slice(0, 80))).join(', ');
  if (inVain.length === mapped.length) {
    throw new CadreError('invalid_arguments', `allowed_tools names no tool that there is: ${unknown}.`, {
      hint: 'Name tools that you have yourself: an agent gets no others.',
    });
  }
  return {
    names: [...new Set(mapped.flatMap(({ tools }) => tools.names))],
    notices: inVain.length === 0 ? [] : [`allowed_tools names what is no tool here: ${unknown}`],
  };
}

/** Which tools a server has, and what a glob stands for, is found out when they are offered. */
function mayBeThere(tool: string, own: ReadonlySet<string>): boolean {
  return own.has(tool) || isOfCadre(tool) || /^mcp__|[*?]/.test(tool);
}
