import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentView, DecisionAnswer } from '../../protocol/index.ts';
import { CadreHome, playing, type Running, type RunOptions } from './cadre-home.ts';

const home = new CadreHome();
const SCRIPT = playing('ask.yaml');
const UNTRUSTED = ['-a', 'untrusted', ...SCRIPT];
/** Longer than what was typed before a question could be read. */
const READ_MS = 1_000;
const FOCUS_LOST = '\u001b[O';
const WATCHES_FOCUS = '\u001b[?1004h';
const WATCHES_NO_LONGER = '\u001b[?1004l';

beforeAll(async () => {
  mkdirSync(home.folder, { recursive: true });
  await home.run(['server', 'start']);
});
afterAll(() => home.remove());

let folders = 0;
function folder(): string {
  folders++;
  const path = join(home.folder, String(folders));
  mkdirSync(path);
  return path;
}

function onTerminal(args: string[], options: RunOptions = {}): Running {
  return home.start(args, { ...options, terminal: true });
}

/** Waits for a question and answers it. */
async function answer(running: Running, key: string): Promise<void> {
  await running.says(/s for the session/);
  await sleep(READ_MS);
  running.type(key);
}

const sessionOf = async (running: Running) => (await running.says(/session (a\w{12})/))[1] ?? '';
const shown = (running: Running) => stripVTControlCharacters(running.stdout());

test('on a terminal run asks for what a sub-agent may do, and does it when it is allowed', async () => {
  const cwd = folder();
  const watching = ['-c', 'notifications.when=unfocused'];
  const run = onTerminal(['run', 'the task', ...watching, ...UNTRUSTED], { cwd });
  const id = await sessionOf(run);
  await answer(run, 'y');
  expect((await run.ended).code).toBe(0);
  expect(shown(run)).toMatch(/default-1 \(default, shell\) asks to: touch made-by-child && echo made/);
  expect(shown(run)).toContain('approved once: touch made-by-child && echo made (default-1, shell)');
  expect(existsSync(join(cwd, 'made-by-child'))).toBe(true);
  expect(run.stdout().lastIndexOf(WATCHES_NO_LONGER)).toBeGreaterThan(
    run.stdout().lastIndexOf(WATCHES_FOCUS),
  );
  expect((await home.json<AgentView>(['status', id])).source).toEqual({ kind: 'cli' });
});

test('what is denied is not done, and the agent learns that a person said so', async () => {
  const cwd = folder();
  const run = onTerminal(['run', 'the task', ...UNTRUSTED], { cwd });
  await answer(run, 'n');
  expect((await run.ended).code).toBe(0);
  expect(shown(run)).toContain('A person denied this');
  expect(existsSync(join(cwd, 'made-by-child'))).toBe(false);
});

test('abort stops the turn that asked, and Ctrl-C at the question the turn of the root', async () => {
  const aborted = onTerminal(['run', 'the task', ...UNTRUSTED], { cwd: folder() });
  const id = await sessionOf(aborted);
  await answer(aborted, 'a');
  await aborted.ended;
  expect((await home.json<AgentView>(['status', `${id}/default-1`])).status).toBe('interrupted');

  const stopped = onTerminal(['run', 'the task', ...UNTRUSTED], { cwd: folder() });
  const other = await sessionOf(stopped);
  await stopped.says(/s for the session/);
  stopped.type('\u0003');
  await stopped.says(/answered elsewhere, or taken back/);
  const status = async () => (await home.json<AgentView>(['status', other])).status;
  await expect.poll(status, { timeout: 30_000 }).toBe('interrupted');
  await home.run(['close', other]);
  await stopped.ended;
}, 120_000);

test('a question that was answered by another command is taken back', async () => {
  const run = onTerminal(['run', 'the task', ...UNTRUSTED], { cwd: folder() });
  const id = await sessionOf(run);
  await run.says(/s for the session/);
  const listed = await home.run(['approvals', id]);
  expect(listed.stdout).toMatch(/^REQUEST +ROLE +TOOL +AGE\n/);
  expect(listed.stdout).toMatch(new RegExp(`^${id}/default-1#p1 +default +shell +\\d+m?s\\n +touch `, 'm'));
  const approved = await home.json<DecisionAnswer>(['approve', `${id}/default-1#p1`]);
  expect(approved).toMatchObject({
    approval_id: `${id}/default-1#p1`,
    asking_id: `${id}/default-1`,
    tool: 'shell',
    summary: expect.stringContaining('touch'),
    decision: 'approve',
    scope: 'once',
  });
  expect((await run.ended).code).toBe(0);
  expect(shown(run)).toContain('answered elsewhere');
});

