import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { findProgram } from '../../server/find.ts';
import { cacheDir } from '../../server/index.ts';
import { CadreHome, playing, type Running, type RunOptions } from './cadre-home.ts';
import { fails } from './failures.ts';

vi.setConfig({ testTimeout: 400_000 });

const WORD = 'xyzzymellon';
/** How a payload says that it is compressed; sealed, it says so inside. */
const COMPRESSED = 'binary/zstd';
const run = promisify(execFile);
const keys = { k1: randomBytes(32).toString('base64'), k2: randomBytes(32).toString('base64') };
/** The name says nothing of a key. */
const WITH_K1 = { SEALING: `k1:${keys.k1}` };
const SEALED = ['-c', 'encryption.key_env=SEALING'];
const ANSWER = 'report of child one; report of child two; report of child three';

let temporal = '';
beforeAll(async () => {
  temporal = (await findProgram({ cacheDir: cacheDir() })).path;
});

function newHome(): CadreHome {
  const home = new CadreHome();
  mkdirSync(home.folder, { recursive: true });
  onTestFinished(() => home.remove());
  return home;
}

/** The forms that a word may have in a file: as it is, and in base64 at each place among its three. */
function formsOf(word: string): string[] {
  const inBase64 = [0, 1, 2].map((before) => {
    const text = Buffer.from('x'.repeat(before) + word).toString('base64');
    return text.slice(before === 0 ? 0 : before + 1, text.length - 4);
  });
  return [word, ...inBase64];
}

/** The files below a folder that hold a word; what the server keeps, and what Cadre does. */
function filesWith(word: string, folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return files
    .filter((file) => {
      const content = readFileSync(join(file.parentPath, file.name));
      return formsOf(word).some((form) => content.includes(form));
    })
    .map(({ name }) => name);
}

interface Place {
  address: string;
  codec: string;
  pid: number;
  ui: string;
  codec_server: { url: string; pid: number; keys: string[] } | null;
}
const placeOf = (home: CadreHome) => home.json<Place>(['server', 'status']);

async function shown(home: CadreHome, id: string, ...more: string[]): Promise<string> {
  const { address } = await placeOf(home);
  const args = ['workflow', 'show', '-w', id, '-o', 'json', '--address', address, ...more];
  const { stdout } = await run(temporal, args, { maxBuffer: 1 << 28 });
  // Bytes stand there in base64.
  return stdout.replaceAll(/"data": "([^"]*)"/g, (_, data) => Buffer.from(data, 'base64').toString());
}

describe('what the server keeps of a session in which a word is everywhere', () => {
  const play = (home: CadreHome, more: string[], env: Record<string, string>) =>
    home.start(['run', `the task of ${WORD}`, '--json', ...playing('secret.yaml'), ...more], {
      cwd: home.folder,
      env,
    });

  test('without encryption: it stands in the database', async () => {
    const home = newHome();
    letGo(home);
    const { code, stdout } = await play(home, [], {}).ended;
    expect(code, stdout).toBe(0);
    await home.run(['server', 'stop']);
    expect(filesWith(WORD, home.home)).toContain('temporal.db');
    // In the database, or still in the log beside it.
    expect(filesWith(COMPRESSED, home.home)).toContainEqual(expect.stringMatching(/^temporal\.db/));
  });

  test('with encryption: it stands nowhere, and whoever has the key misses nothing', async () => {
    const home = newHome();
    const running = play(home, SEALED, WITH_K1);
    const [, id = ''] = await running.says(/session (a\w{12})/);
    await running.says(/default-1: shell · /);
    const options = { cwd: home.folder, env: WITH_K1 };
    // What people send while it works: update and signal arguments, reasons, a call by hand.
    const sent = [
      ['note', 'default-1', `${WORD} in a note from outside`],
      ['send', 'default-1', `${WORD} sent`],
      ['call', 'list_dir', JSON.stringify({ path: `/${WORD}` }), '--agent', id],
      ['items', 'default-1'],
    ];
    for (const args of sent) {
      const { code, stderr } = await home.run([...args, ...SEALED], options);
      expect({ args, code }, stderr).toMatchObject({ code: args[0] === 'call' ? 1 : 0 });
    }
    letGo(home);
    const { code, stdout, stderr } = await running.ended;
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout).output).toMatch(
      new RegExp(`^the end of ${WORD}: .*${WORD} is not allowed`, 's'),
    );

    // Live, with the newest pages in the log beside the database, and at rest.
    const readable = () => filesWith(WORD, home.home).filter((name) => !isHandle(home, name));
    expect(readable()).toEqual([]);
    // What is compressed shows no word of it, so a payload that went by the sealing would not be found by that.
    expect(filesWith(COMPRESSED, home.home)).toEqual([]);
    const items = await home.run(['items', id, '--json', ...SEALED], options);
    expect(items.stdout.split(WORD).length).toBeGreaterThan(300);
    const list = await home.json<{ agents: { task?: string; note?: string; role: string; model: string }[] }>(
      ['ps', '--all', ...SEALED],
      options,
    );
    expect(list.agents.map(({ task }) => task).sort()).toEqual([`child of ${WORD}`, `the task of ${WORD}`]);

    // Temporal's own program shows it where it is told of the codec server, and only there.
    const { codec } = await placeOf(home);
    expect(await shown(home, id)).not.toContain(WORD);
    expect(await shown(home, id, '--codec-endpoint', codec)).toContain(WORD);

    // No tool has got the variable, and the keys stand in no file.
    const environment = JSON.parse(
      (await home.run(['items', `${id}/default-1`, '--json', ...SEALED], options)).stdout,
    );
    expect(JSON.stringify(environment)).toContain('CADRE_HOME=');
    expect(JSON.stringify(environment)).not.toContain('SEALING');
    expect(filesWith(keys.k1, home.home)).toEqual([]);

    await home.run(['server', 'stop']);
    expect(readable()).toEqual([]);
    expect(filesWith(COMPRESSED, home.home)).toEqual([]);
    const database = readFileSync(join(home.home, 'temporal.db')).toString('latin1');
    // What lists are filtered by stays readable.
    for (const open of [id, `${id}/default-1`, 'k1']) expect(database).toContain(open);
  });
});

