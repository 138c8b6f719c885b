import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, type TestContext, test } from 'vitest';
import { processStart } from '../../server/index.ts';
import { serverOfVersion } from '../support/grpc-server.ts';
import { freePort, stranger } from '../support/ports.ts';
import { CadreHome } from './cadre-home.ts';
import { expectNoStack, fails } from './failures.ts';

const home = new CadreHome();
afterAll(() => home.remove());

const REHEARSE = ['-c', 'model_provider=rehearsal'];
const UNREACHABLE = { code: 'temporal_unreachable', retryable: true };
const root = process.getuid?.() === 0;

/** The commands that go to Temporal, with arguments that are right. */
const COMMANDS = [
  ['run', 'hello', ...REHEARSE],
  ['ps'],
  ['status', 'a0k3v9x2m4qd7'],
  ['send', 'a0k3v9x2m4qd7', 'hello'],
  ['wait', 'a0k3v9x2m4qd7'],
  ['worker', '--queue', 'anything'],
  ['setup'],
];

describe('a server that is too old', () => {
  test.each(COMMANDS)('%s ends with 69, naming its version and the oldest that will do', async (...args) => {
    const old = await serverOfVersion('1.20.4');
    onTestFinished(() => old.close());
    const { code, error } = await fails(home, args, { env: { TEMPORAL_ADDRESS: old.address } });
    expect(code).toBe(69);
    expect(error).toMatchObject({ code: 'temporal_unreachable', retryable: false });
    expect(error.message).toContain(old.address);
    expect(error.message).toMatch(/1\.20\.4.*\d+\.\d+\.\d+ or newer/);
    expect(new Set(old.calls)).toEqual(new Set(['GetSystemInfo']));
  });

  test('doctor says so, too', async () => {
    const old = await serverOfVersion('1.20.4');
    onTestFinished(() => old.close());
    const ended = await home.run(['doctor'], { env: { TEMPORAL_ADDRESS: old.address } });
    expect(ended.code).toBe(1);
    expect(ended.stdout).toMatch(/fail +server .*1\.20\.4/);
  });
});

