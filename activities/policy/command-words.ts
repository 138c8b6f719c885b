import { withoutBlanksAround } from './hidden-characters.ts';

/** One plain command of a list, and how it follows the one before. */
export interface SimpleCommand {
  /** Absent for the first. */
  operator?: '|' | '||' | '&&' | ';';
  words: string[];
}

export type ParsedCommand = { ok: true; commands: SimpleCommand[] } | { ok: false; reason: string };

/** What a shell would expand, redirect or take for syntax when it stands outside of quotes. */
const SPECIAL: Record<string, string> = {
  $: 'an expansion',
  '`': 'a substitution',
  '(': 'a group',
  ')': 'a group',
  '{': 'braces',
  '}': 'braces',
  '<': 'a redirection',
  '>': 'a redirection',
  '*': 'a glob',
  '?': 'a glob',
  '[': 'a glob',
  ']': 'a glob',
  '~': 'a tilde',
};

/**
 * Takes a command apart into literal words, joined by `|`, `||`, `&&` or `;`. Whatever a shell would expand,
 * redirect, repeat or run in the background is refused: what remains means the same to every shell.
 */
export function parseCommand(text: string): ParsedCommand {
  return new WordReader(text).read();
}

/** The command as a script in which nothing is left for a shell to interpret. */
export function toScript(commands: readonly SimpleCommand[]): string {
  return commands
    .map(
      ({ operator, words }) =>
        `${operator === undefined ? '' : ` ${operator} `}${words.map(quote).join(' ')}`,
    )
    .join('');
}

export function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/**
 * A command as a line that does what the command does: the very text that runs, or program and arguments, quoted where a
 * shell would read more.
 */
export function shellLine(command: string | readonly string[]): string {
  if (typeof command === 'string') return command;
  return command.map((word) => (/^[\w./:,@+-]+$/.test(word) ? word : quote(word))).join(' ');
}

class Refused extends Error {}

class WordReader {
  readonly #text: string;
  #at = 0;
  readonly #commands: SimpleCommand[] = [];
  #words: string[] = [];
  #operator: SimpleCommand['operator'];

  constructor(text: string) {
    this.#text = withoutBlanksAround(text);
  }

  read(): ParsedCommand {
    try {
      while (this.#at < this.#text.length) this.#step();
      this.#endCommand();
      return { ok: true, commands: this.#commands };
    } catch (error) {
      if (error instanceof Refused) return { ok: false, reason: error.message };
      throw error;
    }
  }

  #step(): void {
    const rest = this.#text.slice(this.#at, this.#at + 2);
    const char = rest[0] as string;
    if (char === ' ' || char === '\t') {
      this.#at++;
    } else if (rest === '||' || rest === '&&') {
      this.#join(rest, 2);
    } else if (rest === '|&' || rest === ';;') {
      throw new Refused(`it contains ${rest}`);
    } else if (char === '|' || char === ';') {
      this.#join(char, 1);
    } else if (char === '\n') {
      this.#join(';', 1);
    } else if (char === '&') {
      throw new Refused('it would run in the background');
    } else if (char === '#') {
      throw new Refused('it contains a comment');
    } else {
      this.#words.push(this.#word());
    }
  }

  #join(operator: NonNullable<SimpleCommand['operator']>, length: number): void {
    this.#endCommand();
    this.#operator = operator;
    this.#at += length;
  }

  #endCommand(): void {
    if (this.#words.length === 0) throw new Refused('a command is missing');
    const { words } = { words: this.#words };
    this.#commands.push(this.#operator === undefined ? { words } : { operator: this.#operator, words });
    this.#words = [];
  }

  #word(): string {
    let word = '';
    for (let char = this.#text[this.#at]; char !== undefined; char = this.#text[this.#at]) {
      if (/[\s|&;]/.test(char)) {
        if (/[ \t\n|&;]/.test(char)) break;
        throw new Refused('it contains an unusual blank');
      }
      this.#at++;
      if (char === "'") word += this.#singleQuoted();
      else if (char === '"') word += this.#doubleQuoted();
      else if (char === '\\') word += this.#escaped();
      else if (SPECIAL[char] !== undefined) throw new Refused(`it contains ${SPECIAL[char]} (${char})`);
      else if (isControl(char)) throw new Refused('it contains a control character');
      else word += char;
    }
    return word;
  }

  #escaped(): string {
    const char = this.#text[this.#at++];
    if (char === undefined || isControl(char))
      throw new Refused('it ends with, or breaks a line after, a backslash');
    return char;
  }

  #singleQuoted(): string {
    const end = this.#text.indexOf("'", this.#at);
    if (end < 0) throw new Refused('a quote is not closed');
    const word = this.#text.slice(this.#at, end);
    this.#at = end + 1;
    return literal(word);
  }

  #doubleQuoted(): string {
    let word = '';
    for (;;) {
      const char = this.#text[this.#at++];
      if (char === undefined) throw new Refused('a quote is not closed');
      if (char === '"') return literal(word);
      if (char === '$' || char === '`') throw new Refused(`it contains ${SPECIAL[char]} (${char})`);
      if (char !== '\\') {
        word += char;
        continue;
      }
      const next = this.#text[this.#at];
      if (next === '\n') throw new Refused('it breaks a line after a backslash');
      if (next !== undefined && '$`"\\'.includes(next)) {
        word += next;
        this.#at++;
      } else {
        word += char;
      }
    }
  }
}

function literal(word: string): string {
  if (word.includes('\0')) throw new Refused('it contains a NUL byte');
  return word;
}

function isControl(char: string): boolean {
  return char < ' ' || char === '\x7f';
}
