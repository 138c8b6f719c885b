import { withNulShown } from '../with-nul-shown.ts';

/** More is never shown. */
const KEPT = 2_000;
/** Shorter values stand in texts by chance. */
const LEAST_SECRET = 6;

/** The end of what a server wrote to its error output, without the keys that it was given. */
export class StderrTail {
  #text = '';
  readonly #secrets: readonly string[];

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets.filter((secret) => secret.length >= LEAST_SECRET);
  }

  add(chunk: Buffer): void {
    // A key may be cut in two at the border of a chunk: what is kept is hidden as a whole.
    this.#text = (this.#text + chunk.toString()).slice(-2 * KEPT);
  }

  get text(): string {
    return withNulShown(withoutKeys(this.#text, this.#secrets).slice(-KEPT)).trim();
  }
}

/** A text of a server in which no key stands that it was given. */
export function withoutKeys(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret.length >= LEAST_SECRET)
    .reduce((shown, secret) => shown.replaceAll(secret, '(hidden)'), text);
}
