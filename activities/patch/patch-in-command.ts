import { CadreError } from '../../protocol/index.ts';
import { parseCommand, type SimpleCommand } from '../policy/command-words.ts';

/** A patch that a command would apply, and the folder that its paths start from: none is where the command runs. */
export interface CommandPatch {
  input: string;
  folder?: string;
}

const PROGRAMS = ['apply_patch', 'applypatch'];
const SHELL = /^(?:\/\S+\/)?(?:ba|z|da)?sh$/;
/** What stands behind `<<` on its line. */
const MARK = /^(-?)[ \t]*(["']?)([\w.-]+)\2[ \t]*(.*)$/;
const SUBSTITUTION = /"\$\(\s*cat\s*(?=<<)/;
const NAMED = /(?:^|[\s;&|(`'"/])(?:apply_patch|applypatch)(?=[\s'"]|$)/;

/**
 * The patch in a command that does nothing but apply one, as models write it where they are used to a program of that
 * name: with a here-document or as its argument, through a shell, behind `cd`. Undefined for any other command.
 *
 * @throws CadreError `invalid_arguments` for a here-document in which a shell would put something else
 */
export function patchInCommand(command: string | readonly string[]): CommandPatch | undefined {
  if (typeof command !== 'string') return inWords(command);
  const line = command.replaceAll('\r\n', '\n').trim();
  // Most commands are spared the rest.
  if (!NAMED.test(line)) return undefined;
  return inHeredoc(unsubstituted(line)) ?? inCommands(commandsOf(line));
}

/** `apply_patch "$(cat <<'EOF' … EOF)"` is the here-document. */
function unsubstituted(line: string): string {
  const start = line.endsWith(')"') ? SUBSTITUTION.exec(line) : null;
  if (start === null) return line;
  const inside = line.slice(start.index + start[0].length, -2);
  const document = inside.trimEnd();
  return inside.includes('\n', document.length) ? line.slice(0, start.index) + document : line;
}

/** Whether a command calls `apply_patch`, or looks like it. */
export function namesPatchProgram(command: string | readonly string[]): boolean {
  return NAMED.test(typeof command === 'string' ? command : command.join(' '));
}

function inWords([program = '', ...args]: readonly string[]): CommandPatch | undefined {
  const [first = '', second] = args;
  if (SHELL.test(program) && args.length === 2 && /^-l?c$/.test(first)) return patchInCommand(second ?? '');
  const isPatch = PROGRAMS.includes(program) && args.length === 1 && first.includes('*** Begin Patch');
  return isPatch ? { input: first } : undefined;
}

function inCommands(commands: readonly SimpleCommand[]): CommandPatch | undefined {
  const [last, folders] = [commands.at(-1), foldersOf(commands)];
  if (last === undefined || folders === undefined) return undefined;
  const found = inWords(last.words);
  return found === undefined ? undefined : inFolder(found, folders);
}

function inHeredoc(line: string): CommandPatch | undefined {
  const at = line.indexOf('<<');
  const end = at < 0 ? -1 : line.indexOf('\n', at);
  const [, tabs, quote, mark, behind] = (end < 0 ? null : MARK.exec(line.slice(at + 2, end))) ?? [];
  if (mark === undefined) return undefined;
  const rest = line.slice(end + 1);
  const lines = (tabs === '-' ? rest.replace(/^\t+/gm, '') : rest).split('\n');
  // What follows the first line that ends it are other commands.
  if (lines.indexOf(mark) !== lines.length - 1) return undefined;
  const commands = commandsOf(line.slice(0, at).trim());
  const [last, folders] = [commands.at(-1), foldersOf(commands)];
  const program = /^\|[ \t]*(\w+)$/.exec(behind as string)?.[1];
  const word = last?.words.length === 1 ? last.words[0] : undefined;
  const isPatch =
    behind === '' ? PROGRAMS.includes(word ?? '') : word === 'cat' && PROGRAMS.includes(program ?? '');
  if (folders === undefined || !isPatch) return undefined;
  const text = lines.slice(0, -1).join('\n');
  return inFolder({ input: quote === '' ? unescaped(text) : text }, folders);
}

/** What a shell reads where the mark has no quotes. What it would expand is in no patch on purpose. */
function unescaped(text: string): string {
  return text.replace(/\\([\\$`\n])|`|\$[\w@*#?$!({[-]/g, (found, escaped?: string) => {
    if (escaped !== undefined && escaped !== '\n') return escaped;
    throw new CadreError(
      'invalid_arguments',
      `A shell would put something else for ${JSON.stringify(found)} in this here-document.`,
      {
        hint: "Nothing was changed. Put the word behind << in quotes, as in apply_patch <<'EOF', or call the tool apply_patch.",
      },
    );
  });
}

function commandsOf(line: string): readonly SimpleCommand[] {
  const parsed = parseCommand(line);
  return parsed.ok ? parsed.commands : [];
}

/** Where the commands ahead of the last one lead; undefined when they do anything but change the folder. */
function foldersOf(commands: readonly SimpleCommand[]): string[] | undefined {
  const ahead = commands.slice(0, -1);
  const isFollowed = commands.every(({ operator }) => operator !== '|' && operator !== '||');
  const isChange = ({ words: [program, to, ...more] }: SimpleCommand) =>
    program === 'cd' && to !== undefined && !to.startsWith('-') && more.length === 0;
  return isFollowed && ahead.every(isChange) ? ahead.map(({ words }) => words[1] as string) : undefined;
}

function inFolder(found: CommandPatch, folders: readonly string[]): CommandPatch {
  const steps = [...folders, ...(found.folder === undefined ? [] : [found.folder])];
  return steps.length === 0 ? found : { ...found, folder: steps.reduce(under) };
}

function under(folder: string, step: string): string {
  return step.startsWith('/') ? step : `${folder}/${step}`;
}