/** The child of the script waits for it. */
function letGo(home: CadreHome): void {
  writeFileSync(join(home.folder, 'go'), '');
}

/** Outputs that are too long for a conversation are files of the person's own, apart from the server. */
function isHandle(home: CadreHome, name: string): boolean {
  return readdirSync(join(home.home, 'handles'), { recursive: true, encoding: 'utf8' }).some((path) =>
    path.endsWith(name),
  );
}

/** A sealed session, all of whose processes are killed while a command of a child runs; its id. */
async function killedMidway(home: CadreHome, options: RunOptions): Promise<string> {
  const running = home.start(['run', 'the tree', ...playing('tree.yaml'), ...SEALED], options);
  const [, id = ''] = await running.says(/session (a\w{12})/);
  await running.says(/default-1: shell · /);
  home.killAll();
  await running.ended;
  return id;
}

describe('with encryption', () => {
  test('a session goes on after kill -9 of every process', async () => {
    const home = newHome();
    const options = { cwd: home.folder, env: WITH_K1 };
    const id = await killedMidway(home, options);
    const waited = await home.run(['wait', id, '--json', '--timeout', '150', ...SEALED], options);
    expect(JSON.parse(waited.stdout), waited.stderr).toEqual({
      status: { [id]: { completed: ANSWER } },
      timed_out: false,
    });
    const lines = readFileSync(join(home.folder, 'effects.log'), 'utf8').trim().split('\n');
    expect(new Set(lines).size).toBe(lines.length);
  });

  test('a session in the background has the key, is resumed, and is carried to a fork', async () => {
    const home = newHome();
    writeFileSync(join(home.root, 'keys'), `k1:${keys.k1}\n`);
    mkdirSync(join(home.root, '.cadre'));
    writeFileSync(join(home.root, '.cadre', 'config.toml'), '[encryption]\nkey_file = "../keys"\n');
    const options = { cwd: home.folder };
    const { stdout } = await home.run(['run', '--detach', 'the tree', ...playing('tree.yaml')], options);
    const id = stdout.trim();
    const waited = await home.json<{ status: unknown }>(['wait', id, '--timeout', '120'], options);
    expect(waited.status).toEqual({ [id]: { completed: ANSWER } });
    const resumed = await home.json<{ resumed: string[] }>(['resume', id], options);
    expect(resumed.resumed).toEqual([id]);
    const fork = await home.json<{ agent_id: string; items_carried: number }>(['fork', id], options);
    expect(fork.items_carried).toBeGreaterThan(5);
    const items = await home.json<{ total: number }>(['items', fork.agent_id], options);
    expect(items.total).toBeGreaterThanOrEqual(fork.items_carried);
    expect(filesWith('report of child', home.home)).toEqual([]);
  });

  test('keys rotate: a new one writes, the old one still reads; without the new one a command says so', async () => {
    const home = newHome();
    const cwd = home.folder;
    const first = await home.run(['run', '--json', 'the tree', ...playing('tree.yaml'), ...SEALED], {
      cwd,
      env: WITH_K1,
    });
    const { session_id: id } = JSON.parse(first.stdout);
    const both = { SEALING: `k1:${keys.k1},k2:${keys.k2}` };
    const rotated = [...SEALED, '-c', 'encryption.key_id=k2'];
    const { code } = await home.run(['resume', id, 'go on', ...rotated], { cwd, env: both });
    expect(code).toBe(0);
    expect((await home.run(['items', id, ...rotated], { cwd, env: both })).stdout).toContain('go on');
    expect((await placeOf(home)).codec_server?.keys).toEqual(['k1', 'k2']);
    for (const command of ['status', 'items', 'wait']) {
      const failure = await fails(home, [command, id, ...SEALED], { cwd, env: WITH_K1 });
      expect(failure).toMatchObject({ code: 2, error: { code: 'key_missing' } });
      expect(failure.error.message).toMatch(/the key k2, which is not here/);
    }
    expect((await home.run(['close', id, ...rotated], { cwd, env: both })).code).toBe(0);

    // Nothing is left that the old key has sealed: Temporal has forgotten it, and the rollout is of today.
    const { address } = await placeOf(home);
    const all = `WorkflowId STARTS_WITH "${id}"`;
    const withK2 = { cwd, env: { SEALING: `k2:${keys.k2}` } };
    const gone = async () => {
      // Each time: what the server lists lags behind what it keeps, and only that is deleted.
      const deletion = ['workflow', 'delete', '--address', address, '--query', all, '--yes'];
      await run(temporal, deletion).catch(() => {});
      return (await home.run(['resume', id, ...rotated], withK2)).stderr;
    };
    await expect.poll(gone, { timeout: 150_000, interval: 5_000 }).not.toMatch(/k1/);
    expect((await home.run(['status', id, '--json', ...rotated], withK2)).stdout).toContain('"closed":false');
  });
});

