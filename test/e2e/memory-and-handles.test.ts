import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { Answer } from '../support/model-server.ts';
import type { SeenRequest } from '../support/wire-requests.ts';
import { CadreHome } from './cadre-home.ts';
import { call, PLAYED, PlayedModel } from './played-model.ts';

const model = new PlayedModel();
const home = new CadreHome();
const path = join(home.home, 'memory.md');
afterAll(() => home.remove());

const run = (...args: string[]) =>
  home.json<{ session_id: string; status: string; output: string }>(['run', 'go', ...PLAYED, ...args], {
    cwd: home.newFolder('memory'),
    env: model.env,
  });
/** The newest output of a tool that a model is shown. */
const lastOutput = (request: SeenRequest) => request.outputs.at(-1) ?? '';

test('what a cut left out is read by its handle, and a conversation by that of its agent', async () => {
  const seen: string[] = [];
  model.play = (request) => {
    const isRoot = !request.agent.id.includes('/');
    const root = request.agent.id;
    seen.push(`${isRoot ? 'root' : 'child'} ${lastOutput(request)}`);
    if (!isRoot) return { text: 'the child was here' };
    const [, handle = ''] =
      /stored as (h_[0-9a-f]{32}) \(handle_read reads it\)/.exec(JSON.stringify(request.items)) ?? [];
    const answers: Answer[] = [
      call('shell', { command: 'for n in $(seq 1 30000); do echo "line $n"; done' }),
      call('handle_read', { handle, range: { start: 15_000, end: 15_001 } }),
      call('handle_read', { handle, count: 'lines' }),
      call('spawn_agent', { message: 'be there' }),
      call('wait', { ids: [`${root}/default-1`], timeout_ms: 60_000 }),
      call('close_agent', { id: `${root}/default-1` }),
      call('handle_read', { handle: `transcript:${root}/default-1`, jsonpath: '$[-1:].text' }),
      call('handle_read', { handle: 'transcript:a0000000000000', introspect: true }),
      { text: 'done' },
    ];
    return answers[request.answers] ?? { text: 'too many' };
  };
  expect(await run('-s', 'danger-full-access')).toMatchObject({ status: 'completed', output: 'done' });
  const outputs = seen.filter((each) => each.startsWith('root'));
  expect(outputs[2]).toBe('root line 15000\nline 15001\n[lines 15000 to 15001]');
  expect(outputs[3]).toContain('"lines":30000');
  expect(outputs[7]).toBe('root "the child was here"\n[1 match]');
  expect(outputs[8]).toContain('handle_not_found');
});

test('what one session remembers the next one is told, also by a role that only reads; off, there is none of it', async () => {
  model.play = ({ answers }) =>
    [call('remember', { note: 'The tests are run by make check.' }), { text: 'noted' }][answers] ?? {
      text: '',
    };
  const first = await run('-c', 'memory.enabled=true', '--agent', 'explorer');
  expect(first).toMatchObject({ status: 'completed' });
  expect(readFileSync(path, 'utf8')).toMatch(/^- \d{4}-\d\d-\d\d: The tests are run by make check\.\n$/);
  const begun = model.requests.filter((request) => request.agent.id === first.session_id);
  expect(new Set(begun.map(({ instructions }) => instructions)).size, 'the same at each call').toBe(1);
  expect(begun[0]?.instructions).not.toContain('make check');
  expect(begun[0]?.tools).toContain('remember');

  model.play = () => ({ text: 'read' });
  const second = await run('-c', 'memory.enabled=true');
  const told = model.requests.find((request) => request.agent.id === second.session_id);
  expect(told?.instructions).toContain(`in ${path}, the newest last`);
  expect(told?.instructions).toMatch(/^- \d{4}-\d\d-\d\d: The tests are run by make check\.$/m);

  const third = await run();
  const off = model.requests.find((request) => request.agent.id === third.session_id);
  expect(off?.instructions).not.toContain('make check');
  expect(off?.tools).not.toContain('remember');

  const { findings } = await home.json<{ findings: { what: string; detail: string }[] }>(['doctor'], {
    env: { CADRE_MEMORY: 'on' },
  });
  expect(findings.find(({ what }) => what === 'memory')?.detail).toMatch(`${path}, `);
});
