import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { detectSandbox } from '../../../activities/sandbox/detect-sandbox.ts';
import { ApprovalNeeded } from '../../../activities/tools/approval-needed.ts';
import { shell } from '../../../activities/tools/shell.ts';
import type { AgentSettings } from '../../../protocol/index.ts';
import { folderWith } from '../../support/folders.ts';
import { contextIn } from './tool-context.ts';

vi.setConfig({ testTimeout: 60_000 });

const { works } = await detectSandbox();
const escalated = { sandbox_permissions: 'require_escalated', justification: 'the cache lies there' };

/** A file that no command in the sandbox can make, and a shell for an agent in another folder. */
function place(settings: Partial<AgentSettings> = {}) {
  const outside = mkdtempSync('/var/tmp/cadre-escalation-');
  onTestFinished(() => rmSync(outside, { recursive: true, force: true }));
  const folder = realpathSync(folderWith());
  const file = join(outside, 'made');
  const run = async (args: object, more: { approved?: boolean; approvalRules?: object[] } = {}) =>
    shell.run(shell.parameters.parse({ command: `touch ${file}`, ...args }), {
      ...contextIn(folder, { settings, approved: more.approved ?? false }),
      ...(more.approvalRules === undefined ? {} : { approvalRules: more.approvalRules as never }),
    });
  const asked = async (args: object): Promise<ApprovalNeeded> => {
    const error = await run(args).catch((error: unknown) => error);
    if (!(error instanceof ApprovalNeeded)) throw new Error(`nobody was asked: ${JSON.stringify(error)}`);
    return error;
  };
  return { folder, file, run, asked };
}

test.skipIf(!works)(
  'a command runs outside the sandbox when the model asks for it and a person allows it, and not before',
  async () => {
    const { folder, file, run, asked } = place();
    expect(await run({})).toMatchObject({ success: false });
    const { need } = await asked(escalated);
    expect(need.reason).toBe(
      'it asks to run outside the sandbox, where nothing would contain it: the cache lies there',
    );
    expect(need.rule).toEqual({
      command: `touch ${file}`,
      folder,
      sandbox_mode: 'workspace-write',
      outside_sandbox: true,
    });
    expect(existsSync(file)).toBe(false);
    expect(await run(escalated, { approved: true })).toMatchObject({ success: true });
    expect(existsSync(file)).toBe(true);
  },
);

test.skipIf(!works)(
  'by a rule it does where the rule says so; one that does not lets nothing out',
  async () => {
    const { file, run } = place();
    const rule = { command: `touch ${file}` };
    await expect(run(escalated, { approvalRules: [rule] })).rejects.toBeInstanceOf(ApprovalNeeded);
    await run({}, { approvalRules: [{ ...rule, outside_sandbox: true }] });
    expect(existsSync(file)).toBe(false);
    await run(escalated, { approvalRules: [{ ...rule, outside_sandbox: true }] });
    expect(existsSync(file)).toBe(true);
  },
);

test('an answer holds for the very text that runs: a blank that is none to a shell makes it another question', async () => {
  const { asked } = place();
  const keyOf = async (command: string) => (await asked({ ...escalated, command })).need.key;
  const plain = await keyOf('/bin/true');
  for (const other of ['\u00a0/bin/true', '/bin/true\r', '\ufeff/bin/true']) {
    expect(await keyOf(other)).not.toBe(plain);
  }
  const { need } = await asked({ ...escalated, command: '\u00a0/bin/true' });
  expect(need).toMatchObject({ summary: '\\u{a0}/bin/true' });
  expect(need.rule).toBeUndefined();
});

test.skipIf(!works)(
  'what runs outside, by a rule or an answer, is no program that the repository or a command in the sandbox has made',
  async () => {
    const { folder, file } = place();
    const own = join(dirname(file), 'bin');
    const planted = [join(folder, 'bin'), join(folder, 'node_modules/.bin')];
    for (const [bin, text] of [[own, 'own'], ...planted.map((bin) => [bin, 'planted'])] as const) {
      mkdirSync(bin as string, { recursive: true });
      writeFileSync(join(bin as string, 'deploy'), `#!/bin/sh\necho ${text}\n`, { mode: 0o755 });
    }
    writeFileSync(join(folder, 'first'), 'echo planted\n');
    const environment = {
      PATH: [...planted, '.', '', own, '/usr/bin', '/bin'].join(':'),
      BASH_ENV: join(folder, 'first'),
      HOME: folder,
    };
    const deploy = async (args: object, more: object) => {
      const context = contextIn(folder, { environment });
      const answer = await shell.run(shell.parameters.parse({ command: 'deploy', ...args }), {
        ...context,
        ...more,
      });
      return typeof answer === 'string' ? answer : answer.output;
    };
    const rule = { command: 'deploy', outside_sandbox: true as const };
    for (const more of [{ approvalRules: [rule] }, { approved: true }])
      expect(await deploy(escalated, more)).toMatch(/\nown\n$/);
    // Inside the sandbox PATH is what it was.
    expect(await deploy({}, {})).toMatch(/planted/);
  },
);

test('under the policy never, and where nobody can be asked, it is refused', async () => {
  const { asked } = place();
  const needed = await asked(escalated);
  expect(needed.refusal({ nonInteractive: false, policy: 'never' })?.code).toBe('approval_denied');
  expect(needed.refusal({ nonInteractive: true, policy: 'on-request' })?.code).toBe('approval_unavailable');
});

test('an agent whose role only reads cannot ask, and nobody can without a reason', async () => {
  const reader = place({ tool_policy: { allow: [], deny: [], read_only: true }, sandbox_mode: 'read-only' });
  await expect(reader.run(escalated, { approved: true })).rejects.toMatchObject({ code: 'not_permitted' });
  const { run } = place();
  await expect(run({ ...escalated, justification: undefined })).rejects.toMatchObject({
    code: 'invalid_arguments',
    message: expect.stringContaining('justification'),
  });
});

test('where there is no sandbox to leave, and for what only reads, nobody is asked', async () => {
  const { file, run } = place({ sandbox_mode: 'danger-full-access' });
  await run({ sandbox_permissions: 'require_escalated' });
  expect(existsSync(file)).toBe(true);
  expect(await place().run({ ...escalated, command: 'ls' })).toMatchObject({ success: true });
});
