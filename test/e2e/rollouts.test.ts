import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { CadreClient } from '../../client/index.ts';
import type { AgentId, AgentView, Item, RolloutBody } from '../../protocol/index.ts';
import { Rollout } from '../../rollout/rollout.ts';
import { writeLines } from '../../rollout/write-file.ts';
import { rolloutText } from '../../rollout/write-rollout.ts';
import { ensureServer } from '../../server/index.ts';
import { CadreHome, playing, type Running } from './cadre-home.ts';
import { fails } from './failures.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

const home = new CadreHome();
/** Another person's machine. */
const other = new CadreHome();
/** A machine of workers. */
const host = new CadreHome();
const homes = [home, other, host];
beforeAll(() => {
  for (const each of homes) mkdirSync(each.folder, { recursive: true });
});
afterAll(() => Promise.all(homes.map((each) => each.remove())));

const tree = playing('tree.yaml');
/** Half a minute is usual where a session is removed as soon as it has closed. */
const GONE_WITHIN_MS = 150_000;
const SEALING = { SEALING: `k1:${randomBytes(32).toString('base64')}` };
const SEALED = ['-c', 'encryption.key_env=SEALING'];

const rolloutOf = (at: CadreHome, id: string): string => join(at.home, 'rollouts', `${id}.jsonl`);
const withoutTime = (text: string): string => text.replace(/"written_at":"[^"]*"/, '');

async function closedSession(args: string[] = [], env: Record<string, string> = {}): Promise<string> {
  const ended = await home.run(['run', 'the tree', '--json', ...tree, ...args], {
    cwd: home.newFolder('tree'),
    env,
  });
  expect(ended.code, ended.stderr).toBe(0);
  return JSON.parse(ended.stdout).session_id;
}

test('a session leaves its rollout; exported, removed and imported elsewhere it is the same, and goes on there', async () => {
  const id = await closedSession();
  const kept = rolloutOf(home, id);
  expect(statSync(kept).mode & 0o777).toBe(0o600);
  const file = join(home.root, 'session.jsonl');
  const exported = await home.json<{ agents: number; file: string }>(['export', id, '-o', file]);
  expect(exported).toMatchObject({ session_id: id, agents: 4, file, missing: [] });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  // From Temporal, as the session itself has written it.
  expect(withoutTime(readFileSync(file, 'utf8'))).toBe(withoutTime(readFileSync(kept, 'utf8')));
  const before = await home.json<{ items: Item[] }>(['items', id]);

  expect(await home.json(['rm', id])).toMatchObject({ rollout: true });
  expect(existsSync(kept)).toBe(false);
  // The server takes its time to forget what has just closed.
  const code = async () => (await home.run(['export', id])).code;
  await expect.poll(code, { timeout: GONE_WITHIN_MS, interval: 2_000 }).toBe(3);

  expect(await other.json(['import', file])).toMatchObject({ session_id: id, agents: 4, already: false });
  expect(await other.json(['import', file])).toMatchObject({ session_id: id, already: true });
  const again = await other.run(['export', id]);
  expect(again).toMatchObject({ code: 0, stdout: readFileSync(file, 'utf8') });
  const lookedAt = await fails(other, ['items', id]);
  expect(lookedAt).toMatchObject({ code: 3, error: { code: 'agent_not_found' } });
  expect(lookedAt.error.hint).toContain(`cadre resume ${id}`);

  const resumed = await other.json<{ resumed: string[] }>(['resume', id]);
  expect(resumed.resumed).toEqual([id]);
  expect((await other.json<{ items: Item[] }>(['items', id])).items).toEqual(before.items);
  const { agents } = await other.json<{ agents: AgentView[] }>(['tree', id]);
  expect(agents.map((agent) => agent.closed)).toEqual([false, true, true, true]);
  // A child that only the rollout has.
  expect(await other.json(['resume', `${id}/default-2`])).toMatchObject({
    resumed: [`${id}/default-2`],
    message: 'report of child two',
  });
  expect((await other.run(['close', id])).code).toBe(0);
  // What was not brought back is in the next rollout all the same.
  const next = await other.run(['export', id]);
  expect(JSON.parse(next.stdout.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
    type: 'end',
    agents: 4,
  });
});