describe('a key that is missing', () => {
  test('is an error before anything starts that names it and where it was looked for', async () => {
    const home = newHome();
    for (const [value, message] of [
      [undefined, /key k1.*SEALING|SEALING.*key k1/],
      [randomBytes(16).toString('base64'), /key k1 .*SEALING.*16 bytes, not 32/],
      [`k2:${keys.k2}`, /key k1 .*not in .*SEALING.*holds k2/],
    ] as const) {
      const env: Record<string, string> = value === undefined ? {} : { SEALING: value };
      const args = ['run', 'x', ...playing('tree.yaml'), ...SEALED, '-c', 'encryption.key_id=k1'];
      for (const command of [args, ['server', 'start', ...SEALED, '-c', 'encryption.key_id=k1']]) {
        const failure = await fails(home, command, { env });
        expect(failure).toMatchObject({ code: 2, error: { code: 'config_invalid' } });
        expect(failure.error.message).toMatch(message);
        if (value !== undefined) expect(failure.stdout + failure.stderr).not.toContain(value);
      }
    }
    expect(existsSync(join(home.home, 'temporal.db'))).toBe(false);
    expect(home.pids()).toEqual([]);
  });

  test('loses no session: whoever lacks it says so and leaves it alone, and the next that has it goes on', async () => {
    const home = newHome();
    const options = { cwd: home.folder, env: WITH_K1 };
    const id = await killedMidway(home, options);
    const commands = [
      ['status', id],
      ['send', id, 'x'],
      ['wait', id],
      ['attach', id],
      ['close', id],
    ];
    for (const args of commands) {
      const failure = await fails(home, args, { cwd: home.folder });
      expect(failure, args[0]).toMatchObject({ code: 2, error: { code: 'key_missing' } });
      expect(failure.error.message).toContain('the key k1');
      expect(failure.error.hint).toContain('[encryption]');
    }
    const wrong = { SEALING: `k1:${keys.k2}` };
    const failure = await fails(home, ['status', id, ...SEALED], { env: wrong, cwd: home.folder });
    expect(failure).toMatchObject({ code: 2, error: { code: 'key_missing' } });
    expect(failure.error.message).toMatch(/the key k1 that is here does not open it/);
    const withWrong = { env: wrong, cwd: home.folder };
    const unread = await home.run(['ps', ...SEALED], withWrong);
    expect(unread.stdout).toMatch(new RegExp(`^${id} .*the key k1 that is here does not open it`, 'm'));
    const told = await home.json<{ findings: unknown[] }>(['doctor', ...SEALED], withWrong);
    expect(told.findings).toContainEqual(
      expect.objectContaining({ state: 'warn', detail: expect.stringMatching(`k1 that is here .*: ${id}$`) }),
    );
    const list = await home.run(['ps'], { cwd: home.folder });
    expect(list.stdout).toMatch(new RegExp(`^${id} .*sealed with the key k1, which is not here`, 'm'));

    const worker = home.start(['worker'], { cwd: home.folder });
    await worker.says(new RegExp(`session ${id} cannot be worked for: .*the key k1`));
    worker.child.kill('SIGTERM');
    expect((await worker.ended).code).toBe(0);

    const waited = await home.run(['wait', id, '--json', '--timeout', '150', ...SEALED], options);
    expect(JSON.parse(waited.stdout), waited.stderr).toMatchObject({
      status: { [id]: { completed: ANSWER } },
    });
  });

  test('on a worker of a queue ruins no session: it waits for a worker that has it', async () => {
    const home = newHome();
    const options = { cwd: home.folder, env: WITH_K1 };
    const script = playing('tree.yaml');
    const without = home.start(['worker', '--queue', 'q', '-v'], { cwd: home.folder });
    await without.says(/Working for the queue q/);
    const started = await home.run(
      ['run', '--detach', 'the tree', '--queue', 'q', ...script, ...SEALED],
      options,
    );
    const id = started.stdout.trim();
    expect(id, started.stderr).toMatch(/^a\w{12}$/);
    expect(started.stderr).toMatch(/sealed with the key k1: the workers of q need that/);
    const { findings } = await home.json<{ findings: unknown[] }>(['doctor'], { cwd: home.folder });
    expect(findings).toContainEqual(
      expect.objectContaining({ what: 'encryption', state: 'warn', detail: expect.stringContaining(id) }),
    );
    await without.says(/This worker cannot work for the agent: it is sealed with the key k1/);
    // A worker that starts now is told beforehand.
    const late = home.start(['worker', '--queue', 'q'], { cwd: home.folder });
    await late.says(
      new RegExp(`open agents of q, such as ${id}, are sealed with keys that are not here \\(k1\\)`),
    );
    for (const worker of [late, without]) {
      worker.child.kill('SIGTERM');
      expect((await worker.ended).code).toBe(0);
    }
    const worker = home.start(['worker', '--queue', 'q', ...SEALED], options);
    await worker.says(/Working for the queue q/);
    const waited = await home.run(['wait', id, '--json', '--timeout', '150', ...SEALED], options);
    expect(JSON.parse(waited.stdout), waited.stderr).toMatchObject({
      status: { [id]: { completed: ANSWER } },
    });
    worker.child.kill('SIGTERM');
    await worker.ended;
  });
});

