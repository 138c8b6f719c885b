import { Liquid } from 'liquidjs';
import { Printed, textOf } from './template-text.ts';

/** Liquid filters whose result depends on the clock or on chance; a script has to say the same each time. */
const UNSTEADY = [
  'date',
  'date_to_xmlschema',
  'date_to_rfc822',
  'date_to_string',
  'date_to_long_string',
  'sample',
];

const MEMORY_LIMIT = 50_000_000;

const engine = new Liquid({
  strictVariables: true,
  strictFilters: true,
  lenientIf: true,
  ownPropertyOnly: true,
  /** A template that is one value and nothing else yields that value: a list stays a list. */
  keepOutputType: true,
  outputEscape: printed,
  /** No files: includes find nothing. */
  templates: {},
  memoryLimit: MEMORY_LIMIT,
  cache: 500,
});

for (const name of UNSTEADY) {
  engine.registerFilter(name, () => {
    throw new Error(`the filter ${name} is not available in scripts`);
  });
}
engine.registerFilter('trim', (value: unknown) => textOf(value).trim());
engine.registerFilter('lines', (value: unknown) => lines(value).length);
engine.registerFilter('first_line', (value: unknown) => lines(value)[0] ?? '');
engine.registerFilter('last_line', (value: unknown) => lines(value).at(-1) ?? '');
engine.registerFilter('head', (value: unknown, count: unknown = 10) =>
  lines(value).slice(0, Number(count)).join('\n'),
);
engine.registerFilter('body', body);
engine.registerFilter('indent', (value: unknown, width: unknown = 2) =>
  textOf(value).replaceAll(/^(?=.)/gm, ' '.repeat(Number(width))),
);

/** Fills the templates in a value and in everything inside it. Throws when one is broken or names what is not there. */
export function fill(value: unknown, scope: object): unknown {
  if (typeof value === 'string') {
    const filled: unknown = engine.parseAndRenderSync(value, scope);
    return filled instanceof Printed ? filled.value : filled;
  }
  if (Array.isArray(value)) return value.map((each) => fill(each, scope));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fill(each, scope)]));
}

/** Fills a template that yields text. */
export function fillText(template: string, scope: object): string {
  return textOf(fill(template, scope));
}

/** What a tool has to say, without the line about its end; for a refusal, its reason. */
function body(value: unknown): string {
  const error = (value as { error?: { message?: unknown } } | null | undefined)?.error;
  if (error !== undefined) return `(${textOf(error.message)})`;
  return textOf(value)
    .replace(/^(exit code|stopped after) [^\n]*\n?/, '')
    .replace(/^\s*\n/, '')
    .trimEnd();
}

/** Lines that hold something. */
function lines(value: unknown): string[] {
  return textOf(value)
    .split('\n')
    .filter((line) => line.trim() !== '');
}

/** Its type asks for a text, but what it returns goes the same way as what templates print. */
function printed(value: unknown): string {
  const isPlain = typeof value !== 'object' || value === null || value instanceof Printed;
  return (isPlain ? value : new Printed(value)) as string;
}
