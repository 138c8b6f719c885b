import { type OptionTable, readOptions } from './command-options.ts';

/** What a program may be called with; `judge` gives the reason against it. */
export interface HarmlessProgram extends OptionTable {
  /** What stands beside the options: paths (the default), or mere text. */
  operands?: 'paths' | 'text';
  /** Reads whole folders, those below as well. */
  recursive?: boolean;
  /** Follows links in folders that it is given: it may be given none. */
  filesOnly?: boolean;
  /** Most operands; more would be written to, or change something. */
  most?: number;
  /** Always given to it first, so that it obeys no settings. */
  guards?: readonly string[];
  /** Instead of the option tables. */
  judge?(args: readonly string[]): { paths: string[] } | { reason: string };
}

const GREP: HarmlessProgram = {
  short: 'EFGPe:f:iyvwxcLlm:oqsbHhnTzA:B:C:aIrU',
  long: 'extended-regexp fixed-strings basic-regexp perl-regexp regexp= file= ignore-case no-ignore-case invert-match word-regexp line-regexp count color color= files-with-matches files-without-match max-count= only-matching quiet silent no-messages byte-offset with-filename no-filename line-number null after-context= before-context= context= text binary-files= recursive include= exclude= exclude-dir=',
  number: true,
  recursive: true,
};
const DIGEST: HarmlessProgram = { short: 'bt', long: 'binary text tag' };
const TEXT: HarmlessProgram = { operands: 'text', judge: () => ({ paths: [] }) };
const COUNTED: HarmlessProgram = {
  short: 'n:c:qvz',
  long: 'lines= bytes= quiet silent verbose zero-terminated',
  number: true,
};

/** Programs that only read, with the options under which they only read. */
export const HARMLESS_PROGRAMS: Readonly<Record<string, HarmlessProgram>> = {
  basename: { short: 'as:z', operands: 'text' },
  cat: { short: 'AbeEnstTuv', long: 'show-all number-nonblank show-ends number squeeze-blank show-tabs' },
  cksum: DIGEST,
  cmp: { short: 'bln:s', long: 'verbose silent quiet print-bytes bytes=' },
  comm: { short: '123z' },
  cut: { short: 'b:c:d:f:nsz', long: 'bytes= characters= delimiter= fields= complement only-delimited' },
  date: { short: 'uRI', long: 'utc iso-8601 iso-8601= rfc-3339=', operands: 'text', judge: judgeDate },
  df: { short: 'ahHiklPT', long: 'all human-readable inodes local print-type total' },
  diff: {
    short: 'abBcdiNpqstuU:wyW:',
    long: 'unified unified= brief side-by-side ignore-case ignore-all-space ignore-space-change ignore-blank-lines new-file color color= text width= exclude=',
    filesOnly: true,
  },
  dirname: { short: 'z', operands: 'text' },
  du: {
    short: 'abcd:hHkmsSx',
    long: 'all apparent-size bytes total max-depth= human-readable summarize one-file-system exclude=',
    recursive: true,
  },
  echo: TEXT,
  egrep: GREP,
  false: TEXT,
  fgrep: GREP,
  file: { short: 'bhi', long: 'brief mime mime-type mime-encoding no-dereference' },
  find: { recursive: true, judge: judgeFind },
  grep: GREP,
  head: COUNTED,
  id: { short: 'agGnruz', operands: 'text' },
  ls: {
    short: 'aAbBcCdfFgGhHI:iklmnNopqQrRsStT:uUvw:xXZ1',
    long: 'all almost-all author classify color color= directory full-time group-directories-first human-readable inode numeric-uid-gid recursive reverse size sort= time= time-style= ignore=',
  },
  md5sum: DIGEST,
  nl: { short: 'b:d:f:h:i:l:n:ps:v:w:' },
  nproc: { operands: 'text' },
  paste: { short: 'd:sz' },
  printf: { operands: 'text', judge: judgePrintf },
  pwd: { short: 'LP', operands: 'text' },
  readlink: { short: 'efmnqsvz' },
  realpath: { short: 'eLmPqsz', long: 'relative-to= relative-base=' },
  rev: {},
  rg: {
    short: 'A:B:C:d:e:f:FHIM:NPSUacg:hij:lm:nopqr:st:T:uvwx0.',
    long: 'after-context= before-context= case-sensitive color= column context= count count-matches file= files files-with-matches files-without-match fixed-strings glob= heading hidden iglob= ignore-case invert-match json line-number line-regexp max-columns= max-count= max-depth= max-filesize= multiline no-config no-filename no-heading no-ignore no-ignore-vcs no-line-number no-messages null only-matching passthru pcre2 quiet regexp= replace= smart-case sort= sortr= stats text trim type-list type-not= type= vimgrep with-filename word-regexp',
    recursive: true,
    guards: ['--no-config'],
  },
  sed: { judge: judgeSed },
  seq: { short: 'f:s:w', operands: 'text' },
  sha1sum: DIGEST,
  sha256sum: DIGEST,
  sort: {
    short: 'bcCdfghik:MnRrst:uVz',
    long: 'reverse numeric-sort human-numeric-sort version-sort general-numeric-sort unique key= field-separator= ignore-case stable check',
  },
  stat: { short: 'c:fLt', long: 'format= printf= dereference file-system terse' },
  tac: {},
  tail: COUNTED,
  tr: { short: 'cCdst', operands: 'text' },
  tree: { short: 'adDfhiI:L:pP:st', long: 'dirsfirst gitignore noreport prune', recursive: true },
  true: TEXT,
  uname: { short: 'aimnoprsv', operands: 'text' },
  uniq: { short: 'cdDf:is:uw:z', long: 'count repeated unique ignore-case', most: 1 },
  wc: { short: 'clLmw', long: 'bytes chars lines words max-line-length' },
  which: { short: 'a', operands: 'text' },
  whoami: { operands: 'text', most: 0 },
};

