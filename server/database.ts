import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where the server keeps its state, in its CADRE_HOME. */
export const DATABASE = 'temporal.db';

/**
 * To be called before a server starts. One that is killed while it creates its tables leaves a database that no server
 * can use, or, worse, only half: such a one is told by its mark and begun anew. Nothing is lost with it, as nobody was
 * told of a server that was not ready yet.
 */
export function beginDatabase(home: string): void {
  const database = join(home, DATABASE);
  if (existsSync(markOf(database))) {
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${database}${suffix}`, { force: true });
  }
  if (!existsSync(database)) {
    writeFileSync(
      markOf(database),
      'The database beside this file has never been in use: it may be incomplete.\n',
    );
  }
}

/** To be called when a server is ready, before anybody is told of it. */
export function databaseComplete(home: string): void {
  rmSync(markOf(join(home, DATABASE)), { force: true });
}

function markOf(database: string): string {
  return `${database}.incomplete`;
}
