import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import type { Approval } from '../../protocol/index.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { CadreHome, type Running } from './cadre-home.ts';
import { fails } from './failures.ts';

vi.setConfig({ testTimeout: 180_000 });

const home = new CadreHome();
const rules = join(home.home, 'rules.json');
/** What the model of a session runs, one after the other. */
let commands: (string | object)[] = [];
let model: ModelServer;

beforeAll(async () => {
  model = await startModelServer(
    ({ answers }) => {
      const command = commands[answers];
      if (command === undefined) return { text: 'done' };
      return { calls: [{ name: 'shell', arguments: typeof command === 'string' ? { command } : command }] };
    },
    { models: ['small'] },
  );
});
afterAll(async () => {
  await home.remove();
  await model.close();
});

const UNTRUSTED = ['-c', 'model=small', '-c', 'approval_policy=untrusted'];
const options = (cwd: string) => ({ cwd, env: { OPENAI_BASE_URL: model.url } });
const sessionOf = async (running: Running) => (await running.says(/session (a\w{12})/))[1] ?? '';
/** Runs a session that can ask nobody; which of its commands did what they were for. */
async function runAlone(cwd: string, run: (string | object)[], ...more: string[]) {
  commands = run;
  const seen = model.requests.length;
  const ended = await home.run(['run', 'go', '--non-interactive', ...UNTRUSTED, ...more], options(cwd));
  return { ...ended, outputs: model.requests.slice(seen).flatMap(({ outputs }) => outputs) };
}

test('an answer with --always holds for this session and for later ones, in that folder, for that command', async () => {
  const cwd = home.newFolder('rules');
  commands = ['touch first', 'touch first', 'touch second'];
  const run = home.start(['run', '--detach', 'go', ...UNTRUSTED], { ...options(cwd), terminal: true });
  const id = await sessionOf(run);
  expect((await run.ended).code).toBe(0);
  const open = async () => (await home.json<{ approvals: Approval[] }>(['approvals', id])).approvals;
  await expect
    .poll(async () => (await open()).map(({ summary }) => summary), { timeout: 60_000 })
    .toEqual(['touch first']);
  const answered = await home.json<{ saved: object; scope: string }>(['approve', `${id}#p1`, '--always']);
  const rule = { command: 'touch first', folder: cwd, sandbox_mode: 'workspace-write' };
  expect(answered).toMatchObject({ scope: 'session', saved: { rule, file: rules } });
  expect(JSON.parse(readFileSync(rules, 'utf8'))).toEqual({ allow: [rule] });
  expect(statSync(rules).mode & 0o777).toBe(0o600);
  // The second time it was not asked; another command is.
  await expect
    .poll(async () => (await open()).map(({ summary }) => summary), { timeout: 60_000 })
    .toEqual(['touch second']);
  await home.run(['deny', `${id}#p3`]);
  await home.run(['wait', id]);
  rmSync(join(cwd, 'first'));

  const later = await runAlone(cwd, ['touch first', 'touch first second']);
  expect(existsSync(join(cwd, 'first')), later.stderr).toBe(true);
  expect(later.outputs[0]).toContain('exit code 0');
  expect(later.outputs[1]).toContain('approval_unavailable');
  const elsewhere = home.newFolder('rules');
  expect((await runAlone(elsewhere, ['touch first'])).outputs[0]).toContain('approval_unavailable');
  const reading = await runAlone(cwd, ['touch first'], '-s', 'read-only');
  expect(reading.outputs[0]).toContain('approval_unavailable');
});

test('what no rule can say is not approved by --always, and a file of rules that is broken lets nothing pass', async () => {
  const cwd = home.newFolder('rules');
  commands = ['touch a > b', 'touch c'];
  const run = home.start(['run', 'go', ...UNTRUSTED], { ...options(cwd), terminal: true });
  const id = await sessionOf(run);
  await run.says(/asks to/);
  const { code, error } = await fails(home, ['approve', `${id}#p1`, '--always']);
  expect({ code, said: error.message }).toMatchObject({
    code: 2,
    said: expect.stringContaining('nothing was decided'),
  });
  await home.run(['approve', `${id}#p1`]);
  await run.says(/asks to[\s\S]*asks to/);
  writeFileSync(rules, '{"allow": ["touch c"]}');
  const failed = await fails(home, ['approve', `${id}#p2`, '--always']);
  expect(failed.error.message).toMatch(
    /allowed for this session, and no rule was saved.*rules\.json is broken/,
  );
  expect((await run.ended).code).toBe(0);
  expect(existsSync(join(cwd, 'c'))).toBe(true);
  const later = await runAlone(cwd, ['touch d']);
  expect(later.stderr).toMatch(/rules\.json is broken, so none of the saved rules holds/);
  expect(later.outputs[0]).toContain('approval_unavailable');
  rmSync(rules);
});

