/**
 * What a person does not see, or takes for something else: controls, blanks that are no spaces (which a shell takes for a
 * part of a word), what turns the direction of text, or is not shown at all.
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

export function hasHidden(text: string): boolean {
  return text.search(HIDDEN) >= 0;
}

/** The text with each of them as `\u{a0}`. */
export function withHiddenShown(text: string): string {
  return text.replace(HIDDEN, (char) => `\\u{${(char.codePointAt(0) as number).toString(16)}}`);
}

/** Without what a shell passes over around a command: spaces, tabs and line breaks, and nothing else. */
export function withoutBlanksAround(text: string): string {
  let [start, end] = [0, text.length];
  while (isBlank(text[start])) start++;
  while (end > start && isBlank(text[end - 1])) end--;
  return text.slice(start, end);
}

function isBlank(char: string | undefined): boolean {
  return char === ' ' || char === '\t' || char === '\n';
}
