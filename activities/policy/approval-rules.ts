import { type ApprovalRule, RULE_MAX, type SandboxMode } from '../../protocol/index.ts';
import { realPath } from '../sandbox/real-paths.ts';
import { parseCommand, type SimpleCommand, shellLine } from './command-words.ts';
import { commandsIn, judgeCommand } from './harmless.ts';
import { hasHidden, withoutBlanksAround } from './hidden-characters.ts';

export type ParsedRule = { ok: true; words: string[]; more: boolean } | { ok: false; reason: string };

const MORE = /[ \t]\*$/;
const ASSIGNMENT = /^[A-Za-z_]\w*(\[.*\])?\+?=/;

/** The words of a rule; `more`: it ends with a lone `*`, for one or more further ones. */
export function parseRule(text: string): ParsedRule {
  const line = withoutBlanksAround(text);
  if (line === '*') return { ok: false, reason: 'it would allow every command' };
  const more = MORE.test(line);
  const parsed = parseCommand(more ? line.replace(MORE, '') : line);
  if (!parsed.ok) return parsed;
  const [command, ...further] = parsed.commands;
  if (command === undefined || further.length > 0)
    return { ok: false, reason: 'it is more than one command' };
  const [program = ''] = command.words;
  if (program === '') return { ok: false, reason: 'it names no program' };
  if (ASSIGNMENT.test(program)) return { ok: false, reason: 'it sets a variable, which no rule may' };
  return { ok: true, words: command.words, more };
}

export interface CommandInPlace {
  command: string | readonly string[];
  cwd: string;
  /** Of the agent that wants to run it. */
  mode: SandboxMode;
  /** It would run inside the sandbox of that mode. */
  contained: boolean;
}

/**
 * Whether rules allow a command line: each command of it has to be allowed. Inside the sandbox those known to be harmless
 * need no rule. What a shell would expand or redirect, and what sets a variable, is allowed by none.
 */
export function isAllowedByRules(asked: CommandInPlace, rules: readonly ApprovalRule[]): boolean {
  const commands = rules.length === 0 ? undefined : commandsOf(asked);
  if (commands === undefined) return false;
  const holding = rules.filter((rule) => holdsHere(rule, asked)).map(({ command }) => parseRule(command));
  return commands.every(
    ({ words }) =>
      holding.some((rule) => names(rule, words)) || (asked.contained && isHarmless(words, asked)),
  );
}

/** The rule that allows just this command from now on, in that folder and sandbox; undefined where no rule can. */
export function ruleFor(asked: CommandInPlace): ApprovalRule | undefined {
  const commands = commandsOf(asked) ?? [];
  const [named, ...others] = asked.contained
    ? commands.filter(({ words }) => !isHarmless(words, asked))
    : commands;
  const folder = realPath(asked.cwd);
  if (named === undefined || others.length > 0 || folder === undefined) return undefined;
  const command = shellLine(named.words);
  // Nobody could tell it from another one in a list.
  if (command.length > RULE_MAX || hasHidden(command)) return undefined;
  if (!names(parseRule(command), named.words)) return undefined;
  const { mode, contained } = asked;
  return { command, folder, sandbox_mode: mode, ...(contained ? {} : { outside_sandbox: true as const }) };
}

function commandsOf({ command, contained }: CommandInPlace): SimpleCommand[] | undefined {
  return commandsIn(command, { plainShell: !contained });
}

function holdsHere(rule: ApprovalRule, { cwd, mode, contained }: CommandInPlace): boolean {
  if (!contained && rule.outside_sandbox !== true) return false;
  // What one may do that writes is no approval for one that only reads.
  const isForMode =
    rule.sandbox_mode === undefined ? contained || mode !== 'read-only' : rule.sandbox_mode === mode;
  if (!isForMode) return false;
  if (rule.folder === undefined) return true;
  const folder = realPath(rule.folder);
  return folder !== undefined && folder === realPath(cwd);
}

function names(rule: ParsedRule, words: readonly string[]): boolean {
  if (!rule.ok) return false;
  const isLong = rule.more ? words.length > rule.words.length : words.length === rule.words.length;
  return isLong && rule.words.every((word, index) => word === words[index]);
}

function isHarmless(words: SimpleCommand['words'], { cwd }: CommandInPlace): boolean {
  return judgeCommand(words, cwd).harmless;
}
