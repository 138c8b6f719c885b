import type { Role } from '../roles/role.ts';
import { isAllowed } from './tool-policy.ts';

/** Null: whatever its parent has. Both lists bound the tools; one of them alone would say that more is allowed than is. */
export function allowedTools({ tools, allow_list: list }: Role): string[] | null {
  if (tools === undefined || list === undefined) return tools ?? list ?? null;
  const within = (names: string[], other: string[]) =>
    names.filter((name) => isAllowed(name, { allow: [other], deny: [] }));
  return [...new Set([...within(tools, list), ...within(list, tools)])];
}
