import { open } from 'node:fs/promises';

const CHUNK_BYTES = 256 * 1024;

/** What a handle names, opened: read in pieces from its beginning, as often as needed. */
export interface HandleContent {
  /** Bytes. */
  readonly size: number;
  /** Lines of JSON, whatever it looks like: a transcript. */
  readonly isJsonLines?: true;
  /** A chunk is good until the next one is asked for. */
  chunks(signal: AbortSignal): AsyncIterable<Buffer>;
  close(): Promise<void>;
}

/** @throws the error of the file system, for what is no file as well */
export async function fileContent(path: string): Promise<HandleContent> {
  const file = await open(path, 'r');
  const stats = await file.stat();
  return {
    size: stats.size,
    async *chunks(signal) {
      const chunk = Buffer.alloc(CHUNK_BYTES);
      for (let position = 0; ; ) {
        signal.throwIfAborted();
        const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, position);
        if (bytesRead === 0) return;
        position += bytesRead;
        yield chunk.subarray(0, bytesRead);
      }
    },
    close: () => file.close(),
  };
}

export function jsonLinesContent(bytes: Buffer): HandleContent {
  return {
    size: bytes.length,
    isJsonLines: true,
    async *chunks(signal) {
      for (let position = 0; position < bytes.length; position += CHUNK_BYTES) {
        signal.throwIfAborted();
        yield bytes.subarray(position, position + CHUNK_BYTES);
      }
    },
    async close() {},
  };
}

/** Its first bytes. */
export async function startOf(content: HandleContent, bytes: number, signal: AbortSignal): Promise<Buffer> {
  for await (const chunk of content.chunks(signal)) return Buffer.from(chunk.subarray(0, bytes));
  return Buffer.alloc(0);
}
