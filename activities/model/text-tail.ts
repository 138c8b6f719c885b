import type { StreamedText } from '../../protocol/streamed-text.ts';

/** What is kept of a streamed text, in characters. */
const TAIL = 2_000;

/** The end of a text that streams in: what a heartbeat carries for people who follow. */
export class TextTail {
  #text = '';
  #offset = 0;

  add(piece: string): void {
    const text = this.#text + piece;
    const cut = Math.max(0, text.length - TAIL);
    this.#text = text.slice(cut);
    this.#offset += cut;
  }

  get details(): StreamedText {
    return { text: this.#text, offset: this.#offset };
  }
}
