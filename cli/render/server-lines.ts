import type { CodecServerRecord } from '../../server/codec-process.ts';
import type { ServerRecord } from '../../server/record.ts';
import { columns } from '../terminal-text.ts';

/** @param codec the codec server that runs beside it */
export function serverLines(
  server: ServerRecord,
  home: string,
  codec: Pick<CodecServerRecord, 'url' | 'keys'> | undefined,
): string {
  return columns([
    ['address', server.address],
    ['web', server.ui],
    ['codec', codecLine(server, codec)],
    ['pid', String(server.pid)],
    ['version', server.version],
    ['home', home],
  ]).join('\n');
}

/** The same for programs. */
export function codecView(
  codec: CodecServerRecord | undefined,
): { url: string; pid: number; keys: string[] } | null {
  return codec === undefined ? null : { url: codec.url, pid: codec.pid, keys: codec.keys };
}

/** What the Web UI can show, and what to do where that is not all. */
function codecLine(server: ServerRecord, codec: Pick<CodecServerRecord, 'url' | 'keys'> | undefined): string {
  if (server.codec === undefined) {
    return 'none: the server was started without; `cadre server stop`, and the next command starts it with one';
  }
  if (codec?.url !== server.codec) return `${server.codec} does not run; \`cadre server start\` starts it`;
  if (codec.keys.length > 0) return `${codec.url} with the keys ${codec.keys.join(', ')}`;
  return `${codec.url} without keys: what is encrypted stays so there until a command runs with [encryption]`;
}
