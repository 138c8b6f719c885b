/**
 * A worker in a process of its own, so that its memory is its alone: `ADDRESS QUEUE CADRE_HOME [CONVERSATIONS]`. With the
 * last one it keeps so many conversations and no agent at all, as the SDK keeps either none or two and more.
 */
const { createWorker } = (await import(
  new URL('../../dist/worker/index.js', import.meta.url).href
)) as typeof import('../../worker/index.ts');

const [address = '', queue = '', stateDir = '', conversations] = process.argv.slice(2);
const worker = await createWorker({
  address,
  queue,
  stateDir,
  ...(conversations === undefined
    ? {}
    : { maxCachedWorkflows: 0, maxCachedConversations: Number(conversations) }),
  graceMs: 1_000,
  onLog: (line) => console.error(line),
});
process.once('SIGTERM', () => void worker.stop());
console.log('ready');
await worker.done;