const FIND_PLAIN = new Set(
  '! ( ) -a -and -o -or -not -print -print0 -ls -empty -prune -mount -xdev -depth -daystart -readable -writable -executable -true -false'.split(
    ' ',
  ),
);
const FIND_VALUED = new Set(
  '-name -iname -path -ipath -wholename -regex -iregex -regextype -type -maxdepth -mindepth -size -mtime -mmin -atime -ctime -newer -perm -user -group -links -printf'.split(
    ' ',
  ),
);

function judgeFind(args: readonly string[]): { paths: string[] } | { reason: string } {
  const start = args.findIndex((arg) => arg.startsWith('-') || arg === '!' || arg === '(');
  const paths = start < 0 ? [...args] : args.slice(0, start);
  for (let i = paths.length; i < args.length; i++) {
    const arg = args[i] as string;
    if (FIND_VALUED.has(arg)) {
      i++;
      if (arg === '-newer') paths.push(args[i] ?? '');
    } else if (!FIND_PLAIN.has(arg)) {
      return { reason: `find ${arg} is not known to be harmless` };
    }
  }
  return { paths };
}

/** Only what prints lines by number: other commands of sed write files and run programs. */
function judgeSed(args: readonly string[]): { paths: string[] } | { reason: string } {
  const [quiet, script, ...paths] = args;
  const isPrinting = /^(\d+|\$)(,(\d+|\$))?p$/.test(script ?? '');
  if (quiet !== '-n' || !isPrinting || paths.some((path) => path.startsWith('-'))) {
    return { reason: "of sed, only sed -n 'N,Mp' is known to be harmless" };
  }
  return { paths };
}

/** As a part of the shell, it sets variables: by -v, and by a conversion to `n`. */
function judgePrintf([format = '']: readonly string[]): { paths: string[] } | { reason: string } {
  const sets = format.startsWith('-') || /%[^%a-zA-Z(]*[hjlLtz]*n/.test(format.replaceAll('%%', ''));
  return sets ? { reason: 'printf with -… or %n is not known to be harmless' } : { paths: [] };
}

function judgeDate(args: readonly string[]): { paths: string[] } | { reason: string } {
  const read = readOptions(args, { short: 'uRI', long: 'utc iso-8601 iso-8601= rfc-3339=' });
  const isShowing = read.ok && read.operands.every((operand) => operand.startsWith('+'));
  return isShowing ? { paths: [] } : { reason: 'date might set the clock' };
}
