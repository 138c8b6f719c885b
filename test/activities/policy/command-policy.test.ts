import { describe, expect, test } from 'vitest';
import { decideCommand } from '../../../activities/policy/command-policy.ts';
import type { SandboxState } from '../../../activities/sandbox/detect-sandbox.ts';
import { APPROVAL_POLICIES, SANDBOX_MODES } from '../../../protocol/index.ts';

const works: SandboxState = {
  works: true,
  contain: async ({ argv }) => ({ argv: [...argv], hasNamespace: false, release: async () => [] }),
  version: '1',
};
const none: SandboxState = { works: false, reason: 'no bubblewrap', hint: 'Install it.' };

const cases = SANDBOX_MODES.flatMap((sandbox_mode) =>
  APPROVAL_POLICIES.flatMap((approval_policy) =>
    [works, none].map((sandbox) => ({ sandbox_mode, approval_policy, sandbox })),
  ),
);

describe.each(cases)('$sandbox_mode, $approval_policy, sandbox works: $sandbox.works', (where) => {
  const { sandbox_mode: mode, approval_policy: policy, sandbox } = where;
  const decide = (command: string, approved = false) =>
    decideCommand({ command, cwd: '/', approved }, where, sandbox);
  const contained = sandbox.works && mode !== 'danger-full-access';

  test('a command that only reads needs nobody', () => {
    const harmless = contained ? 'sandboxed' : 'harmless';
    const expected = mode === 'danger-full-access' && policy !== 'untrusted' ? 'free' : harmless;
    expect(decide('ls').run).toBe(expected);
    expect(decide('ls', true).run).toBe(expected);
  });

  test('any other runs by itself where it is contained or free, and the policy trusts it', () => {
    const trusted = policy !== 'untrusted';
    const { run } = decide('touch x');
    if (trusted && mode === 'danger-full-access') expect(run).toBe('free');
    else if (trusted && contained) expect(run).toBe('sandboxed');
    else expect(run).toBe('unapproved');
  });

  test('one that is allowed runs, and outside of a sandbox only where none works or none is wanted', () => {
    expect(decide('touch x', true).run).toBe(contained ? 'sandboxed' : 'free');
  });

  test('a question says whether anything would contain it', () => {
    const decision = decide('touch x');
    if (decision.run !== 'unapproved') return;
    expect(decision.contained).toBe(contained);
    expect(decision.reason.includes('nothing would contain it')).toBe(!contained);
  });
});