describe('an address of Temporal where nobody answers', () => {
  test.each(COMMANDS)('%s ends with 69 within seconds, naming the address', async (...args) => {
    const address = `127.0.0.1:${await freePort()}`;
    const begun = Date.now();
    const { code, error } = await fails(home, args, { env: { TEMPORAL_ADDRESS: address } });
    expect(Date.now() - begun).toBeLessThan(20_000);
    expect(code).toBe(69);
    expect(error).toMatchObject(UNREACHABLE);
    expect(error.message).toContain(address);
    expect(error.hint).toContain('TEMPORAL_ADDRESS');
  });

  test('one that is silent, one that speaks something else, one whose name does not exist, one that is no address', async () => {
    const silent = await stranger();
    const web = await stranger((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    try {
      const addresses = [
        `127.0.0.1:${silent.port}`,
        `127.0.0.1:${web.port}`,
        'no-such-host.invalid:7233',
        'rubbish',
      ];
      const failed = await Promise.all(addresses.map((address) => fails(home, ['ps', '--address', address])));
      for (const [index, { code, error }] of failed.entries()) {
        expect(code).toBe(69);
        expect(error).toMatchObject(UNREACHABLE);
        expect(error.message).toContain(addresses[index]);
      }
    } finally {
      await Promise.all([silent.close(), web.close()]);
    }
  });

  test('doctor says so, too', async () => {
    const TEMPORAL_ADDRESS = `127.0.0.1:${await freePort()}`;
    const ended = await home.run(['doctor', '--json'], { env: { TEMPORAL_ADDRESS } });
    expectNoStack(ended);
    expect(ended.code).toBe(1);
    const { ok, findings } = JSON.parse(ended.stdout);
    expect(ok).toBe(false);
    expect(findings).toContainEqual(
      expect.objectContaining({
        what: 'server',
        state: 'fail',
        detail: expect.stringContaining(TEMPORAL_ADDRESS),
      }),
    );
  });
});

describe('a CADRE_HOME in which nothing can be kept ends a command with 2', () => {
  const UNWRITABLE = {
    code: 2,
    error: { code: 'home_unwritable', hint: expect.stringContaining('CADRE_HOME') },
  };

  test.each([['run', 'hello', ...REHEARSE], ['ps'], ['server', 'start'], ['worker']])(
    '%s: it is a file',
    async (...args) => {
      const CADRE_HOME = join(home.root, 'file');
      writeFileSync(CADRE_HOME, '');
      const failed = await fails(home, args, { env: { CADRE_HOME } });
      expect(failed).toMatchObject(UNWRITABLE);
      expect(failed.error.message).toContain(CADRE_HOME);
    },
  );

  test('it lies below a file', async () => {
    const CADRE_HOME = join(home.root, 'below', 'deeper');
    writeFileSync(join(home.root, 'below'), '');
    expect(await fails(home, ['ps'], { env: { CADRE_HOME } })).toMatchObject(UNWRITABLE);
  });

  test('it may not be written', async (context) => {
    if (root) context.skip('root may write everywhere');
    const CADRE_HOME = join(home.root, 'locked');
    mkdirSync(CADRE_HOME, { recursive: true });
    chmodSync(CADRE_HOME, 0o500);
    expect(await fails(home, ['run', 'hello'], { env: { CADRE_HOME } })).toMatchObject(UNWRITABLE);
  });

  test('it is read-only', async (context) => {
    const CADRE_HOME = mounted(context, 'read-only', 'ro,size=1m');
    expect(await fails(home, ['run', 'hello', ...REHEARSE], { env: { CADRE_HOME } })).toMatchObject(
      UNWRITABLE,
    );
    const doctor = await home.run(['doctor'], { env: { CADRE_HOME } });
    expect(doctor).toMatchObject({ code: 1, stdout: expect.stringMatching(/fail +home .*read-only/) });
  });

  test.for(['16k', '100k', '700k'])('its disk is full (%s)', async (size, context) => {
    const CADRE_HOME = mounted(context, `full-${size}`, `size=${size}`);
    const failed = await fails(home, ['run', 'hello', ...REHEARSE], { env: { CADRE_HOME } });
    expect(failed, failed.error.message).toMatchObject(UNWRITABLE);
    expect(failed.error.message).toMatch(/full/);
  });

  test('its disk is full, and the server is another one', async (context) => {
    const { address } = await home.json<{ address: string }>(['server', 'start']);
    const CADRE_HOME = mounted(context, 'full-away', 'size=16k');
    writeFileSync(join(CADRE_HOME, 'ballast'), Buffer.alloc(16 * 1024));
    const args = ['run', 'hello', ...REHEARSE, '--address', address];
    expect(await fails(home, args, { env: { CADRE_HOME } })).toMatchObject(UNWRITABLE);
  });
});

describe('a server.json that is stale is replaced, and the command goes on', () => {
  const run = async (content: string): Promise<CadreHome> => {
    const own = new CadreHome();
    onTestFinished(() => own.remove());
    mkdirSync(own.home, { recursive: true });
    writeFileSync(join(own.home, 'server.json'), content);
    const ended = await own.run(['ps', '--json']);
    expectNoStack(ended);
    expect(ended, ended.stderr).toMatchObject({ code: 0, stdout: '{"agents":[]}\n' });
    const record = JSON.parse(readFileSync(join(own.home, 'server.json'), 'utf8'));
    expect(own.pidsBesideCodec()).toEqual([record.pid]);
    return own;
  };
  const record = (more: object) =>
    JSON.stringify({ ui: 'http://127.0.0.1:1', version: '1.32.0', started: 'then', ...more });

  test('rubbish', async () => {
    await run('{"address": "127.0.0.1:72');
  });

  test('of a process that is dead, with a port that a stranger has by now', async () => {
    const { port, close } = await stranger();
    onTestFinished(close);
    const dead = spawn('true');
    await once(dead, 'exit');
    await run(record({ pid: dead.pid, address: `127.0.0.1:${port}` }));
  });

  test('of a process that somebody else is by now, who lives on', async () => {
    const other = spawn('sleep', ['600']);
    onTestFinished(() => void other.kill('SIGKILL'));
    await once(other, 'spawn');
    await run(record({ pid: other.pid, address: `127.0.0.1:${await freePort()}` }));
    expect([other.exitCode, other.signalCode]).toEqual([null, null]);
  });

  test('of a server that was killed: what it kept is there again, also when its port is taken', async () => {
    const own = await run('');
    const before = await own.json<{ pid: number; address: string }>(['server', 'status']);
    process.kill(before.pid, 'SIGKILL');
    while ((await processStart(before.pid)) !== undefined)
      await new Promise((resolve) => setTimeout(resolve, 20));
    const [, port] = before.address.split(':');
    const taken = spawn(process.execPath, [
      '-e',
      `require("net").createServer().listen(${port}, "127.0.0.1", () => console.log(1))`,
    ]);
    onTestFinished(() => void taken.kill('SIGKILL'));
    await once(taken.stdout, 'data');
    const ended = await own.run(['ps', '--json']);
    expect(ended, ended.stderr).toMatchObject({ code: 0, stdout: '{"agents":[]}\n' });
    const after = await own.json<{ address: string }>(['server', 'status']);
    expect(after.address).not.toBe(before.address);
  });
});

/** A file system of its own for one test; where that is not allowed, the test is skipped. */
function mounted(context: TestContext, name: string, options: string): string {
  const folder = home.newFolder(name);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'pipe' });
  } catch (error) {
    context.skip(`no file system can be mounted here: ${error instanceof Error ? error.message : error}`);
  }
  onTestFinished(() => void execFileSync('umount', ['-l', folder], { stdio: 'pipe' }));
  return folder;
}
