import { CadreClient } from 'cadre';
import { cadreHome, ensureServer } from 'cadre/server';
import { createWorker } from 'cadre/worker';

const { address } = await ensureServer({ home: cadreHome() });
const worker = await createWorker({ address, queue: 'example', stateDir: cadreHome() });
const cadre = await CadreClient.connect({ address });
const agent = await cadre.start({
  task: 'survey this folder',
  queue: 'example',
  settings: { model: 'rehearsal', provider: 'rehearsal', working_directory: process.cwd() },
  session: { one_shot: true },
});
for await (const { status, message } of agent.statuses()) console.log(status, message ?? '');
await Promise.all([worker.stop(), cadre.close()]);
