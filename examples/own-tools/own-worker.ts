import { cadreHome, ensureServer } from 'cadre/server';
import { createWorker } from 'cadre/worker';
import { closeTicket, findTickets } from './own-tools.ts';

const { address } = await ensureServer({ home: cadreHome() });
const worker = await createWorker({
  address,
  queue: 'desk',
  stateDir: cadreHome(),
  tools: [findTickets, closeTicket],
});
console.log('working for the queue desk');
process.once('SIGTERM', () => worker.stop());
await worker.done;
