import { payloadCodecs } from '../codec/data-converter.ts';
import { decodeWith } from '../codec/decode.ts';
import { payloadsFromJson, payloadsToJson } from '../codec/payloads-json.ts';
import { whySealed } from '../codec/sealed.ts';
import { CadreError, type KeyRing, missingKeyHint } from '../protocol/index.ts';
import { rolloutProblem } from './problem.ts';

/** A line that holds another one, as a payload of Temporal's that is sealed. */
const TYPE = 'sealed';
const metadata = { encoding: new TextEncoder().encode('json/plain') };

/** Seals a line with the current key, as everything is sealed that goes to Temporal. */
export async function sealLine(text: string, keys: KeyRing): Promise<string> {
  let payloads = [{ metadata, data: new TextEncoder().encode(text) }] as Parameters<typeof payloadsToJson>[0];
  for (const codec of payloadCodecs(keys)) payloads = await codec.encode([...payloads]);
  return JSON.stringify({ type: TYPE, ...payloadsToJson(payloads) });
}

/**
 * Opens a line of a rollout that is sealed.
 *
 * @throws CadreError `key_missing` that names the key, `rollout_invalid` for a line that is not sealed
 */
export async function openLine(text: string, number: number, keys: KeyRing | undefined): Promise<string> {
  const [payload] = payloadsIn(text, number);
  const [plain] = payload === undefined ? [] : await decodeWith(payloadCodecs(keys), [payload]);
  const sealed = whySealed(plain);
  if (sealed !== undefined) {
    throw new CadreError('key_missing', `line ${number}: ${sealed.reason}`, {
      hint: missingKeyHint(sealed.key_id),
    });
  }
  if (plain?.data == null) throw rolloutProblem(number, 'it is not sealed, as the header says it is');
  return new TextDecoder().decode(plain.data);
}

function payloadsIn(text: string, number: number) {
  try {
    const line = JSON.parse(text);
    if (line?.type === TYPE) return payloadsFromJson(line);
  } catch {
    // Whatever it is, it is no line that was sealed.
  }
  throw rolloutProblem(number, 'it is not sealed, as the header says it is');
}
