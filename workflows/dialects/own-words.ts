import type { ErrorBody, ErrorCode } from '../../protocol/index.ts';

/** What a dialect says where an operation, which speaks collab, names what goes by another name there, or not at all. */
export interface Vocabulary {
  /** By code, in place of the hint of the operation. */
  hints?: Readonly<Partial<Record<ErrorCode, string>>>;
  /** Tools and arguments of the operation, and what they are called. */
  words?: Readonly<Record<string, string>>;
}

/** Refusals of operations in the words of a dialect: the hint and the message. */
export function inWordsOf({ hints = {}, words = {} }: Vocabulary): (error: ErrorBody) => ErrorBody {
  const said = (text: string) =>
    Object.entries(words).reduce((sofar, [theirs, ours]) => sofar.replace(whole(theirs), () => ours), text);
  return ({ hint, ...error }) => {
    // Without a hint there is nothing to do about it, in any dialect.
    const own = hint === undefined ? {} : { hint: hints[error.code] ?? said(hint) };
    return { ...error, message: said(error.message), ...own };
  };
}

/** Not as a part of a name or a path, which is somebody's own. */
function whole(word: string): RegExp {
  const text = word.replaceAll(/[()]/g, '\\$&');
  return new RegExp(`(?<![\\w/.-])${text}(?![\\w/-])`, 'g');
}
