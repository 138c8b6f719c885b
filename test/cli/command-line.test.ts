import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commandLine } from './run-cadre.ts';

const UNKNOWN = 'a0k3v9x2m4qd7';

test('--help lists the commands and starts nothing', async () => {
  const { cadre, folder } = commandLine();
  const { code, stdout, stderr } = await cadre(['--help']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  for (const command of ['run', 'attach', 'ps', 'server', 'worker', 'doctor']) {
    expect(stdout).toMatch(new RegExp(`^ {2}${command}\\b`, 'm'));
  }
  expect(existsSync(join(folder, 'state'))).toBe(false);
});

test('no command at all prints help, --version the version', async () => {
  const { cadre } = commandLine();
  expect(await cadre([])).toMatchObject({ code: 0, stdout: expect.stringContaining('Usage: cadre') });
  expect(await cadre(['--version'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+/),
  });
});

test.each([
  [['bogus'], 2, "unknown command 'bogus'"],
  [['run', '--bogus', 'x'], 2, "unknown option '--bogus'"],
  [['run'], 2, 'The task is missing'],
  [['-c', 'modle=x', 'ps'], 2, 'did you mean model?'],
  [['--profile', 'none', 'ps'], 2, 'there is no profile none'],
  [['run', '-C', 'nowhere', 'x'], 2, 'nowhere is not a folder'],
  [['run', '-o', 'no/where.txt', 'x'], 2, 'where.txt cannot be written'],
  [['run', '--output-schema', 'none.json', 'x'], 2, '--output-schema none.json'],
  [['run', '--output-schema', '/dev/zero', 'x'], 2, '/dev/zero: it is no ordinary file'],
  [['import', '/dev/zero'], 2, '/dev/zero is a device'],
  [['run', '-c', 'model_provider=openai', 'x'], 2, 'OPENAI_API_KEY'],
  [['status', 'not an id'], 3, 'not an id'],
  [['status'], 2, "missing required argument 'id'"],
  [['send', UNKNOWN], 2, "missing required argument 'text'"],
  [['close', UNKNOWN, '--last'], 2, '--last stands for an id'],
  [['attach', '--last'], 3, 'No session was started in'],
  [['fork', UNKNOWN, '--before-message', '0'], 2, 'whole number, 1 or more'],
  [['approve', 'what?'], 3, 'There is no approval "what?"'],
  [['call', 'shell', '{}'], 2, '--agent is missing'],
  [['call', 'shell', '[1]', '--agent', UNKNOWN], 2, 'it has to be an object'],
  [['agents', 'show', 'ghost'], 3, 'There is no role "ghost"'],
  [['ps', '--address', '127.0.0.1:1'], 69, 'No Temporal server answers at 127.0.0.1:1'],
])('%j ends with %i, as text and as JSON', async (args, exitCode, message) => {
  const { cadre } = commandLine();
  const [text, json] = await Promise.all([cadre(args), cadre([...args, '--json'])]);
  expect(text).toMatchObject({ code: exitCode, stdout: '', stderr: expect.stringContaining(message) });
  expect(text.stderr).not.toMatch(/^\s+at /m);
  expect(json.code).toBe(exitCode);
  const { error } = JSON.parse(json.stdout);
  expect(Object.keys(error).sort()).toEqual(['code', 'hint', 'message', 'retryable']);
  expect(error.message).toContain(message);
});

test('-c and other common options count before the command and after it', async () => {
  const { cadre } = commandLine();
  const { stdout } = await cadre(['-c', 'model=a', '--json', 'config', '-c', 'agents.max_depth=2']);
  const { settings } = JSON.parse(stdout);
  expect(settings).toContainEqual({ key: 'model', value: 'a', origin: '-c model' });
  expect(settings).toContainEqual({ key: 'agents.max_depth', value: 2, origin: '-c agents.max_depth' });
});

test('config prints each value and where it comes from, and hides keys', async () => {
  const { cadre } = commandLine({
    '.cadre/config.toml': '[agents]\nmax_depth = 2\n[temporal]\napi_key = "top secret"\n',
  });
  const { code, stdout } = await cadre(['config'], { TEMPORAL_NAMESPACE: 'mine' });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^agents\.max_depth +2 +~\/\.cadre\/config\.toml:2$/m);
  expect(stdout).toMatch(/^temporal\.namespace +"mine" +TEMPORAL_NAMESPACE$/m);
  expect(stdout).toMatch(/^sandbox_mode +"workspace-write" +default$/m);
  expect(stdout).not.toContain('top secret');
});

