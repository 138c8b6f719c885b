import type { SeatbeltProfile } from '../../../activities/sandbox/seatbelt-profile.ts';

/** What a process asks the kernel of macOS for, as far as profiles tell it apart. */
export interface Asked {
  operation: string;
  path?: string;
  /** The name of a service, or of a sysctl. */
  name?: string;
  target?: 'same-sandbox' | 'others';
  /** The other end of a connection, or the own one: a socket with this file. */
  socket?: string;
  /** It is about the network. */
  isIp?: boolean;
  extension?: string;
}

type Expression = string | { text: string } | Expression[];

/**
 * Reads a profile, and decides as the documentation says that the kernel does: the last rule that holds wins. Only for
 * what Cadre's profiles consist of.
 *
 * @throws Error for what is not understood: parentheses that do not match, parameters that are not given
 */
export function allows({ text, parameters }: SeatbeltProfile): (asked: Asked) => boolean {
  const rules = parse(text).filter((rule) => Array.isArray(rule));
  if (JSON.stringify(rules[0]) !== '["version","1"]') throw new Error('does not begin with its version');
  return (asked) => {
    const last = rules.slice(1).findLast((rule) => holds(rule, asked, parameters));
    return last?.[0] === 'allow';
  };
}

function holds([decision, ...rest]: Expression[], asked: Asked, parameters: ReadonlyMap<string, string>) {
  if (decision !== 'allow' && decision !== 'deny') throw new Error(`neither allows nor denies: ${decision}`);
  const operations = rest.filter((part) => typeof part === 'string');
  const filters = rest.filter((part) => Array.isArray(part));
  const isMeant = operations.some(
    (name) =>
      name === 'default' ||
      name === asked.operation ||
      (name.endsWith('*') && asked.operation.startsWith(name.slice(0, -1))),
  );
  const fits = filters.map((filter) => matches(filter, asked, parameters));
  return isMeant && (fits.length === 0 || fits.includes(true));
}

function matches(filter: Expression[], asked: Asked, parameters: ReadonlyMap<string, string>): boolean {
  const [kind, ...args] = filter;
  const value = () => textOf(args[0], parameters);
  const { path, name } = asked;
  switch (kind) {
    case 'subpath':
      return path !== undefined && (value() === '/' || path === value() || path.startsWith(`${value()}/`));
    case 'literal':
      return path === value();
    case 'regex': {
      const pattern = new RegExp(value());
      return path !== undefined && pattern.test(path);
    }
    case 'require-all':
      return args.every((inner) => matches(inner as Expression[], asked, parameters));
    case 'target':
      return args[0] === asked.target;
    case 'global-name':
    case 'ipc-posix-name':
    case 'sysctl-name':
      return name === value();
    case 'sysctl-name-prefix':
      return name?.startsWith(value()) === true;
    case 'extension':
      return asked.extension === value();
    case 'local':
    case 'remote':
      if (args[0] === 'ip') return asked.isIp === true;
      return matches(args[1] as Expression[], { ...asked, path: asked.socket as string }, parameters);
    case 'socket-domain':
    case 'socket-protocol':
      return name === args[0];
    default:
      throw new Error(`unknown filter ${String(kind)}`);
  }
}

function textOf(expression: Expression | undefined, parameters: ReadonlyMap<string, string>): string {
  if (typeof expression === 'object' && 'text' in expression) return expression.text;
  if (!Array.isArray(expression) || expression[0] !== 'param') throw new Error('neither text nor parameter');
  const given = parameters.get(textOf(expression[1], parameters));
  if (given === undefined) throw new Error(`not given: ${JSON.stringify(expression)}`);
  return given;
}

/** `#"…"` is raw, and so is `"…"` where it has no backslash. */
function parse(text: string): Expression[] {
  const tokens = text.match(/[()]|#?"[^"\\]*"|[^\s()"]+/g) ?? [];
  const open: Expression[][] = [[]];
  for (const token of tokens) {
    if (token === '(') open.push([]);
    else if (token === ')') {
      const closed = open.pop() as Expression[];
      if (open.length === 0) throw new Error('closed too often');
      open.at(-1)?.push(closed);
    } else {
      open.at(-1)?.push(token.endsWith('"') ? { text: token.slice(token.indexOf('"') + 1, -1) } : token);
    }
  }
  if (open.length > 1) throw new Error('not closed');
  return open[0] as Expression[];
}
