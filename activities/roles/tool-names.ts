import { DIALECT_TOOLS, matchesGlob } from '../../protocol/index.ts';

/** The tools of all dialects: whichever one is spoken, to deny `Task` denies them. */
const SUB_AGENT_TOOLS = Object.values(DIALECT_TOOLS).flatMap(({ operations, readers }) => [
  ...operations.map(({ name }) => name),
  ...readers,
]);
/** Those of them that send messages. */
const SENDING_TOOLS = Object.values(DIALECT_TOOLS).flatMap(({ operations }) =>
  operations.filter(({ sends }) => sends === true).map(({ name }) => name),
);
const SHELL = ['shell'];
/** The tools that are known here; a team's workers may have others. */
const OWN = new Set([
  ...['shell', 'local_shell', 'exec_command', 'write_stdin', 'apply_patch'],
  ...[
    'read_file',
    'list_dir',
    'grep_files',
    'view_image',
    'web_search',
    'update_plan',
    'remember',
    'handle_read',
  ],
  ...SUB_AGENT_TOOLS,
]);

/** Whether it is the name of a tool that every worker has. */
export function isOfCadre(name: string): boolean {
  return OWN.has(name);
}

interface Counterpart {
  /** What stands for it where it is allowed; none where that would allow more. */
  allows: readonly string[];
  /** What is taken away where it is denied, if not the same: whatever could do its work. */
  denies?: readonly string[];
}
const NONE: Counterpart = { allows: [] };
const IN_SHELL: Counterpart = { allows: [], denies: SHELL };

/** Claude Code's tools, in lower case. */
const CLAUDE_CODE: ReadonlyMap<string, Counterpart> = new Map(
  Object.entries({
    read: { allows: ['read_file', 'view_image', 'handle_read'] },
    glob: { allows: ['list_dir'] },
    ls: { allows: ['list_dir'] },
    grep: { allows: ['grep_files'] },
    bash: { allows: SHELL },
    edit: { allows: ['apply_patch'] },
    multiedit: { allows: ['apply_patch'] },
    write: { allows: ['apply_patch'] },
    notebookedit: { allows: [], denies: ['apply_patch'] },
    notebookread: { allows: [], denies: ['read_file'] },
    websearch: { allows: ['web_search'] },
    webfetch: NONE,
    task: { allows: SUB_AGENT_TOOLS },
    agent: { allows: SUB_AGENT_TOOLS },
    sendmessage: { allows: [], denies: SENDING_TOOLS },
    todowrite: { allows: ['update_plan'] },
    todoread: NONE,
    taskcreate: { allows: ['update_plan'] },
    taskupdate: { allows: ['update_plan'] },
    tasklist: NONE,
    taskget: NONE,
    bashoutput: IN_SHELL,
    killbash: IN_SHELL,
    killshell: IN_SHELL,
    taskoutput: IN_SHELL,
    taskstop: IN_SHELL,
    powershell: IN_SHELL,
    monitor: IN_SHELL,
    ...Object.fromEntries(
      [
        ...['askuserquestion', 'skill', 'slashcommand', 'toolsearch', 'lsp', 'workflow', 'pushnotification'],
        ...['enterplanmode', 'exitplanmode', 'enterworktree', 'exitworktree'],
        ...['croncreate', 'crondelete', 'cronlist', 'schedulewakeup', 'remotetrigger'],
        ...['listmcpresources', 'listmcpresourcestool', 'readmcpresource', 'readmcpresourcetool'],
        ...['teamcreate', 'teamdelete'],
      ].map((name) => [name, NONE]),
    ),
  } satisfies Record<string, Counterpart>),
);

export interface MappedTools {
  names: string[];
  notices: string[];
  /** Something is denied of which nobody here knows what it is. */
  unknownDenial?: boolean;
}

