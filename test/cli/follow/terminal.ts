import { EventEmitter } from 'node:events';
import type { KeyStream } from '../../../cli/follow/terminal-input.ts';
import { Output, type OutputOptions, type OutputStream } from '../../../cli/output.ts';

/** Keys that a test presses. */
export class FakeKeys extends EventEmitter implements KeyStream {
  raw = false;
  flowing = false;

  setRawMode(raw: boolean): this {
    this.raw = raw;
    return this;
  }
  resume(): this {
    this.flowing = true;
    return this;
  }
  pause(): this {
    this.flowing = false;
    return this;
  }
  press(text: string): void {
    if (this.flowing) this.emit('data', Buffer.from(text));
  }
}

/** A terminal that keeps what is written to it. */
export class FakeScreen implements OutputStream {
  readonly isTTY = true;
  columns = 100;
  rows = 40;
  written = '';

  write(text: string): boolean {
    this.written += text;
    return true;
  }
}

export function outputOn(stderr: FakeScreen, more: Partial<OutputOptions> = {}): Output {
  return new Output({
    format: 'text',
    level: 'info',
    color: 'never',
    environment: {},
    stdout: new FakeScreen(),
    stderr,
    ...more,
  });
}
