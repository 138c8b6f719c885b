import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { programSaying } from '../server/programs.ts';
import { commandLine, type Ended } from './run-cadre.ts';

/** What is found of one thing, and that nothing else went wrong on the way. */
function findingOf({ stdout, stderr }: Ended, what: string) {
  expect(stderr).not.toMatch(/^ {4}at /m);
  const { findings } = JSON.parse(stdout);
  return findings.find((finding: { what: string }) => finding.what === what);
}

test('a CADRE_HOME that is a file is a finding among the others, with the way to mend it', async () => {
  const { cadre, folder } = commandLine({ taken: 'a file' });
  const ended = await cadre(['doctor', '--json'], { CADRE_HOME: join(folder, 'taken') });
  expect(ended.code).toBe(1);
  expect(findingOf(ended, 'home')).toMatchObject({
    state: 'fail',
    detail: expect.stringContaining('it is not a folder'),
    hint: expect.stringContaining('Set CADRE_HOME'),
  });
  expect(findingOf(ended, 'sandbox')).toBeDefined();
});

test.for([
  ['500k', 'fail', 'the disk is full'],
  ['20m', 'warn', /only \d+ MB are free/],
] as const)('a disk with room for %s: %s', async ([size, state, detail], context) => {
  const { cadre, folder } = commandLine();
  const home = join(folder, 'small');
  mkdirSync(home);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', home], { stdio: 'pipe' });
  } catch {
    context.skip('no file system can be mounted here');
  }
  onTestFinished(() => void execFileSync('umount', ['-l', home], { stdio: 'pipe' }));
  const ended = await cadre(['doctor', '--json'], { CADRE_HOME: home });
  expect(ended.code).toBe(state === 'fail' ? 1 : 0);
  expect(findingOf(ended, 'home')).toMatchObject({
    state,
    detail: expect.stringMatching(detail),
    hint: expect.stringContaining('CADRE_HOME'),
  });
  expect(readdirSync(home)).toEqual([]);
});

test('keys that are not where they should be, or open to others, are findings', async () => {
  const { cadre, folder } = commandLine({
    keys: 'k1:AAAA',
    good: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  });
  const broken = await cadre(['doctor', '--json', '-c', `encryption.key_file=${join(folder, 'keys')}`]);
  expect(broken.code).toBe(1);
  expect(findingOf(broken, 'encryption')).toMatchObject({
    state: 'fail',
    detail: expect.stringContaining('has 3 bytes, not 32'),
    hint: expect.stringContaining('openssl rand'),
  });
  chmodSync(join(folder, 'good'), 0o644);
  const open = await cadre(['doctor', '--json', '-c', `encryption.key_file=${join(folder, 'good')}`]);
  expect(open.code).toBe(0);
  expect(findingOf(open, 'encryption')).toMatchObject({
    state: 'warn',
    detail: expect.stringContaining('mode 644'),
    hint: `chmod 600 ${join(folder, 'good')}`,
  });
});

test('a session that is sealed with a key which is not here is a finding', async () => {
  const record = { session_id: 'a0k3v9x2m4qd7', queue: 'q', cwd: '/', started_at: '2026-01-01T00:00:00Z' };
  const { cadre } = commandLine({
    'state/sessions/a0k3v9x2m4qd7.json': JSON.stringify({ ...record, key_ids: ['gone'] }),
  });
  const { stdout } = await cadre(['doctor', '--json']);
  const found = JSON.parse(stdout).findings.filter(
    (finding: { what: string }) => finding.what === 'encryption',
  );
  expect(found).toMatchObject([
    { state: 'ok' },
    {
      state: 'warn',
      detail: expect.stringContaining('the key gone is not here; it seals 1 session: a0k3v9x2m4qd7'),
    },
  ]);
});

test('a server that runs and does not answer is a finding, not the end of the command', async () => {
  const { cadre } = commandLine();
  const { pid } = JSON.parse((await cadre(['server', 'start', '--json'])).stdout);
  process.kill(pid, 'SIGSTOP');
  onTestFinished(() => void process.kill(pid, 'SIGCONT'));
  const ended = await cadre(['doctor', '--json']);
  expect(ended.code).toBe(1);
  expect(findingOf(ended, 'server')).toMatchObject({
    state: 'fail',
    detail: expect.stringContaining('does not answer'),
    hint: expect.stringContaining('cadre server stop'),
  });
}, 120_000);

