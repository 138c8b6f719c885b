import { counted, DIALECT_TOOLS, OF_COMMAND, OF_URL } from '../../protocol/index.ts';
import { formatKey } from './key-path.ts';
import type { Origin } from './layer.ts';
import type { ConfigProblem } from './problems.ts';
import type { Config } from './schema.ts';

type OriginOf = (key: string) => Origin;

/** Settings that are fine each by itself and cannot hold together. */
export interface Conflict extends ConfigProblem {
  /** Those that take part in it. */
  keys: string[];
}

/**
 * What contradicts itself in the settings that are in force. Upper bounds never do (`max_tokens` and
 * `max_child_tokens`, `max_agents` and `max_threads`): the tighter one holds.
 */
export function conflictsIn(config: Config, originOf: OriginOf): Conflict[] {
  return [
    ...waitConflicts(config, originOf),
    ...threadConflicts(config, originOf),
    ...providerConflicts(config, originOf),
    ...serverConflicts(config, originOf),
  ];
}

/** The usual time of a wait that nobody has set follows the bounds that somebody has. */
export function usualWait(config: Config, originOf: OriginOf): { value: number; origin: Origin } | undefined {
  const { wait_min_ms: least, wait_default_ms: usual, wait_max_ms: most } = config.agents;
  if (isSet(originOf('agents.wait_default_ms')) || (usual >= least && usual <= most)) return undefined;
  const bound = usual > most ? 'wait_max_ms' : 'wait_min_ms';
  return {
    value: usual > most ? most : least,
    origin: { layer: 'built-in', where: `follows agents.${bound}` },
  };
}

function waitConflicts({ agents }: Config, originOf: OriginOf): Conflict[] {
  const pairs = [
    ['wait_min_ms', 'wait_max_ms'],
    ['wait_min_ms', 'wait_default_ms'],
    ['wait_default_ms', 'wait_max_ms'],
  ] as const;
  return pairs
    .filter(([low, high]) => agents[low] > agents[high])
    .map(([low, high]) => {
      const [lower, higher] = [`agents.${low}`, `agents.${high}`];
      // What a person has set is what there is to mend.
      const named = isSet(originOf(lower)) ? lower : higher;
      const other = named === lower ? higher : lower;
      const [value, bound] = named === lower ? [agents[low], agents[high]] : [agents[high], agents[low]];
      const how = named === lower ? 'above' : 'below';
      return conflict(
        originOf,
        [named, other],
        `${value} is ${how} ${other}, which is ${bound} (${originOf(other).where}): change one of them`,
      );
    });
}

function threadConflicts({ agents }: Config, originOf: OriginOf): Conflict[] {
  const { threadsMax: most } = DIALECT_TOOLS[agents.dialect];
  if (most === undefined || agents.max_threads <= most) return [];
  const limit = `with agents.dialect = "${agents.dialect}" (${originOf('agents.dialect').where})`;
  return [
    conflict(
      originOf,
      ['agents.max_threads', 'agents.dialect'],
      `${agents.max_threads} is too many ${limit}: ${counted(most, 'agent')} at most`,
    ),
  ];
}

/** A script has no address and needs no key: whoever sets both means one of them. */
function providerConflicts({ model_providers: providers }: Config, originOf: OriginOf): Conflict[] {
  return Object.entries(providers).flatMap(([name, settings]) => {
    if (settings.script === undefined) return [];
    const keyOf = (setting: string): string => formatKey(['model_providers', name, setting]);
    return (['base_url', 'env_key', 'wire_api'] as const)
      .filter((other) => settings[other] !== undefined)
      .map(keyOf)
      .filter((other) => originOf(other).layer !== 'environment')
      .map((other) =>
        conflict(
          originOf,
          [keyOf('script'), other],
          `a script plays the model, so ${other} (${originOf(other).where}) has no use: leave one of them out`,
        ),
      );
  });
}

function serverConflicts({ mcp_servers: servers }: Config, originOf: OriginOf): Conflict[] {
  return Object.entries(servers).flatMap(([name, server]) => {
    const keyOf = (setting: string): string => formatKey(['mcp_servers', name, setting]);
    // Of a table a person has set what is in it.
    const placeOf = (setting: keyof typeof server): string => {
      const value = server[setting];
      const [inner] = typeof value === 'object' && !Array.isArray(value) ? Object.keys(value) : [];
      return inner === undefined ? keyOf(setting) : formatKey(['mcp_servers', name, setting, inner]);
    };
    if ((server.command === undefined) === (server.url === undefined)) {
      const message = `${formatKey(['mcp_servers', name])} needs either command or url`;
      const set = Object.keys(server) as (keyof typeof server)[];
      const places = (['command', 'url', ...set] as const).map((setting) => originOf(placeOf(setting)).where);
      const where = places.find((place) => place !== 'default') ?? 'mcp_servers';
      return [{ keys: ['command', 'url'].map(keyOf), where, message }];
    }
    const [way, foreign] =
      server.url === undefined ? (['command', OF_URL] as const) : (['url', OF_COMMAND] as const);
    return foreign
      .filter((setting) => server[setting] !== undefined)
      .map((setting) =>
        conflict(
          originOf,
          [placeOf(setting), keyOf(way)],
          `it has no use beside ${keyOf(way)}: leave one of them out`,
        ),
      );
  });
}

/** @param keys what is to be mended first, then the others */
function conflict(originOf: OriginOf, keys: [string, ...string[]], reason: string): Conflict {
  const [key] = keys;
  const { where } = originOf(key);
  return { keys, where, message: where.endsWith(` ${key}`) ? reason : `${key}: ${reason}` };
}

function isSet({ layer }: Origin): boolean {
  return layer !== 'default' && layer !== 'built-in';
}
