import type { ContentPart } from '../../protocol/index.ts';

/** What a call gives as a text or as a list of parts; undefined where it gives neither. */
export function contentOf(
  text: string | undefined,
  items: ContentPart[] | undefined,
): ContentPart[] | undefined {
  return items ?? (text === undefined ? undefined : [{ type: 'text', text }]);
}