test('a program on PATH that is too old is not said to be the one that starts', async () => {
  const { cadre, folder } = commandLine({});
  // Not where a repository or a contained command could have put it.
  const bin = mkdtempSync('/var/tmp/cadre-bin-');
  onTestFinished(() => rmSync(bin, { recursive: true, force: true }));
  const old = programSaying('temporal version 0.9.0 (Server 1.20.0, UI 2.0.0)');
  writeFileSync(join(bin, 'temporal'), old, { mode: 0o755 });
  writeFileSync(join(folder, 'none'), '');
  const PATH = `${bin}:/usr/bin:/bin`;
  const ended = await cadre(['doctor', '--json'], { PATH, CADRE_CACHE: join(folder, 'cache') });
  const { state, detail } = findingOf(ended, 'server');
  expect(state).toBe('ok');
  expect(detail).toMatch(/is brought at the first start .*\nPassing over .*temporal/);
  const blocked = await cadre(['doctor', '--json'], { PATH, CADRE_CACHE: join(folder, 'none') });
  expect(findingOf(blocked, 'server')).toMatchObject({
    state: 'fail',
    detail: expect.stringContaining('The cache cannot be written'),
    hint: expect.stringContaining('CADRE_CACHE'),
  });
  expect(existsSync(join(folder, 'state', 'server.json'))).toBe(false);
});

test('each server of tools is tried: what it offers, or why it does not', async () => {
  const small = join(import.meta.dirname, '../activities/mcp/small-server.ts');
  const server = (name: string, mode: string) =>
    `[mcp_servers.${name}]\ncommand = ${JSON.stringify(process.execPath)}\nargs = ["--no-warnings", ${JSON.stringify(small)}, "${mode}"]\n`;
  const { cadre } = commandLine({
    '.cadre/config.toml': `${server('good', 'good')}${server('bad', 'noisy-death')}`,
  });
  const ended = await cadre(['doctor', '--json']);
  expect(findingOf(ended, 'mcp good')).toMatchObject({
    state: 'ok',
    detail: expect.stringMatching(/^small 1\.0 offers \d\d tools: echo, sleep/),
  });
  expect(findingOf(ended, 'mcp bad')).toMatchObject({
    state: 'warn',
    detail: expect.stringContaining('exit code 3'),
    hint: 'Its settings: [mcp_servers.bad].',
  });
});

test.each([
  ['chat', 'warn', /small from local; tools\.web_search is on, but Chat Completions have no search/],
  ['responses', 'ok', /^small from local$/],
])('a search that the model cannot have is a finding: wire_api %s, %s', async (wire, state, detail) => {
  const { cadre } = commandLine({
    '.cadre/config.toml': `model = "small"\nmodel_provider = "local"\n[tools]\nweb_search = true\n[model_providers.local]\nbase_url = "http://127.0.0.1:9/v1"\nwire_api = "${wire}"\nmodels = ["small"]\n`,
  });
  expect(findingOf(await cadre(['doctor', '--json']), 'model')).toMatchObject({
    state,
    detail: expect.stringMatching(detail),
  });
});

test('that commands with the network on can allow what they ask for is a finding', async (context) => {
  const { cadre } = commandLine();
  const usual = findingOf(await cadre(['doctor', '--json']), 'sandbox');
  if (usual.state !== 'ok') context.skip('no sandbox works here');
  const open = findingOf(await cadre(['doctor', '--json', '-c', 'sandbox.network=true']), 'sandbox');
  expect(open).toMatchObject({
    state: 'warn',
    detail: expect.stringContaining('can allow what they ask for'),
  });
});

test('what a server of tools says of itself is nothing that the terminal obeys', async () => {
  const { cadre, folder } = commandLine({});
  writeFileSync(
    join(folder, 'loud.mjs'),
    `process.stdin.on('data', () => {}); console.error('\\x1b[2Jcannot start'); process.exitCode = 3; process.stdin.destroy();`,
  );
  const servers = `mcp_servers.loud={command="${process.execPath}", args=["${join(folder, 'loud.mjs')}"]}`;
  const { stdout } = await cadre(['doctor', '-c', servers]);
  expect(stdout).toContain('cannot start');
  expect(stdout).not.toContain('\x1b[2J');
}, 60_000);
