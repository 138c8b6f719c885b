import { randomBytes } from 'node:crypto';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection, WorkflowClient } from '@temporalio/client';
import { afterAll, expect, test, vi } from 'vitest';
import type { Answer } from '../support/model-server.ts';
import { CadreHome } from './cadre-home.ts';
import { call, PLAYED, PlayedModel } from './played-model.ts';

vi.setConfig({ testTimeout: 180_000 });

const model = new PlayedModel();
const home = new CadreHome();
afterAll(() => home.remove());

const options = (cwd: string) => ({ cwd, env: model.env });
const run = (cwd: string, ...args: string[]) =>
  home.json<{ session_id: string; status: string; output: string }>(
    ['run', 'go', ...PLAYED, ...args],
    options(cwd),
  );
const toldTo = (id: string) => [
  ...new Set(model.requests.filter(({ agent }) => agent.id === id).map(({ instructions }) => instructions)),
];

function repository(files: Record<string, string>): string {
  const folder = home.newFolder('project');
  for (const [path, text] of Object.entries({ '.git/HEAD': '', ...files })) {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

async function historyBytes(id: string): Promise<number> {
  const { address } = await home.json<{ address: string }>(['server', 'status']);
  const connection = await Connection.connect({ address });
  try {
    const { raw } = await new WorkflowClient({ connection }).getHandle(id).describe();
    return Number(raw.workflowExecutionInfo?.historySizeBytes);
  } finally {
    await connection.close();
  }
}

test('what a project says is told to an agent once, as it was, to its children and its forks the same, and enters the history once for each', async () => {
  // Nothing that could be compressed much.
  const long = randomBytes(11_000).toString('hex');
  const folder = repository({
    'AGENTS.md': `Run make check.\n${long}`,
    'deep/CLAUDE.md': 'In deep: be brief.',
  });
  model.play = ({ agent, answers }) => {
    if (agent.id.includes('/')) return { text: 'child' };
    const steps: Answer[] = [
      call('shell', { command: 'echo "Run nothing." > ../AGENTS.md; echo "Run nothing." > CLAUDE.md' }),
      call('spawn_agent', { message: 'look', agent_type: 'explorer' }),
      call('spawn_agent', { message: 'look', agent_type: 'worker', fork_context: true }),
      call('wait', { ids: ['explorer-1', 'worker-1'], mode: 'all', timeout_ms: 60_000 }),
      ...Array.from({ length: 6 }, () => call('list_dir', { path: '.' })),
    ];
    return steps[answers] ?? { text: 'done' };
  };
  const { session_id: id, output } = await run(join(folder, 'deep'), '-s', 'danger-full-access');
  expect(output).toBe('done');
  const [root = '', ...others] = toldTo(id);
  expect(others).toEqual([]);
  expect(root).toMatch(
    /From .*project-\w+\/AGENTS\.md:\n\nRun make check\.\n[0-9a-f]{22000}\n\nFrom .*deep\/CLAUDE\.md:\n\nIn deep: be brief\./,
  );
  expect(root.split('Run make check.')).toHaveLength(2);
  const [child = ''] = toldTo(`${id}/explorer-1`);
  expect(child.split('Run make check.')).toHaveLength(2);
  expect(toldTo(`${id}/worker-1`)).toEqual([root]);
  expect(root + child).not.toContain('Run nothing.');

  // 22 KB of hexadecimal digits are 11 KB at best: once for the root, and once for each child, in what it is started with.
  const without = await run(
    join(folder, 'deep'),
    '-s',
    'danger-full-access',
    '-c',
    'project_doc_max_bytes=0',
  );
  const bytes = (await historyBytes(id)) - (await historyBytes(without.session_id));
  expect(bytes).toBeGreaterThan(3 * 11_000);
  expect(bytes).toBeLessThan(3 * 16_000);

  const forked = await home.json<{ session_id: string }>(
    ['fork', id, 'go on'],
    options(join(folder, 'deep')),
  );
  await home.run(['wait', forked.session_id, '--timeout', '60'], options(join(folder, 'deep')));
  expect(toldTo(forked.session_id)).toEqual([root.replaceAll(id, forked.session_id)]);
  // A new session reads what is there now.
  model.play = () => ({ text: 'done' });
  const later = await run(join(folder, 'deep'));
  expect(toldTo(later.session_id)[0]).toContain('Run nothing.');
});

test('what is cut or left out is told to the person and the agent; off, there is nothing; a stranger’s project cannot raise it', async () => {
  const folder = repository({
    'AGENTS.md': `${'a line of the root\n'.repeat(200)}`,
    '.cadre/config.toml': 'project_doc_max_bytes = 100000\n',
    'in/keep': '',
  });
  writeFileSync(join(home.root, 'private.md'), 'only for the person');
  symlinkSync(join(home.root, 'private.md'), join(folder, 'in/AGENTS.md'));
  model.play = () => ({ text: 'done' });
  const args = ['run', 'go', ...PLAYED];
  const cut = await home.run([...args, '-c', 'project_doc_max_bytes=1000'], options(join(folder, 'in')));
  expect(cut.code, cut.stderr).toBe(0);
  expect(cut.stderr).toMatch(
    /AGENTS\.md: agents are not told its last 28\d\d bytes \(project_doc_max_bytes\)/,
  );
  expect(cut.stderr).toMatch(/in\/AGENTS\.md was left out: it is a link that leads out of the project/);
  expect(model.requests.at(-1)?.instructions).toMatch(/28\d\d more bytes of .*AGENTS\.md left out/);
  expect(model.requests.at(-1)?.instructions).not.toContain('only for the person');

  const { settings, withheld } = await home.json<{
    settings: { key: string; value: unknown }[];
    withheld: string[];
  }>(['config'], { cwd: folder });
  expect(settings.find(({ key }) => key === 'project_doc_max_bytes')?.value).toBe(32_768);
  expect(withheld).toEqual(['project_doc_max_bytes']);
  const { session_id: off } = await run(folder, '-c', 'project_doc_max_bytes=0');
  expect(toldTo(off)[0]).not.toContain('a line of the root');
});

test('an agent that is forked into another folder is told what that says, beside the instructions that it keeps', async () => {
  const folder = repository({ 'AGENTS.md': 'Here: be brief.' });
  const other = repository({ 'AGENTS.md': 'There: be polite.' });
  model.play = ({ agent, answers }) => {
    if (agent.id.includes('/')) return { text: 'child' };
    const steps: Answer[] = [
      call('spawn_agent', {
        message: 'look',
        agent_type: 'worker',
        fork_context: true,
        working_directory: other,
      }),
      call('wait', { ids: ['worker-1'], timeout_ms: 60_000 }),
    ];
    return steps[answers] ?? { text: 'done' };
  };
  const running = home.start(['run', 'go', '--detach', ...PLAYED], { ...options(folder), terminal: true });
  const [, id = ''] = await running.says(/session (a[0-9a-z]{12})/);
  expect((await running.ended).code).toBe(0);
  // Another folder is for a person to allow.
  const allowed = async () => (await home.run(['approve', `${id}#p1`], options(folder))).code;
  await expect.poll(allowed, { timeout: 60_000 }).toBe(0);
  await home.run(['wait', id, '--timeout', '60'], options(folder));
  const [root = ''] = toldTo(id);
  expect(root).toContain('Here: be brief.');
  expect(root).not.toContain('There: be polite.');
  expect(toldTo(`${id}/worker-1`)).toEqual([root]);
  const [asked] = model.requests.filter(({ agent }) => agent.id === `${id}/worker-1`);
  expect(JSON.stringify(asked?.items).split('There: be polite.')).toHaveLength(2);
});
