import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { registerSearchAttributes } from '../client/search-attributes.ts';
import { findProgram } from '../server/find.ts';
import { cacheDir } from '../server/index.ts';
import { freePort } from '../test/support/ports.ts';

export interface DevServer {
  address: string;
  close(): Promise<void>;
}

const START_MS = 30_000;
const POLL_MS = 100;

/** `temporal server start-dev` as it comes, with its database in memory or in a file. */
export async function startDevServer(database: 'memory' | 'file'): Promise<DevServer> {
  const { path } = await findProgram({ cacheDir: cacheDir() });
  const folder = mkdtempSync(join(tmpdir(), 'cadre-bench-server-'));
  const [port, uiPort] = [await freePort(), await freePort()];
  const child = spawn(
    path,
    [
      ...['server', 'start-dev', '--port', String(port), '--ui-port', String(uiPort)],
      ...['--log-level', 'error'],
      ...(database === 'file' ? ['--db-filename', 'temporal.db'] : []),
    ],
    { cwd: folder, env: { PATH: process.env.PATH, HOME: folder }, stdio: 'ignore' },
  );
  const address = `127.0.0.1:${port}`;
  const connection = await connected(address);
  // As `cadre setup` does on a server that is not Cadre's own.
  await registerSearchAttributes(connection, 'default');
  await connection.close();
  return {
    address,
    async close() {
      const ended = once(child, 'close');
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function connected(address: string): Promise<Connection> {
  for (const end = Date.now() + START_MS; ; await sleep(POLL_MS)) {
    try {
      const connection = await Connection.connect({ address, connectTimeout: 1_000 });
      await connection.workflowService.describeNamespace({ namespace: 'default' });
      return connection;
    } catch (error) {
      if (Date.now() > end) throw error;
    }
  }
}