test('config tells the saved rules, too, which allow commands beside those of its layers', async () => {
  const rule = { command: 'git push', folder: '/srv/app', outside_sandbox: true };
  const { cadre, folder } = commandLine({ 'state/rules.json': JSON.stringify({ allow: [rule] }) });
  const { stdout } = await cadre(['config']);
  expect(stdout).toMatch(/^saved rule +\{"command":"git push",.*"outside_sandbox":true\} +\/.*rules\.json$/m);
  const json = JSON.parse((await cadre(['config', '--json'])).stdout);
  expect(json.saved_rules).toEqual({ file: join(folder, 'state/rules.json'), rules: [rule] });
});

test('agents lists the roles, shows one under any of its names, and finds what is wrong with a file', async () => {
  const { cadre } = commandLine({
    'good.md': '---\ndescription: fine\nname: other\n---\nDo it.\n',
    'bad.md': 'no frontmatter',
  });
  const listed = JSON.parse((await cadre(['agents', '--json'])).stdout);
  expect(listed.agents).toContainEqual(
    expect.objectContaining({ name: 'explorer', aliases: ['search'], origin: 'built-in', read_only: true }),
  );
  const shown = await cadre(['agents', 'show', 'search']);
  expect(shown).toMatchObject({ code: 0, stdout: expect.stringMatching(/^name +explorer$/m) });
  expect(await cadre(['agents', 'check'])).toMatchObject({ code: 0 });
  const checked = await cadre(['agents', 'check', 'good.md', 'bad.md', 'none.md', '--json']);
  expect(checked.code).toBe(1);
  const { ok, findings } = JSON.parse(checked.stdout);
  expect({ ok, each: findings.map((finding: { ok: boolean }) => finding.ok) }).toEqual({
    ok: false,
    each: [true, false, false],
  });
  const problems = findings.flatMap((finding: { problems: string[] }) => finding.problems);
  expect(problems).toEqual([
    expect.stringContaining('the name "other" is ignored'),
    expect.stringMatching(/bad\.md:1: missing YAML frontmatter$/),
    expect.stringMatching(/none\.md:1: does not exist$/),
  ]);
});

test('doctor tells of everything, also with a broken configuration, and how to mend it', async () => {
  const { cadre } = commandLine();
  const fine = await cadre(['doctor', '--json']);
  const { ok, findings } = JSON.parse(fine.stdout);
  expect({ ok, code: fine.code }).toEqual({ ok: true, code: 0 });
  expect(findings.map((finding: { what: string }) => finding.what)).toEqual(
    expect.arrayContaining(['node', 'home', 'configuration', 'model', 'server', 'sandbox']),
  );
  const broken = await cadre(['doctor', '-c', 'modle=x']);
  expect(broken).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^fail +configuration .*did you mean model/m),
  });
  const away = await cadre(['doctor'], { TEMPORAL_ADDRESS: '127.0.0.1:1' });
  expect(away).toMatchObject({ code: 1, stdout: expect.stringMatching(/^fail +server .*127\.0\.0\.1:1/m) });
});

test('the server starts once, tells where it is, and stops', async () => {
  const { cadre } = commandLine();
  const status = async () => JSON.parse((await cadre(['server', 'status', '--json'])).stdout);
  expect(await status()).toMatchObject({ running: false });
  const started = JSON.parse((await cadre(['server', 'start', '--json'])).stdout);
  const again = JSON.parse((await cadre(['server', 'start', '--json'])).stdout);
  expect(again.pid).toBe(started.pid);
  expect(await status()).toMatchObject({ running: true, address: started.address, ui: started.ui });
  const unknown = await cadre(['status', UNKNOWN]);
  expect(unknown).toMatchObject({ code: 3, stderr: expect.stringContaining(UNKNOWN) });
  for (const args of [['ps'], ['status', UNKNOWN], ['run', 'x']]) {
    const elsewhere = await cadre([...args, '--namespace', 'nowhere']);
    expect(elsewhere).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/Namespace (not found: 'nowhere'|nowhere is not found)/),
    });
  }
  expect(await cadre(['ps', '--json'])).toMatchObject({ code: 0, stdout: '{"agents":[]}\n' });
  const waited = await cadre(['wait', UNKNOWN, '--json']);
  expect(waited.code).toBe(3);
  expect(JSON.parse(waited.stdout)).toEqual({ status: { [UNKNOWN]: 'not_found' }, timed_out: false });
  expect(await cadre(['server', 'stop', '--json'])).toMatchObject({ code: 0 });
  expect(await status()).toMatchObject({ running: false });
}, 180_000);

test('where CADRE_HOME cannot be written, that is what is said', async () => {
  const { cadre, folder } = commandLine({ taken: 'a file' });
  const { code, stderr } = await cadre(['ps'], { CADRE_HOME: join(folder, 'taken') });
  expect(code).toBe(2);
  expect(stderr).toContain(`CADRE_HOME cannot be written: ${join(folder, 'taken')}`);
});
