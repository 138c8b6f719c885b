/**
 * A worker in a process of its own, so that its memory is its alone: `ADDRESS QUEUE CADRE_HOME [AGENTS CONVERSATIONS]`, of
 * which the last two say how many it keeps in memory.
 */
const { createWorker } = (await import(
  new URL('../../dist/worker/index.js', import.meta.url).href
)) as typeof import('../../worker/index.ts');

const [address = '', queue = '', stateDir = '', agents, conversations] = process.argv.slice(2);
const worker = await createWorker({
  address,
  queue,
  stateDir,
  ...(agents === undefined
    ? {}
    : { maxCachedWorkflows: Number(agents), maxCachedConversations: Number(conversations) }),
  graceMs: 1_000,
  onLog: (line) => console.error(line),
});
// Started with --expose-gc, it tells on demand what it still holds when all garbage is collected.
process.on('SIGUSR2', async () => {
  // What is only held weakly goes with the first collection, what that held with the second.
  for (let round = 0; round < 3; round++) {
    global.gc?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  console.log(`held ${heapUsed + external}`);
});
process.once('SIGTERM', () => void worker.stop());
console.log('ready');
await worker.done;
