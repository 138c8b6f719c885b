import { z } from 'zod';
import { CadreError, type CoreActivities, DIALECT_TOOLS } from '../../protocol/index.ts';
import { builtinTools } from './builtin-tools.ts';
import type { Tool } from './define-tool.ts';

/** What providers take as the name of a tool. */
const NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** Activities that are no tools: one of the same name would take its place. */
const ACTIVITIES: Readonly<Record<keyof CoreActivities, true>> = {
  model: true,
  resolve_role: true,
  terminate_agents: true,
  plan_call: true,
  read_snapshot: true,
  read_items: true,
  find_closed_agent: true,
  find_ended: true,
  store_outputs: true,
  archive_agent: true,
  write_rollout: true,
  end_commands: true,
};
const OPERATIONS = new Set(
  Object.values(DIALECT_TOOLS).flatMap(({ operations }) => operations.map(({ name }) => name)),
);
const BUILTIN_ALIASES = new Map(
  builtinTools.flatMap(({ name, aliases = [] }) => aliases.map((alias) => [alias, name])),
);

/**
 * Takes what is said to be a team's tools, before any agent is offered them.
 *
 * @throws CadreError `config_invalid` that says of each that cannot be used why not
 */
export function checkTools(values: readonly unknown[]): Tool[] {
  const seen = new Map<string, string>();
  const problems = values.flatMap((value, index) => {
    const label = labelOf(value, index);
    return problemsOf(value, label, seen).map((problem) => `${label}: ${problem}`);
  });
  if (problems.length === 0) return values as Tool[];
  throw new CadreError('config_invalid', `These tools cannot be used: ${problems.join('; ')}.`, {
    hint: 'Tools are what defineTool of cadre/tools returns; docs/own-tools.md says what each part has to be.',
  });
}

/** The names of Cadre's own tools that others take the place of. */
export function replacedBy(tools: readonly Tool[]): string[] {
  return builtinTools.map(({ name }) => name).filter((name) => tools.some((tool) => tool.name === name));
}

function labelOf(value: unknown, index: number): string {
  const name = (value as { name?: unknown } | null | undefined)?.name;
  return typeof name === 'string' && name !== '' ? `"${name}"` : `number ${index + 1}`;
}

function problemsOf(value: unknown, label: string, seen: Map<string, string>): string[] {
  if (typeof value !== 'object' || value === null) return [`it is no tool (${typeof value})`];
  const tool = value as Partial<Tool>;
  if (typeof tool.commandSession !== 'function') return ['it did not go through defineTool'];
  const { aliases = [], ifLost } = tool as { aliases?: unknown; ifLost?: unknown };
  const names = [tool.name, ...(Array.isArray(aliases) ? aliases : [])];
  return [
    ...(Array.isArray(aliases) ? [] : ['aliases has to be a list of names']),
    ...(ifLost === undefined || typeof ifLost === 'string' ? [] : ['ifLost has to be a text']),
    ...(typeof tool.timeoutMs === 'function'
      ? []
      : ['timeoutMs has to be a function that gives milliseconds, such as () => 10_000']),
    ...(typeof tool.summary === 'function' ? [] : ['summary has to be a function that gives a text']),
    ...names.flatMap((name) => problemsOfName(name, name !== tool.name, seen, label)),
    ...(typeof tool.description === 'string' && tool.description.trim() !== ''
      ? []
      : ['it needs a description, which is what the model goes by']),
    ...(tool.effects === 'none' || tool.effects === 'some'
      ? []
      : ['effects has to be "none" (it only reads, and may run twice) or "some"']),
    ...(typeof tool.run === 'function' ? [] : ['run has to be a function']),
    ...problemsOfParameters(tool.parameters),
  ];
}

function problemsOfName(name: unknown, isAlias: boolean, seen: Map<string, string>, label: string): string[] {
  if (typeof name !== 'string' || !NAME.test(name))
    return [`its name ${JSON.stringify(name)} has to be letters, digits, _ and -, at most 64`];
  const other = seen.get(name);
  seen.set(name, label);
  if (other !== undefined) return [`there are two of the name ${name}`];
  if (name === 'web_search')
    return ['web_search is the own search of providers (tools.web_search): choose another name'];
  if (name in ACTIVITIES || OPERATIONS.has(name) || name.startsWith('mcp__'))
    return [`the name ${name} is taken by Cadre itself`];
  const original = BUILTIN_ALIASES.get(name);
  if (original !== undefined) return [`${name} is another name of Cadre's tool ${original}`];
  if (isAlias && builtinTools.some((tool) => tool.name === name))
    return [`its other name ${name} is that of a tool of Cadre`];
  return [];
}

function problemsOfParameters(parameters: unknown): string[] {
  if (typeof parameters !== 'object' || parameters === null || !('_zod' in parameters))
    return ['parameters has to be a schema of zod 4, such as z.strictObject({})'];
  try {
    const { type } = z.toJSONSchema(parameters as z.ZodType, { io: 'input' });
    return type === 'object'
      ? []
      : [`parameters has to be an object, and is ${type ?? 'a choice'}: models give arguments by name`];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [`parameters cannot be told to a model as JSON schema: ${reason}`];
  }
}
