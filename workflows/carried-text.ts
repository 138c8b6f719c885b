/** Texts of other agents, as they are kept where there may be very many of them. */

const SHOWN = 4_000;
/** Where even texts of that length are too many. */
const HINTED = 200;
/** Texts of one kind that go into a new run, together. */
const TOGETHER = 200_000;

const utf8 = new TextEncoder();

/** Bytes of a value as JSON. */
export function jsonBytes(value: unknown): number {
  return utf8.encode(JSON.stringify(value)).length;
}

/** The beginning of a text, with a word on how to come by the rest. */
export function shortened(text: string, most = SHOWN): string {
  if (text.length <= most) return text;
  return `${text.slice(0, most)}… (cut; ask it for the rest)`;
}

/**
 * Cuts texts so that all of them together fit into the input of a new run; the last ones are kept longest.
 *
 * @param whole whether a text is to be kept whole as long as there is room
 */
export function fitting<T>(
  entries: readonly T[],
  textOf: (entry: T) => string | undefined,
  cut: (entry: T, text: string) => T,
  whole: (entry: T) => boolean = () => false,
): T[] {
  let room = TOGETHER;
  return entries
    .toReversed()
    .map((entry) => {
      const text = textOf(entry);
      if (text === undefined) return entry;
      let kept = text;
      if (!whole(entry) || kept.length > room) kept = shortened(text);
      if (kept.length > room) kept = shortened(text, HINTED);
      room -= kept.length;
      return kept === text ? entry : cut(entry, kept);
    })
    .toReversed();
}

/** The same, where a text is cut only if all of them as they are would not fit together. */
export function fittingWhole<T>(
  entries: readonly T[],
  textOf: (entry: T) => string | undefined,
  cut: (entry: T, text: string) => T,
): T[] {
  const length = entries.reduce((sum, entry) => sum + (textOf(entry)?.length ?? 0), 0);
  return fitting(entries, textOf, cut, () => length <= TOGETHER);
}
