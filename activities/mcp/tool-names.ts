import { createHash } from 'node:crypto';

/** What providers take as the name of a tool. */
const MOST = 64;
const HASH = 8;
const PREFIX = 'mcp__';

/**
 * The names under which the tools of a server are offered: `mcp__SERVER__TOOL`. What providers do not take is replaced;
 * one that is cut for its length, or would be another's by that, ends in a digest of its own name, so that it is the same
 * whatever else is listed.
 */
export function offeredNames(server: string, tools: readonly string[]): Map<string, string> {
  const plain = tools.map(
    (tool) => [tool, `${PREFIX}${server}__${tool.replace(/[^A-Za-z0-9_-]/g, '_')}`] as const,
  );
  const count = new Map<string, number>();
  for (const [, name] of plain) count.set(name, (count.get(name) ?? 0) + 1);
  return new Map(
    plain.map(([tool, name]) => {
      const isItsOwn = name === `${PREFIX}${server}__${tool}`;
      const isTaken = (count.get(name) ?? 0) > 1 && !isItsOwn;
      return [tool, name.length > MOST || isTaken ? marked(name, tool) : name];
    }),
  );
}

/** The server that a tool belongs to; undefined for what is no tool of a server. */
export function serverOf(name: string): string | undefined {
  return /^mcp__((?:(?!__).)+)__./s.exec(name)?.[1];
}

function marked(name: string, tool: string): string {
  const digest = createHash('sha256').update(tool).digest('hex').slice(0, HASH);
  return `${name.slice(0, MOST - HASH - 1)}_${digest}`;
}