test('what cannot be imported is refused with line and reason, and nothing is written', async () => {
  const id = await closedSession();
  const text = (await home.run(['export', id])).stdout;
  const lines = text.trimEnd().split('\n');
  const file = join(other.root, 'bad.jsonl');
  const cases: [string, RegExp][] = [
    [text.slice(0, text.length / 2), /bad\.jsonl cannot be used: line \d+: /],
    [lines.slice(0, -1).join('\n'), new RegExp(`line ${lines.length - 1}: the file ends here`)],
    [text.replace('"format":1', '"format":2'), /line 1: it has format 2, and this version of Cadre reads/],
    ['{"type":"session_meta","payload":{}}\n', /line 1: it is no header, so this is no rollout of Cadre/],
    [text.replace('the tree', 'the wood'), /line \d+: /],
    ['', /line 1: the file is empty/],
  ];
  for (const [content, reason] of cases) {
    writeFileSync(file, content);
    const { code, error } = await fails(other, ['import', file]);
    expect({ code, error }).toMatchObject({ code: 2, error: { code: 'rollout_invalid' } });
    expect(error.message).toMatch(reason);
    expect(existsSync(rolloutOf(other, id))).toBe(false);
  }
  for (const path of [join(other.root, 'nothing'), other.root]) {
    const { code, error } = await fails(other, ['import', path]);
    expect({ code, error }).toMatchObject({ code: 2, error: { code: 'usage' } });
  }
  await other.run(['import', file]);
  writeFileSync(file, text);
  expect((await other.run(['import', file])).code).toBe(0);
  await withoutEvents(file);
  expect(await fails(other, ['import', file])).toMatchObject({ code: 1, error: { code: 'rollout_exists' } });
  expect((await other.run(['import', file, '--replace'])).code).toBe(0);
});

/** Another rollout of the same session. */
async function withoutEvents(file: string): Promise<void> {
  const rollout = await Rollout.open(file, undefined);
  const body: RolloutBody[] = [];
  for await (const line of rollout.body()) if (line.type !== 'event') body.push(line);
  await writeLines(file, rolloutText(rollout.header, body, undefined));
}

