import { CadreError } from '../protocol/errors.ts';
import { isAgentId } from '../protocol/ids.ts';
import { LAST } from './references.ts';

const ARGUMENT = /([<[])([\w-]+)(\.\.\.)?[>\]]/g;

/** The usage as commander gets it: with --last the id may be left out, so nothing is required of it. */
export function lenientUsage(usage: string): string {
  return usage.replace(ARGUMENT, (_all, _bracket, name, dots = '') => `[${name}${dots}]`);
}

/**
 * The arguments of a command whose first one names an agent. `--last` stands for that one; where all arguments are
 * given beside it, the first names an agent of that session.
 *
 * @throws CadreError `usage` where a required one is missing, or an id stands beside --last
 */
export function agentArguments(usage: string, given: readonly unknown[], last: boolean): unknown[] {
  const declared = [...usage.matchAll(ARGUMENT)];
  const args = last ? withLast(given, declared.length) : [...given];
  for (const [index, [, bracket, name]] of declared.entries()) {
    const value = args[index];
    const missing = value === undefined || (Array.isArray(value) && value.length === 0);
    if (bracket !== '<' || !missing) continue;
    const hint = index === 0 ? 'Name an agent, or give --last for the newest session of this folder.' : '';
    throw new CadreError('usage', `missing required argument '${name}'`, hint === '' ? {} : { hint });
  }
  return args;
}

function withLast(given: readonly unknown[], most: number): unknown[] {
  const [first] = given;
  const references = Array.isArray(first) ? first : [first];
  if (references.some((reference) => typeof reference === 'string' && isAgentId(reference))) {
    throw new CadreError('usage', '--last stands for an id: give one of them.');
  }
  if (Array.isArray(first)) return first.length === 0 ? [[LAST], ...given.slice(1)] : [...given];
  const count = given.filter((value) => value !== undefined).length;
  return count < most ? [LAST, ...given.slice(0, count)] : [...given];
}
