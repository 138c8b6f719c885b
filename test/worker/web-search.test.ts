import { expect, test } from 'vitest';
import type { AgentEvent } from '../../protocol/index.ts';
import { folderWith } from '../support/folders.ts';
import { withRealWorker } from './real-worker.ts';

const start = withRealWorker();
const look = { calls: [{ name: 'list_dir', arguments: { path: '.' } }] };

test.each([
  ['chat', 1],
  ['responses', 0],
] as const)('a person is told once where the model cannot have its search: %s, %i', async (wire, times) => {
  const session = await start({
    wire,
    cast: { root: [look, look, { text: 'done' }] },
    settings: { working_directory: folderWith() },
    session: { tools: { web_search: true } },
  });
  await session.root.wait();
  const events: AgentEvent[] = [];
  for await (const event of session.root.events()) {
    events.push(event);
    if (event.type === 'turn.completed') break;
  }
  const warnings = events.filter(({ type }) => type === 'warning');
  expect(warnings).toHaveLength(times);
  for (const warning of warnings) {
    expect(warning).toMatchObject({
      text: expect.stringMatching(
        /tools\.web_search is on, but test-model of the model provider local goes without it/,
      ),
    });
  }
});
