import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { CadreClient } from '../../client/index.ts';
import { Gate } from '../workflows/gate.ts';
import { lines, say, spawn } from '../workflows/script.ts';
import { withWorker } from '../workflows/with-worker.ts';

const worker = withWorker();
let cadre: CadreClient;

beforeAll(async () => {
  cadre = await CadreClient.connect({ address: inject('temporalAddress') });
});
afterAll(() => cadre.close());

test('statuses() yields what lies between as well: from the line for a slot, over two turns, to the closing', async () => {
  const [slot, first, second] = [new Gate(), new Gate(), new Gate()];
  const session = await worker().start({
    limits: { max_threads: 1, when_full: 'queue' },
    script: lines({
      root: [spawn('holds the slot', 'queues'), say('ok')],
      'default-1': [() => slot.opened.then(() => say('done'))],
      'default-2': [
        () => first.opened.then(() => say('one')),
        () => second.opened.then(() => ({ fail: { code: 'model_refused', message: 'no more' } })),
      ],
    }),
  });
  await session.until('default-2', ({ waiting_for }) => waiting_for === 'slot');
  const agent = cadre.get(session.idOf('default-2'));
  const seen: string[] = [];
  for await (const { status, turn, closed } of agent.statuses()) {
    const stands = `${status} ${turn}`;
    if (seen.at(-1) !== stands) seen.push(stands);
    // Nothing goes on before it was seen.
    if (stands === 'pending_init 0') slot.open();
    if (stands === 'running 1') first.open();
    if (stands === 'completed 1') await agent.send('again');
    if (stands === 'running 2') second.open();
    if (stands === 'errored 2' && !closed) await agent.close();
  }
  // Between the input and its turn it may be seen in line again.
  expect(seen.filter((stands) => stands !== 'pending_init 1')).toEqual([
    'pending_init 0',
    'running 1',
    'completed 1',
    'running 2',
    'errored 2',
    'shutdown 2',
  ]);
});