/** One entry of a list: a name or a glob, and what it holds for, if not for every call. */
const ENTRY = /^([\p{L}\p{N}_.*?:-]+)(?:\((.*)\))?$/su;
const WHOLE = /^\s*(?:\*|:\*)?\s*$/;

/** The tools that a list allows: never more than it says. */
export function allowedTools(list: readonly string[]): MappedTools {
  const names: string[] = [];
  const notices: string[] = [];
  for (const entry of list) {
    const [, name, only] = ENTRY.exec(entry) ?? [];
    if (name === undefined) notices.push(`${shown(entry)} names no tool; it allows nothing`);
    else if (only !== undefined && !WHOLE.test(only)) {
      notices.push(
        `${shown(entry)} allows a tool for some calls only, which has no counterpart; it allows nothing`,
      );
    } else {
      const found = OWN.has(name) ? undefined : CLAUDE_CODE.get(name.toLowerCase());
      names.push(...(found?.allows ?? []));
      if (found === undefined || isPlain(name)) names.push(serverWhole(name));
      if (found?.allows.length === 0 && !isPlain(name))
        notices.push(`${shown(name)} has no counterpart; it allows nothing`);
      else if (found === undefined && isUnknown(name)) {
        notices.push(
          `${shown(name)} is no tool that comes with Cadre; it allows one only where your workers have it`,
        );
      }
    }
  }
  return { names: [...new Set(names)], notices };
}

/**
 * The tools that a list denies: all that could do the work of what it names.
 *
 * @param refuse for what has the form of no denial at all
 */
export function deniedTools(list: readonly string[], refuse: (reason: string) => Error): MappedTools {
  const names: string[] = [];
  const notices: string[] = [];
  let unknownDenial = false;
  for (const entry of list) {
    const [, name, only] = ENTRY.exec(entry) ?? [];
    if (name === undefined) throw refuse(`${shown(entry)} denies what is no tool's name`);
    const isOwn = OWN.has(name.toLowerCase());
    const found = isOwn
      ? []
      : [...CLAUDE_CODE].filter(([known]) => matchesGlob(known, name.toLowerCase())).map(([, tool]) => tool);
    const denied = found.flatMap(({ allows, denies = allows }) => denies);
    names.push(...denied);
    if (isOwn || /[*?]/.test(name)) names.push(name.toLowerCase());
    if (!isOwn && (found.length === 0 || isPlain(name))) names.push(serverWhole(name));
    if (only !== undefined && !WHOLE.test(only)) {
      notices.push(
        `${shown(entry)} denies some calls of a tool, which has no counterpart; all of them are denied`,
      );
    }
    if (!isOwn && found.length === 0 && isUnknownDenial(name)) {
      unknownDenial ||= !isPlain(name);
      const then = isPlain(name)
        ? 'it denies one only where your workers have it'
        : 'the role only reads, to be safe';
      notices.push(`${shown(name)} is no tool that comes with Cadre; ${then}`);
    }
  }
  return { names: [...new Set(names)], notices, unknownDenial };
}

/** In the form that tools have here: a team's own could bear that name. */
function isPlain(name: string): boolean {
  return /^[a-z0-9_.*?-]+$/.test(name);
}

function isUnknown(name: string): boolean {
  return !OWN.has(name) && !/[*?]|^mcp__/.test(name);
}

/** A glob may mean tools of the team's workers, where it is written as their names are, or those of the dialects. */
function isUnknownDenial(name: string): boolean {
  if (!/[*?]/.test(name)) return isUnknown(name);
  if (name.toLowerCase().startsWith('mcp__')) return false;
  return ![...OWN].some((known) => matchesGlob(known, name.toLowerCase()));
}

/** A server alone stands for all of its tools. */
function serverWhole(name: string): string {
  return /^mcp__(?:(?!__).)+$/.test(name) && !name.endsWith('*') ? `${name}__*` : name;
}

function shown(entry: string): string {
  return JSON.stringify(entry.length <= 80 ? entry : `${entry.slice(0, 79)}…`);
}