describe('workers of one queue with other keys than each other', () => {
  const worker = async (home: CadreHome, args: string[], env: Record<string, string> = {}) => {
    const running = home.start(['worker', '--queue', 'fleet', ...args], { cwd: home.folder, env });
    await running.says(/Working for the queue fleet/);
    return running;
  };
  const stopped = async ({ child, ended }: Running) => {
    child.kill('SIGTERM');
    expect((await ended).code).toBe(0);
  };
  const begin = async (home: CadreHome, args: string[], env: Record<string, string>) => {
    const run = ['run', '--detach', 'the tree', '--queue', 'fleet', ...playing('tree.yaml'), ...args];
    return (await home.run(run, { cwd: home.newFolder('fleet'), env })).stdout.trim();
  };

  test('in the midst of a rotation, where some write with the old key and some with the new, all sessions end as ever', async () => {
    const home = newHome();
    const both = { SEALING: `k1:${keys.k1},k2:${keys.k2}` };
    const writes = (key: string) => [...SEALED, '-c', `encryption.key_id=${key}`];
    const workers = [await worker(home, writes('k1'), both), await worker(home, writes('k2'), both)];
    const ids = [await begin(home, writes('k1'), both), await begin(home, writes('k2'), both)];
    const waited = await home.json<{ status: unknown }>(
      ['wait', ...ids, '--all', '--timeout', '150', ...writes('k2')],
      { env: both },
    );
    expect(waited.status).toEqual(Object.fromEntries(ids.map((id) => [id, { completed: ANSWER }])));
    for (const each of workers) await stopped(each);
  });

  test('where one of them lacks the key, no session is lost: each comes to an end that names the key, or to its answer, and goes on without that worker', async () => {
    const home = newHome();
    const without = await worker(home, []);
    const keyed = await worker(home, SEALED, WITH_K1);
    const ids = [await begin(home, SEALED, WITH_K1), await begin(home, SEALED, WITH_K1)];
    const options = { cwd: home.folder, env: WITH_K1 };
    const waited = await home.json<{ status: Record<string, Record<string, string>> }>(
      ['wait', ...ids, '--all', '--timeout', '180', ...SEALED],
      options,
    );
    await stopped(without);
    for (const id of ids) {
      const { errored, completed } = waited.status[id] ?? {};
      expect(errored ?? completed).toMatch(/key k1|report of child one/);
      const back = await home.run(['resume', id, 'go on', ...SEALED], options);
      expect(back.code, back.stderr).toBe(0);
    }
    await stopped(keyed);
  });
});

