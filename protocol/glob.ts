/** Whether a name matches a pattern of `*` (any characters, also none) and `?` (one character). */
export function matchesGlob(name: string, pattern: string, options: { ignoreCase?: boolean } = {}): boolean {
  const [text, glob] = options.ignoreCase
    ? [name.toLowerCase(), pattern.toLowerCase()]
    : ([name, pattern] as const);
  let at = 0;
  let star = -1;
  let retry = 0;
  for (let i = 0; i < text.length; ) {
    if (at < glob.length && (glob[at] === '?' || (glob[at] === text[i] && glob[at] !== '*'))) {
      at++;
      i++;
    } else if (glob[at] === '*') {
      star = at++;
      retry = i;
    } else if (star >= 0) {
      at = star + 1;
      i = ++retry;
    } else {
      return false;
    }
  }
  while (glob[at] === '*') at++;
  return at === glob.length;
}
