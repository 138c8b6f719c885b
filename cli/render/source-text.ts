import type { Source } from '../../protocol/index.ts';

/** Where an agent comes from, in a word or a few. */
export function sourceText(source: Source | undefined): string {
  if (source === undefined) return '';
  if (source.kind !== 'sub_agent') return source.kind;
  return `sub-agent of ${source.parent_id} at depth ${source.depth}`;
}
