import { access, constants, stat } from 'node:fs/promises';
import { counted } from '../protocol/index.ts';
import { memoryFile } from './config/memory.ts';
import type { Config } from './config/schema.ts';
import type { Finding } from './finding.ts';

/** Whether agents have a memory, and where it is. */
export async function memoryFinding(config: Config, home: string): Promise<Finding> {
  const path = memoryFile(config, home);
  if (path === undefined) return { what: 'memory', state: 'ok', detail: 'off' };
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return { what: 'memory', state: 'ok', detail: `${path}, no note yet` };
  if (!found.isFile()) return unfit(path, 'is no file');
  const isOpen = await access(path, constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  );
  if (!isOpen) return unfit(path, 'may not be read and written');
  return { what: 'memory', state: 'ok', detail: `${path}, ${counted(found.size, 'byte')}` };
}

function unfit(path: string, why: string): Finding {
  const hint = 'Mend it, or name another file: [memory] path.';
  return { what: 'memory', state: 'warn', detail: `${path} ${why}: agents have no memory`, hint };
}
