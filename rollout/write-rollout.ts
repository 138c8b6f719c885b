import type { KeyRing, RolloutBody, RolloutHeader } from '../protocol/index.ts';
import { unsealed } from './read-rollout.ts';
import { sealLine } from './seal.ts';
import { Structure } from './structure.ts';

/**
 * A rollout as text, line by line, from its header to its end.
 *
 * @param keys with them every line but the header is sealed
 * @throws CadreError `rollout_invalid` for lines that cannot stand together: what could not be read is not written
 */
export async function* rolloutText(
  header: RolloutHeader,
  body: AsyncIterable<RolloutBody> | Iterable<RolloutBody>,
  keys: KeyRing | undefined,
): AsyncGenerator<string> {
  const structure = new Structure(unsealed(header));
  const kept = async (text: string) => (keys === undefined ? text : sealLine(text, keys));
  yield JSON.stringify(keys === undefined ? unsealed(header) : { ...unsealed(header), sealed: true });
  let number = 1;
  for await (const line of body) {
    const text = JSON.stringify(line);
    structure.take(line, text, ++number);
    yield kept(text);
  }
  const { end } = structure;
  structure.take(end, JSON.stringify(end), ++number);
  yield kept(JSON.stringify(end));
}