test('--non-interactive asks nobody, also on a terminal: the call is refused at once', async () => {
  const cwd = folder();
  const run = onTerminal(['run', 'the task', '--non-interactive', ...UNTRUSTED], { cwd });
  const id = await sessionOf(run);
  expect((await run.ended).code).toBe(0);
  expect(shown(run)).toContain('nobody can be asked');
  expect(existsSync(join(cwd, 'made-by-child'))).toBe(false);
  expect((await home.json<AgentView>(['status', id])).source).toEqual({ kind: 'exec' });
});

test('without a terminal nobody is asked either', async () => {
  const { code, stdout } = await home.run(['run', 'the task', ...UNTRUSTED], { cwd: folder() });
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('nobody can be asked') });
});

test('what was detached from a terminal waits for an answer, which may come from anywhere and any time', async () => {
  const cwd = folder();
  const run = onTerminal(['run', '--detach', 'the task', ...UNTRUSTED], { cwd });
  const id = await sessionOf(run);
  expect((await run.ended).code).toBe(0);
  const waiting = async () => (await home.run(['approvals', '--last'], { cwd })).stdout;
  await expect.poll(waiting, { timeout: 60_000 }).toContain(`${id}/default-1#p1`);
  // The worker is gone, the question is not.
  home.killAll(home.pids().filter((pid) => pid !== serverPid));
  const status = await home.run(['status', 'default-1'], { cwd });
  expect(status.stdout).toMatch(new RegExp(`^approval +touch .*cadre approve ${id}/default-1#p1`, 'm'));
  const attached = onTerminal(['attach', '--last', ...SCRIPT], { cwd });
  await answer(attached, 's');
  expect((await attached.ended).code).toBe(0);
  expect(existsSync(join(cwd, 'made-by-child'))).toBe(true);
}, 150_000);

let serverPid = 0;
beforeAll(async () => {
  serverPid = (await home.json<{ pid: number }>(['server', 'status'])).pid;
});

test('a sub-agent that has ended rings a terminal that has lost the focus, and no other', async () => {
  const run = (keys: string) => {
    const running = onTerminal(['run', 'the task', '-c', 'notifications.when=unfocused', ...SCRIPT], {
      cwd: folder(),
      env: { TERM_PROGRAM: 'WezTerm' },
    });
    return running.says(/session a\w{12}/).then(async () => {
      await expect.poll(() => running.stdout(), { timeout: 20_000 }).toContain(WATCHES_FOCUS);
      running.type(keys);
      await running.ended;
      return running.stdout();
    });
  };
  const lost = await run(FOCUS_LOST);
  expect(lost).toContain('\u001b]9;agent default (a');
  expect(lost).toMatch(/\/default-1\) completed in \d+s: the child got/);
  expect(await run('x')).not.toContain('\u001b]9;');
}, 120_000);

const ALWAYS = ['-c', 'notifications.when=always'];

test.each([
  ['', [], false],
  [' that always rings', ALWAYS, true],
  [' that rings for other types alone', [...ALWAYS, '-c', 'notifications.types=["other"]'], false],
])('keys typed ahead during a run%s are left to the shell', async (_name, options, rings) => {
  const run = onTerminal(['run', 'the task', ...options, ...SCRIPT], {
    cwd: folder(),
    through: ['sh', '-c', '"$0" "$@"; read -r line; echo "the shell got $line"'],
  });
  await sessionOf(run);
  await run.says(/default-1/);
  run.type('typed ahead\n');
  expect((await run.ended).code).toBe(0);
  expect(run.stdout()).toContain('the shell got typed ahead');
  expect(run.stdout()).not.toContain(WATCHES_FOCUS);
  expect(run.stdout().includes('\u0007')).toBe(rings);
});

test('an open question holds up neither --timeout nor the end of the session', async () => {
  const late = onTerminal(['run', 'the task', '--timeout', '30', ...UNTRUSTED], { cwd: folder() });
  const id = await sessionOf(late);
  await late.says(/s for the session/);
  expect((await late.ended).code).toBe(6);
  expect(shown(late)).toContain(`still open: cadre approve|deny ${id}/default-1#p1`);
  await home.run(['close', id]);

  const closed = onTerminal(['run', 'the task', ...UNTRUSTED], { cwd: folder() });
  const other = await sessionOf(closed);
  await closed.says(/s for the session/);
  await home.run(['close', other]);
  await closed.ended;
  expect(shown(closed)).toContain('answered elsewhere, or taken back');
}, 120_000);