test('a session whose processes are killed while it writes its rollout leaves no half one, and writes it later', async () => {
  const folder = join(home.home, 'rollouts');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const begun = new Promise<void>((resolve) => {
    const watcher = watch(folder, (_, name) => {
      if (name?.endsWith('.draft') !== true) return;
      home.killAll(home.pids());
      watcher.close();
      resolve();
    });
  });
  const run = home.start(['run', 'the tree', ...tree], { cwd: home.newFolder('tree') });
  const [, id = ''] = await run.says(/session (a\w{12})/);
  await begun;
  await run.ended;
  const half = readdirSync(folder).filter((name) => name.endsWith('.draft'));
  expect(half).toHaveLength(1);
  expect(existsSync(rolloutOf(home, id))).toBe(false);

  const attached = await home.run(['attach', id], { cwd: home.folder });
  expect(attached.code, attached.stderr).toBe(0);
  const text = readFileSync(rolloutOf(home, id), 'utf8');
  expect(JSON.parse(text.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({ type: 'end', agents: 4 });
  expect(withoutTime((await home.run(['export', id])).stdout)).toBe(withoutTime(text));
  for (const name of half) rmSync(join(folder, name));
});

test('with encryption nothing of it is readable at rest, or in what is exported, but with --plain', async () => {
  const id = await closedSession(SEALED, SEALING);
  const options = { env: SEALING };
  const words = /report of child|the tree|default-1/;
  const [header = '', ...rest] = readFileSync(rolloutOf(home, id), 'utf8').trimEnd().split('\n');
  expect(JSON.parse(header)).toMatchObject({ session_id: id, sealed: true });
  expect(rest.join('\n')).not.toMatch(words);
  const sealed = await home.run(['export', id, ...SEALED], options);
  expect(sealed.stdout.slice(header.length)).not.toMatch(words);
  const plain = await home.run(['export', id, '--plain', ...SEALED], options);
  expect(plain.stdout).toMatch(words);

  const file = join(other.root, 'sealed.jsonl');
  writeFileSync(file, sealed.stdout);
  const refused = await fails(other, ['import', file]);
  expect(refused).toMatchObject({ code: 2, error: { code: 'key_missing' } });
  expect(refused.error.message).toContain('k1');
  expect((await other.run(['import', file, ...SEALED], options)).code).toBe(0);
  expect(readFileSync(rolloutOf(other, id), 'utf8').slice(header.length)).not.toMatch(words);
  const again = await other.run(['export', id, '--plain', ...SEALED], options);
  expect(withoutTime(again.stdout)).toBe(withoutTime(plain.stdout));
  expect(await other.json(['resume', id, ...SEALED], options)).toMatchObject({ resumed: [id] });
});

test('workers of a queue leave rollouts where they are told to, and nowhere else', async () => {
  const directory = join(home.root, 'shared');
  const queue = ['--queue', 'team', '-c', `rollouts.directory="${directory}"`];
  const worker = home.start(['worker', ...queue]);
  await worker.says(/Working for the queue team/);
  const ended = await home.run(['run', 'the tree', '--json', ...tree, ...queue], {
    cwd: home.newFolder('queued'),
  });
  expect(ended.code, ended.stderr).toBe(0);
  const { session_id: id } = JSON.parse(ended.stdout);
  expect(existsSync(join(directory, `${id}.jsonl`))).toBe(true);
  expect(existsSync(rolloutOf(home, id))).toBe(false);
  expect(await home.json(['rm', id, ...queue])).toMatchObject({ rollout: true });
  expect(existsSync(join(directory, `${id}.jsonl`))).toBe(false);
  worker.child.kill('SIGTERM');
  await worker.ended;
});

test('one that is open is exported as it stands, and where rollouts are switched off none is written', async () => {
  const off = ['-c', 'rollouts.enabled=false'];
  const run = home.start(['run', 'listen', ...playing('listen.yaml'), ...off], {
    cwd: home.newFolder('listen'),
  });
  const [, id = ''] = await run.says(/session (a\w{12})/);
  await run.says(/shell · /);
  const agentIn = (text: string) => JSON.parse(text.split('\n')[1] ?? '{}');
  const open = await home.run(['export', id]);
  expect(agentIn(open.stdout)).toMatchObject({ type: 'agent', status: 'running', closed: false });
  run.child.kill('SIGKILL');
  await run.ended;
  expect((await home.run(['close', id])).code).toBe(0);
  expect(existsSync(rolloutOf(home, id))).toBe(false);
  expect(agentIn((await home.run(['export', id])).stdout)).toMatchObject({
    status: 'shutdown',
    closed: true,
  });
});

/** What retention does in the end: nothing of the session is left on the server. */
async function forget(address: string, id: string): Promise<void> {
  const cadre = await CadreClient.connect({ address });
  try {
    await cadre.remove(id as AgentId);
    const left = () =>
      cadre
        .get(id as AgentId)
        .describe()
        .catch((error) => error.code);
    await expect.poll(left, { timeout: GONE_WITHIN_MS, interval: 1_000 }).toBe('agent_not_found');
  } finally {
    await cadre.close();
  }
}

/** A worker of the queue on a machine that has nothing in common with whoever asks, but for a folder. */
async function workerWith(address: string, directory: string[]): Promise<Running> {
  const worker = host.start(['worker', '--queue', 'team', '--address', address, ...directory]);
  await worker.says(/Working for the queue team/);
  return worker;
}

async function stopped(worker: Running): Promise<void> {
  worker.child.kill('SIGTERM');
  expect(await worker.ended).toMatchObject({ code: 0 });
}

test('a queued session that Temporal keeps no longer comes back, is forked and goes on elsewhere, where its workers find it', async () => {
  const at = (folder: string) => ['-c', `rollouts.directory="${join(host.root, folder)}"`];
  const { address } = await ensureServer({ home: home.home });
  let worker = await workerWith(address, at('kept'));
  const id = await closedSession(['--queue', 'team']);
  const before = await home.json<{ items: Item[] }>(['items', id]);
  await forget(address, id);

  // Whoever has no rollout of it is told where one is looked for.
  const unknown = await fails(home, ['resume', id]);
  expect(unknown).toMatchObject({ code: 3, error: { code: 'agent_not_found' } });
  expect(unknown.error.hint).toContain('rollouts');
  for (const command of ['items', 'status']) {
    const { code, error } = await fails(home, [command, id, ...at('kept')]);
    expect(code).toBe(3);
    expect(error.hint).toContain(`cadre resume ${id}`);
  }
  const exported = await home.run(['export', id, ...at('kept')]);
  expect(exported.stdout).toBe(readFileSync(join(host.root, 'kept', `${id}.jsonl`), 'utf8'));

  // A worker that does not find it says so, and nothing is lost by that.
  await stopped(worker);
  mkdirSync(join(host.root, 'broken'));
  writeFileSync(join(host.root, 'broken', `${id}.jsonl`), exported.stdout.slice(0, -100));
  for (const [folder, reason] of [
    [[], /no rollout of its session lies where this worker looks for it: in .*home\/rollouts /],
    [at('wrong'), /no rollout of its session lies where this worker looks for it: in .*wrong or /],
    [at('broken'), /broken\/a\w{12}\.jsonl cannot be used: line \d+: /],
  ] as const) {
    worker = await workerWith(address, [...folder]);
    for (const command of ['resume', 'fork']) {
      const { code, error } = await fails(home, [command, id, ...at('kept')]);
      expect({ code, error }).toMatchObject({ code: 1, error: { code: 'agent_not_resumable' } });
      expect(error.message).toMatch(reason);
    }
    await stopped(worker);
  }
  // Nobody has tidied away what may yet be mended.
  expect(readdirSync(join(host.root, 'broken'))).toEqual([`${id}.jsonl`]);
  worker = await workerWith(address, at('kept'));
  const fork = await home.json<{ agent_id: string; items_carried: number }>(['fork', id, ...at('kept')]);
  expect(fork.items_carried).toBe(before.items.length);
  expect((await home.json<{ items: Item[] }>(['items', fork.agent_id])).items).toEqual(before.items);
  expect(await home.json(['resume', id, ...at('kept')])).toMatchObject({ resumed: [id], not_resumed: [] });
  expect((await home.json<{ items: Item[] }>(['items', id])).items).toEqual(before.items);
  expect(await home.json(['status', id])).toMatchObject({ status: 'completed', closed: false, turn: 1 });
  expect(await home.json(['resume', `${id}/default-1`])).toMatchObject({ message: 'report of child one' });
  expect((await home.run(['close', id])).code).toBe(0);
  await stopped(worker);

  // On another server, with another folder of the workers there.
  const file = join(home.root, 'queued.jsonl');
  writeFileSync(file, exported.stdout);
  const unheard = await other.run(['import', file, '--json']);
  expect(JSON.parse(unheard.stdout).file).toBe(rolloutOf(other, id));
  expect(unheard.stderr).toContain('[rollouts] directory');
  const there = join(host.root, 'there', `${id}.jsonl`);
  expect(await other.json(['import', file, ...at('there')])).toMatchObject({ file: there, already: false });
  const elsewhere = await ensureServer({ home: other.home });
  worker = await workerWith(elsewhere.address, at('there'));
  expect(await other.json(['resume', id, ...at('there')])).toMatchObject({ resumed: [id] });
  expect((await other.json<{ items: Item[] }>(['items', id])).items).toEqual(before.items);
  await stopped(worker);
}, 480_000);

test('a local session that Temporal keeps no longer is forked from its rollout', async () => {
  const id = await closedSession();
  const { items } = await home.json<{ items: Item[] }>(['items', id]);
  const { address } = await ensureServer({ home: home.home });
  await forget(address, id);
  const cwd = home.newFolder('fork');
  const fork = await home.json<{ agent_id: string }>(['fork', id], { cwd });
  expect(fork).toMatchObject({ forked_from: id, context_mode: 'forked', items_carried: items.length });
  expect((await home.json<{ items: Item[] }>(['items', fork.agent_id])).items).toEqual(items);
  const child = await home.json(['fork', `${id}/default-1`, '--before-message', '1', 'child anew'], { cwd });
  expect(child).toMatchObject({ context_mode: 'fresh', items_carried: 0 });
  const waited = await home.json<{ status: Record<string, unknown> }>(['wait', '--last'], { cwd });
  expect(Object.values(waited.status)).toEqual([{ completed: 'report of child anew' }]);
  const kept = readFileSync(rolloutOf(home, id));
  writeFileSync(rolloutOf(home, id), kept.subarray(0, kept.length / 2));
  for (const command of ['fork', 'resume', 'export']) {
    const broken = await fails(home, [command, id]);
    expect(broken).toMatchObject({ code: 2, error: { code: 'rollout_invalid' } });
    expect(broken.error.message).toMatch(new RegExp(`${id}\\.jsonl cannot be used: line \\d+: `));
  }
  writeFileSync(rolloutOf(home, id), kept);
  expect(await home.json(['resume', id])).toMatchObject({ resumed: [id] });
});