test('at the terminal r saves the rule, and tells what was written', async () => {
  const cwd = home.newFolder('rules');
  commands = ["touch 'a b'"];
  const run = home.start(['run', 'go', ...UNTRUSTED], { ...options(cwd), terminal: true });
  await run.says(/r always, by a rule/);
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  run.type('r');
  expect((await run.ended).code).toBe(0);
  expect(stripVTControlCharacters(run.stdout())).toContain(`saved for later sessions: touch 'a b' in ${cwd}`);
  expect(JSON.parse(readFileSync(rules, 'utf8')).allow).toMatchObject([
    { command: "touch 'a b'", folder: cwd },
  ]);
});

test('rules of the configuration hold on the words of a command; those of a cloned repository only once it is trusted', async () => {
  const cwd = home.newFolder('rules');
  mkdirSync(join(cwd, '.git'));
  mkdirSync(join(cwd, '.cadre'));
  const config = join(cwd, '.cadre/config.toml');
  writeFileSync(config, '[approvals]\nallow = ["touch *"]\n');
  const run = ['touch one two', 'touch three; rm one', 'X=1 touch four', 'touch', 'touch "$HOME"'];
  const made = () => ['one', 'two', 'three', 'four'].filter((name) => existsSync(join(cwd, name)));
  const stranger = await runAlone(cwd, run);
  expect(stranger.stderr).toMatch(/ignored approvals\.allow: .*cadre trust/);
  expect(made()).toEqual([]);
  const own = await runAlone(cwd, run, '-c', 'approvals.allow=["touch *"]');
  expect(own.code, own.stderr).toBe(0);
  expect(made()).toEqual(['one', 'two']);
  rmSync(join(cwd, 'one'));
  await home.run(['trust'], { cwd });
  const trusted = await runAlone(cwd, run);
  expect(trusted.stderr).not.toContain('ignored');
  expect(made()).toEqual(['one', 'two']);

  writeFileSync(config, '[approvals]\nallow = ["npm test", "npm test && rm x"]\n');
  await home.run(['trust', '--revoke'], { cwd });
  const { error, code } = await fails(home, ['config', '-c', 'approvals.allow=["a", "b; c"]'], { cwd });
  expect(code).toBe(2);
  expect(error.message).toMatch(/approvals\.allow\.1: no rule: it is more than one command/);
});

test('a model asks to leave the sandbox: a person reads why, and by --always the same is allowed later, and nothing else', async () => {
  const cwd = home.newFolder('escalation');
  const outside = mkdtempSync('/var/tmp/cadre-escalation-');
  onTestFinished(() => rmSync(outside, { recursive: true, force: true }));
  const made = join(outside, 'made');
  const command = `touch ${made}`;
  const escalated = {
    command,
    sandbox_permissions: 'require_escalated',
    justification: 'the cache lies there',
  };
  const args = ['run', 'go', '-c', 'model=small'];
  commands = [command, escalated];
  const run = home.start(args, { ...options(cwd), terminal: true });
  const id = await sessionOf(run);
  await run.says(
    /why: it asks to run outside the sandbox, where nothing would contain it: the cache lies there/,
  );
  expect(existsSync(made)).toBe(false);
  const { saved } = await home.json<{ saved: object }>(['approve', `${id}#p1`, '--always']);
  expect(saved).toMatchObject({ rule: { command, folder: cwd, outside_sandbox: true } });
  expect((await run.ended).code).toBe(0);
  expect(existsSync(made)).toBe(true);

  const alone = async (each: object, ...more: string[]) => {
    rmSync(made, { force: true });
    commands = [each];
    await home.run([...args, '--non-interactive', ...more], options(cwd));
    return existsSync(made);
  };
  expect(await alone(escalated)).toBe(true);
  expect(await alone({ command })).toBe(false);
  expect(await alone({ ...escalated, command: `touch ${made} ${made}` })).toBe(false);
  expect(await alone(escalated, '--agent', 'explorer')).toBe(false);
  rmSync(rules);
  expect(await alone(escalated, '-a', 'never')).toBe(false);
});