describe('the codec server', () => {
  test('comes and goes with the embedded server, gets the keys of commands, and is started again', async () => {
    const home = newHome();
    const begun = await home.json<Place>(['server', 'start']);
    expect(begun.codec_server).toMatchObject({ url: begun.codec, keys: [] });
    expect((await home.run(['server', 'status'])).stdout).toMatch(
      /^codec +http:\S+ without keys: .*\[encryption\]$/m,
    );
    const settings = await fetch(`${begun.ui}/api/v1/settings`).then((response) => response.json());
    expect(settings).toMatchObject({ Codec: { Endpoint: begun.codec } });

    const keyed = async (found: Place) => found.codec_server?.keys.includes('k1') === true;
    await home.run(['ps', ...SEALED], { env: WITH_K1 });
    await vi.waitUntil(async () => keyed(await placeOf(home)), { timeout: 30_000, interval: 200 });
    const withKeys = await placeOf(home);
    expect(withKeys.codec_server?.url).toBe(begun.codec);
    // A command without keys does not take them from it.
    await home.run(['ps']);
    await sleep(2_000);
    expect((await placeOf(home)).codec_server).toEqual(withKeys.codec_server);

    // Another key of the same id has one of its own.
    await home.run(['ps', ...SEALED], { env: { SEALING: `k1:${keys.k2}` } });
    const replaced = async () => {
      const { codec_server: now } = await placeOf(home);
      return now?.keys.includes('k1') === true && now.pid !== withKeys.codec_server?.pid ? now : undefined;
    };
    const other = await vi.waitUntil(replaced, { timeout: 30_000, interval: 200 });
    expect(filesWith(keys.k2, home.home)).toEqual([]);

    home.killAll([other.pid]);
    expect((await home.run(['server', 'status'])).stdout).toMatch(
      /does not run; `cadre server start` starts it/,
    );
    await home.run(['ps', ...SEALED], { env: WITH_K1 });
    await vi.waitUntil(async () => keyed(await placeOf(home)), { timeout: 30_000, interval: 200 });

    expect((await home.run(['server', 'stop'])).code).toBe(0);
    expect(home.pids()).toEqual([]);
    // Its address stands in the browser's settings: it stays the same.
    const again = await home.json<Place>(['server', 'start']);
    expect(again.codec_server?.url).toBe(begun.codec);
    // Alone it has nothing to do.
    home.killAll([again.pid]);
    await vi.waitUntil(() => home.pids().length === 0, { timeout: 40_000, interval: 200 });
  });

  test('shows without encryption what is compressed, and runs by itself for another Web UI', async () => {
    const home = newHome();
    letGo(home);
    const { code, stdout } = await home.run(['run', `the task`, '--json', ...playing('secret.yaml')], {
      cwd: home.folder,
    });
    expect(code, stdout).toBe(0);
    const { session_id: id } = JSON.parse(stdout);
    const { codec } = await placeOf(home);
    const lines = `line 299 ${WORD}`;
    expect(await shown(home, id)).not.toContain(lines);
    expect(await shown(home, id, '--codec-endpoint', codec)).toContain(lines);

    const ui = 'https://temporal.example.com';
    const own = home.start(['codec-server', '--ui', ui, ...SEALED], { env: WITH_K1 });
    const [, url = ''] = await own.says(
      /Codec server at (http:\S+) with the keys k1, for https:\/\/temporal/,
    );
    const asked = await fetch(`${url}/encode`, {
      method: 'POST',
      headers: { origin: ui },
      body: '{"payloads":[{"metadata":{"encoding":"anNvbi9wbGFpbg=="},"data":"MQ=="}]}',
    });
    expect(asked.headers.get('access-control-allow-origin')).toBe(ui);
    expect(await asked.text()).toContain(Buffer.from('binary/encrypted').toString('base64'));
    own.child.kill('SIGINT');
    expect((await own.ended).code).toBe(0);
  });
});
