import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CadreError } from '../protocol/index.ts';
import type { Tool } from '../worker/index.ts';
import { checkTools, insideTool } from '../worker/own-tools.ts';

/** How long a module may take to load. */
const LOAD_MS = 30_000;

/**
 * A team's tools, from a module of theirs: what it exports that looks like a tool, and all that stands in a list, or by
 * names in an object, that it exports by default.
 *
 * @param onFile is told of each file that is loaded for it, beside what lies in `node_modules`
 * @throws CadreError `usage` for a module that cannot be loaded, or brings no tools, or some that cannot be used
 */
export async function loadTools(
  path: string,
  limitMs = LOAD_MS,
  onFile: (file: string) => void = () => {},
): Promise<Tool[]> {
  const found = [...new Set(toolsOf(await toldOfFiles(onFile, () => load(path, limitMs))))];
  if (found.length === 0) {
    throw new CadreError('usage', `--tools ${path} exports no tools.`, {
      hint: 'Export what defineTool of cadre/tools returns, each by a name or all in a default list.',
    });
  }
  try {
    return checkTools(found);
  } catch (error) {
    if (!(error instanceof CadreError)) throw error;
    throw new CadreError('usage', `--tools ${path}: ${error.message}`, {
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      cause: error,
    });
  }
}

function toolsOf({ default: main, ...named }: Record<string, unknown>): unknown[] {
  const byName = Object.values(named).filter(isToolLike);
  if (Array.isArray(main)) return [...main, ...byName];
  if (isToolLike(main)) return [main, ...byName];
  if (typeof main !== 'object' || main === null) return byName;
  // What CommonJS exports is all of it the default; if it was compiled from ESM, the default stands in there.
  const { default: inner, ...others } = main as Record<string, unknown>;
  const listed = Array.isArray(inner) ? inner : [inner].filter(isToolLike);
  return [...listed, ...Object.values(others).filter(isToolLike), ...byName];
}

async function toldOfFiles<T>(onFile: (file: string) => void, work: () => Promise<T>): Promise<T> {
  const hooks = registerHooks({
    load(url, context, next) {
      const file = url.startsWith('file:') ? fileURLToPath(url) : undefined;
      if (file !== undefined && !file.split(sep).includes('node_modules')) onFile(file);
      return next(url, context);
    },
  });
  try {
    return await work();
  } finally {
    hooks.deregister();
  }
}

async function load(path: string, limitMs: number): Promise<Record<string, unknown>> {
  const file = resolve(path);
  if (!existsSync(file))
    throw new CadreError('usage', `--tools ${path} cannot be loaded: there is no such file.`);
  try {
    return await insideTool(`--tools ${path}`, () => settledImport(pathToFileURL(file).href, limitMs));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const hint = hintFor((error as NodeJS.ErrnoException | undefined)?.code, reason);
    throw new CadreError('usage', `--tools ${path} cannot be loaded: ${reason}`, {
      ...(hint === undefined ? {} : { hint }),
      cause: error,
    });
  }
}

/** Where nothing is left to happen while a module still waits, Node would end the process without a word of ours. */
async function settledImport(address: string, limitMs: number): Promise<Record<string, unknown>> {
  const given = Promise.withResolvers<never>();
  const giveUp = (why: string) => given.reject(new Error(`its top level awaits something that ${why}`));
  const onIdle = () => giveUp('never comes');
  const timer = setTimeout(() => giveUp(`did not come within ${limitMs / 1_000} s`), limitMs).unref();
  process.once('beforeExit', onIdle);
  try {
    return await Promise.race([import(address), given.promise]);
  } finally {
    clearTimeout(timer);
    process.off('beforeExit', onIdle);
  }
}

function hintFor(code: string | undefined, reason: string): string | undefined {
  if (code === 'ERR_MODULE_NOT_FOUND') {
    return /package '(cadre|zod)'/.test(reason)
      ? 'Install both beside it; Cadre is not on npm, so by the path of its clone: npm install /PATH/TO/cadre zod'
      : 'Relative imports name the file with its ending: ./helper.ts';
  }
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX')
    return 'Node only takes types away: no enum, no namespace, no parameter properties; or compile it to JavaScript first.';
  return undefined;
}

/** A spec that did not go through defineTool counts, too, so that it is told. */
function isToolLike(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && 'run' in value && 'parameters' in value && 'name' in value
  );
}
