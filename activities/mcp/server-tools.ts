import { type McpServerSettings, matchesGlob } from '../../protocol/index.ts';
import type { ToolList } from './connection.ts';
import { offeredNames } from './tool-names.ts';
import { type FittedSchema, fittedSchema } from './tool-schema.ts';

/** A tool of a server that agents may be offered. */
export interface ServerTool extends FittedSchema {
  /** As the server calls it. */
  own: string;
  /** As models call it. */
  name: string;
  description: string;
}

const MOST_DESCRIPTION = 8_000;
const NAMED = 5;

/**
 * Of the tools that a server lists those that may be offered.
 *
 * @returns `leftOut`: which are not although the settings allow them, and why
 */
export function serverTools(
  server: string,
  { tools_allow: allow, tools_deny: deny = [] }: McpServerSettings,
  { tools: listed, unreadable, isCut }: ToolList,
): { tools: ServerTool[]; leftOut: string | undefined } {
  const isMeant = (name: string, globs: readonly string[]) => globs.some((glob) => matchesGlob(name, glob));
  const wanted = listed.filter(
    ({ name }) => (allow === undefined || isMeant(name, allow)) && !isMeant(name, deny),
  );
  const names = offeredNames(
    server,
    wanted.map(({ name }) => name),
  );
  const wrong: string[] = unreadable === 0 ? [] : [`${unreadable} that have no name`];
  const tools = wanted.flatMap(({ name: own, description = '', inputSchema }) => {
    try {
      const about = description.slice(0, MOST_DESCRIPTION).replaceAll('\0', '');
      return [{ own, name: names.get(own) ?? own, description: about, ...fittedSchema(inputSchema) }];
    } catch (error) {
      const reason = (error as Error).message;
      wrong.push(`${JSON.stringify(own.slice(0, 80))} (the schema of its arguments: ${reason})`);
      return [];
    }
  });
  const more = wrong.length > NAMED ? `, and ${wrong.length - NAMED} more` : '';
  const said = [
    ...(wrong.length === 0 ? [] : [`tools left out: ${wrong.slice(0, NAMED).join(', ')}${more}`]),
    ...(isCut
      ? [`it lists more tools than are read: all after the first ${listed.length + unreadable} are left out`]
      : []),
  ];
  return { tools, leftOut: said.length === 0 ? undefined : said.join('; ') };
}
