import { AsyncLocalStorage } from 'node:async_hooks';

/** Before, the context in which an error is reported need not be the one that it came from. */
const TELLS_FROM_NODE = 24;
const isTold = Number(process.versions.node.split('.')[0]) >= TELLS_FROM_NODE;
const inside = new AsyncLocalStorage<string>();

/** Runs code of a team's tool, with all that it starts and leaves behind: promises, timers, emitters. */
export function insideTool<T>(name: string, run: () => T): T {
  return inside.run(name, run);
}

/**
 * Called where an error is reported that nobody has caught: the tool whose code it comes from. Undefined for errors of
 * anything else, and where Node is too old to tell.
 */
export function toolAtFault(): string | undefined {
  return isTold ? inside.getStore() : undefined;
}
