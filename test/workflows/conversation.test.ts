import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AgentId,
  EMPTY_DIGEST,
  extendDigest,
  type Item,
  LARGE_PAGE_BYTES,
  textMessage,
} from '../../protocol/index.ts';
import { Conversation } from '../../workflows/conversation.ts';

const AGENT = 'a0k3v9x2m4qd7' as AgentId;
const PAGE_BYTES = 400 * 1024;
const said = (text: string): Item => ({ type: 'assistant_message', text });
const filled = (items: Item[]) => {
  const conversation = new Conversation();
  conversation.append(...items);
  return conversation;
};
const carried = (one: Conversation) => new Conversation(JSON.parse(JSON.stringify(one.carry)));

/** Reads page by page, as a model activity does that has to learn the whole. */
function join(conversation: Conversation, to?: number): { items: Item[]; pages: number[] } {
  const items: Item[] = [];
  const pages: number[] = [];
  for (let from: number | undefined = 0; from !== undefined; ) {
    const page = conversation.page(from, to);
    expect(page.from).toBe(from);
    items.push(...page.items);
    pages.push(Buffer.byteLength(JSON.stringify(page)));
    from = page.next;
  }
  return { items, pages };
}

describe('the conversation', () => {
  test('is empty at first', () => {
    const conversation = new Conversation();
    expect(conversation.pointer(AGENT, 'run')).toEqual({
      agent_id: AGENT,
      run_id: 'run',
      count: 0,
      digest: EMPTY_DIGEST,
    });
    expect(conversation.page()).toEqual({ items: [], from: 0, total: 0, compacted: 0 });
    expect(conversation.fresh).toEqual([]);
  });

  test('sends an item along until the model has seen or made something later', () => {
    const conversation = filled([textMessage('a')]);
    expect(conversation.fresh).toEqual([textMessage('a')]);
    conversation.appendKnown([said('b')]);
    expect(conversation.fresh).toEqual([]);
    conversation.append(textMessage('c'));
    expect(conversation.fresh).toEqual([textMessage('c')]);
    expect(carried(conversation).fresh).toEqual([textMessage('c')]);
  });

  test('sends along no more than fits into a call, the newest of it', () => {
    const large = (name: string) => textMessage(name.repeat(500_000));
    expect(filled(['a', 'b', 'c'].map(large)).fresh).toEqual(['b', 'c'].map(large));
    expect(filled([textMessage('a'), textMessage('b'.repeat(1_300_000))]).fresh).toHaveLength(1);
  });

  test('gives a range of its items', () => {
    const conversation = filled(['a', 'b', 'c', 'd'].map(said));
    expect(conversation.page(1, 3)).toEqual({
      items: [said('b'), said('c')],
      from: 1,
      total: 4,
      compacted: 0,
    });
    expect(conversation.page(9).items).toEqual([]);
    expect(conversation.page(2, 1).items).toEqual([]);
    expect(conversation.page(0, 99).items).toHaveLength(4);
  });

  test('fills a page with text of any alphabet up to 400 KiB of bytes', () => {
    const conversation = filled(Array.from({ length: 60 }, () => said('漢'.repeat(10_000))));
    const { items, pages } = join(conversation);
    expect(items).toEqual(conversation.items);
    expect(Math.max(...pages)).toBeLessThanOrEqual(PAGE_BYTES);
  });

  test('fills a page with many small items up to 400 KiB, all around them included', () => {
    const conversation = filled(Array.from({ length: 20_000 }, () => said('')));
    const { items, pages } = join(conversation);
    expect(items).toHaveLength(20_000);
    expect(Math.max(...pages)).toBeLessThanOrEqual(PAGE_BYTES);
  });

  test('fills a page as far as whoever asks wants it', () => {
    const conversation = filled(Array.from({ length: 30 }, () => said('x'.repeat(100_000))));
    const page = conversation.page(0, 30, LARGE_PAGE_BYTES);
    expect(page).toMatchObject({ next: 14, total: 30 });
    expect(Buffer.byteLength(JSON.stringify(page.items))).toBeLessThanOrEqual(LARGE_PAGE_BYTES);
  });

  test('gives an item that is larger than a page alone', () => {
    const conversation = filled([said('a'), said('x'.repeat(PAGE_BYTES)), said('b')]);
    const { items, pages } = join(conversation);
    expect(items).toEqual(conversation.items);
    expect(pages).toHaveLength(3);
  });
});

const lengths = fc.array(fc.constantFrom(0, 10, 1_000, 50_000, 150_000, 410_000), { maxLength: 20 });

test('pages join to the whole, with the digest that the pointer names, also after continue-as-new', () => {
  fc.assert(
    fc.property(lengths, fc.nat(20), (lengths, cut) => {
      const all = lengths.map((length, index) => said(`${index}`.padEnd(length, 'x')));
      const conversation = carried(filled(all.slice(0, cut)));
      conversation.append(...all.slice(cut));
      const { items, pages } = join(conversation);
      expect(items).toEqual(all);
      const { count, digest } = conversation.pointer(AGENT, 'run');
      expect(count).toBe(all.length);
      expect(items.reduce(extendDigest, EMPTY_DIGEST)).toBe(digest);
      for (const bytes of pages.filter((_, index) => (lengths[index] ?? 0) < PAGE_BYTES)) {
        expect(bytes).toBeLessThanOrEqual(Math.max(PAGE_BYTES, ...lengths) + 200);
      }
      expect(join(conversation, cut).items).toEqual(all.slice(0, cut));
    }),
    { numRuns: 50 },
  );
});
