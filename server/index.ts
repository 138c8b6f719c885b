export { type EnsureOptions, ensureServer } from './ensure-server.ts';
export { cacheDir, cadreHome, ensureFolder, unwritable } from './home.ts';
export { processStart } from './process-identity.ts';
export { type LockHolder, lockFreed, lockHolder, ProcessLock } from './process-lock.ts';
export type { ServerRecord } from './record.ts';
export { serverStatus, stopServer } from './stop.ts';
