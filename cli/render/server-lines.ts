import type { ServerRecord } from '../../server/record.ts';
import { columns } from '../terminal-text.ts';

export function serverLines(server: ServerRecord, home: string): string {
  return columns([
    ['address', server.address],
    ['web', server.ui],
    ['pid', String(server.pid)],
    ['version', server.version],
    ['home', home],
  ]).join('\n');
}
