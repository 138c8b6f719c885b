import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import type { McpServerSettings, McpServers } from '../../protocol/mcp-servers.ts';
import { fillableFolders, isWithin, outsidePath, realPath, withoutFillableCode } from '../../worker/trust.ts';
import type { Environment } from './environment.ts';
import { type KeyPath, leaves, setAt, type Table, valueAt } from './key-path.ts';
import type { Config } from './schema.ts';

export interface SessionPlace {
  /** The working directory of the session; for a queue that of its worker. */
  cwd: string;
  home: string;
  /** Where programs are looked up. */
  searchPath: string | undefined;
  /** What servers get beside it. */
  variables: Environment;
  /** Where its commands may write besides. */
  writableRoots: readonly string[];
}

/** That of a session in a folder, with the settings that hold there. */
export function sessionPlace(cwd: string, variables: Environment, { sandbox }: Config): SessionPlace {
  const { HOME: home, PATH: searchPath } = variables;
  return { cwd, home: home || homedir(), searchPath, variables, writableRoots: sandbox.writable_roots };
}

/**
 * Servers of a command as a session in that place has them: `cwd` is below its folder where it is relative, and programs
 * and libraries are not looked up where the repository, or an agent that works in it, could have put one.
 */
export function serversIn(place: SessionPlace, servers: McpServers): McpServers {
  const env = environmentIn(place);
  const settled = (server: McpServerSettings): McpServerSettings => ({
    ...server,
    ...(server.cwd === undefined ? {} : { cwd: expanded(server.cwd, place.cwd, place.home) }),
    ...(Object.keys(env).length === 0 ? {} : { env: { ...env, ...server.env } }),
  });
  return Object.fromEntries(
    Object.entries(servers).map(([name, server]) => [
      name,
      server.command === undefined ? server : settled(server),
    ]),
  );
}

/** What servers get otherwise than they would elsewhere; empty, where nothing is left of a variable. */
function environmentIn(place: SessionPlace): Record<string, string> {
  const fillable = fillableAround(place);
  const PATH = outsidePath(place.searchPath, fillable);
  const given = Object.entries(place.variables).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const elsewhere = withoutFillableCode(Object.fromEntries(given), []);
  const here = withoutFillableCode(elsewhere, fillable);
  const other = Object.keys(elsewhere).filter((name) => name !== 'PATH' && here[name] !== elsewhere[name]);
  return {
    ...(PATH === outsidePath(place.searchPath, []) ? {} : { PATH }),
    ...Object.fromEntries(other.map((name) => [name, here[name] ?? ''])),
  };
}

/**
 * A working directory that is the person's home, or lies around it, holds their own programs. Servers run in the home
 * anyway and obey what lies there; commands outside the sandbox have no such exception.
 */
function fillableAround({ cwd, home, writableRoots }: SessionPlace): string[] {
  if (!isWithin(real(home), real(cwd))) return fillableFolders(cwd, writableRoots);
  return writableRoots.flatMap((root) => fillableFolders(root));
}

function real(folder: string): string {
  return realPath(folder) ?? resolve(folder);
}

/** Servers that a trusted repository defines run in it, from its root on. */
export function runInRepository(values: Table, root: string, home: string): void {
  for (const [path, value] of leaves(values)) {
    const [table, , key] = path[0] === 'profiles' ? path.slice(2) : path;
    if (table !== 'mcp_servers') continue;
    const cwd: KeyPath = [...path.slice(0, -1), 'cwd'];
    if (key === 'command' && valueAt(values, cwd) === undefined) setAt(values, cwd, root);
    if (key === 'cwd' && typeof value === 'string' && value !== '') {
      setAt(values, cwd, expanded(value, root, home));
    }
  }
}

function expanded(path: string, folder: string, home: string): string {
  const whole = path.startsWith('~/') ? join(home, path.slice(2)) : path;
  return isAbsolute(whole) ? whole : resolve(folder, whole);
}
