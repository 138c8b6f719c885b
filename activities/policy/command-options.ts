/** Which options of a program are known to be harmless; all others are refused. */
export interface OptionTable {
  /** As in getopt: a letter that takes a value is followed by a colon. */
  short?: string;
  /** Without the dashes, a name that takes a value ends in `=`; separated by spaces. */
  long?: string;
  /** `-20` is an option. */
  number?: boolean;
  /** Long options with a single dash, as `find` has them, are not told apart: such programs check themselves. */
}

export type ReadOptions = { ok: true; operands: string[]; values: string[] } | { ok: false; option: string };

/** Reads the arguments of a program as GNU getopt does: options may stand anywhere before `--`. */
export function readOptions(args: readonly string[], table: OptionTable): ReadOptions {
  const long = new Set((table.long ?? '').split(' '));
  const operands: string[] = [];
  const values: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string;
    if (arg === '--') {
      operands.push(...args.slice(i + 1));
      break;
    }
    if (arg === '-' || !arg.startsWith('-')) {
      operands.push(arg);
    } else if (arg.startsWith('--')) {
      const equals = arg.indexOf('=');
      const name = equals < 0 ? arg.slice(2) : arg.slice(2, equals);
      if (equals >= 0 && long.has(`${name}=`)) values.push(arg.slice(equals + 1));
      else if (equals < 0 && long.has(name)) continue;
      else if (equals < 0 && long.has(`${name}=`) && isValue(args[i + 1])) values.push(args[++i] as string);
      else return { ok: false, option: arg };
    } else if (!(table.number && /^-\d+$/.test(arg))) {
      const read = readCluster(arg.slice(1), table.short ?? '');
      if (read === undefined) return { ok: false, option: arg };
      if (read.needsValue && read.value === undefined && !isValue(args[i + 1]))
        return { ok: false, option: arg };
      if (read.needsValue) values.push(read.value ?? (args[++i] as string));
    }
  }
  return { ok: true, operands, values };
}

/** Some programs take a value only from the same argument: then the next one would be an option that nobody has judged. */
function isValue(arg: string | undefined): boolean {
  return arg !== undefined && (!arg.startsWith('-') || /^-\d*$/.test(arg));
}

/** `-ln5`: letters, the last of which may take the rest, or the next argument, as its value. */
function readCluster(letters: string, short: string): { needsValue: boolean; value?: string } | undefined {
  for (let i = 0; i < letters.length; i++) {
    const letter = letters[i] as string;
    const at = letter === ':' ? -1 : short.indexOf(letter);
    if (at < 0) return undefined;
    if (short[at + 1] !== ':') continue;
    const value = letters.slice(i + 1);
    return value === '' ? { needsValue: true } : { needsValue: true, value };
  }
  return { needsValue: false };
}
