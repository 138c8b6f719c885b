import { describe, expect, test } from 'vitest';
import { type SeatbeltRules, seatbeltProfile } from '../../../activities/sandbox/seatbelt-profile.ts';
import { type Asked, allows } from './sbpl.ts';

const WORK = '/Users/me/work';
const NOTHING: SeatbeltRules = {
  writable: [],
  guarded: [],
  readOnly: [],
  sockets: [],
  network: false,
  hasTerminal: false,
};
const WORKSPACE: SeatbeltRules = {
  ...NOTHING,
  writable: ['/private/tmp', WORK],
  guarded: ['/private/tmp', WORK],
  readOnly: [`${WORK}/.git`, `${WORK}/deep/state`, '/Users/me/.cadre'],
  sockets: [WORK],
};
const CHANGES = ['file-write-create', 'file-write-data', 'file-write-unlink', 'file-write-mode'];

/** What of the changes is allowed at a path. */
function changesAt(rules: SeatbeltRules, path: string): string[] {
  const isAllowed = allows(seatbeltProfile(rules));
  return CHANGES.filter((operation) => isAllowed({ operation, path }));
}

function isAllowed(rules: SeatbeltRules, asked: Asked): boolean {
  return allows(seatbeltProfile(rules))(asked);
}

describe('whatever is opened', () => {
  test.each([NOTHING, WORKSPACE, { ...WORKSPACE, network: true, hasTerminal: true }])(
    'files are read, programs run, and nothing of others is reached',
    (rules) => {
      const may = allows(seatbeltProfile(rules));
      expect(may({ operation: 'file-read-data', path: '/Users/me/secret' })).toBe(true);
      expect(may({ operation: 'process-exec', path: '/bin/ls' })).toBe(true);
      for (const operation of ['signal', 'process-info-pidinfo']) {
        expect(may({ operation, target: 'same-sandbox' })).toBe(true);
        expect(may({ operation, target: 'others' })).toBe(false);
      }
      expect(may({ operation: 'sysctl-read', name: 'hw.ncpu' })).toBe(true);
      expect(may({ operation: 'sysctl-read', name: 'kern.procargs2' })).toBe(false);
      const library = 'com.apple.system.opendirectoryd.libinfo';
      expect(may({ operation: 'mach-lookup', name: library })).toBe(true);
      for (const name of ['com.apple.SecurityServer', 'com.apple.coreservices.launchservicesd'])
        expect(may({ operation: 'mach-lookup', name })).toBe(false);
      for (const operation of [
        'appleevent-send',
        'job-creation',
        'file-link',
        'file-mount',
        'mach-priv-task-port',
      ])
        expect(may({ operation, path: `${WORK}/x` })).toBe(false);
      expect(changesAt(rules, '/etc/hosts')).toEqual([]);
      expect(changesAt(rules, '/dev/disk0')).toEqual([]);
      expect(may({ operation: 'file-write-data', path: '/dev/null' })).toBe(true);
    },
  );

  test('the terminals of others can be neither read nor written, those that a command opens can', () => {
    for (const hasTerminal of [false, true]) {
      const may = allows(seatbeltProfile({ ...WORKSPACE, writable: ['/'], hasTerminal }));
      for (const operation of ['file-read-data', 'file-write-data']) {
        const asked = { operation, path: '/dev/ttys003' };
        expect(may(asked)).toBe(false);
        expect(may({ ...asked, extension: 'com.apple.sandbox.pty' })).toBe(true);
        expect(may({ operation, path: '/dev/tty' })).toBe(hasTerminal);
      }
      expect(may({ operation: 'file-ioctl', path: '/dev/ttys003' })).toBe(hasTerminal);
    }
  });
});

describe('writing', () => {
  test('is possible in the writable folders alone, and nowhere without any', () => {
    expect(changesAt(WORKSPACE, `${WORK}/src/a`)).toEqual(CHANGES);
    expect(changesAt(WORKSPACE, '/private/tmp/a')).toEqual(CHANGES);
    for (const path of ['/Users/me/other', `${WORK}2/a`, '/Users/me', '/private/tmpx', '/tmp/a', '/dev/sda'])
      expect(changesAt(WORKSPACE, path)).toEqual([]);
    expect(changesAt(NOTHING, `${WORK}/a`)).toEqual([]);
  });

  test.each(['.git', '.cadre', '.codex', '.claude', '.agents'])(
    'of %s in them is not, in capitals neither, there or not; such names below and similar ones are free',
    (name) => {
      for (const root of WORKSPACE.guarded) {
        for (const path of [name, name.toUpperCase(), `.${name.at(1)?.toUpperCase()}${name.slice(2)}`]) {
          expect(changesAt(WORKSPACE, `${root}/${path}`)).toEqual([]);
          expect(changesAt(WORKSPACE, `${root}/${path}/deep/file`)).toEqual([]);
        }
        expect(changesAt(WORKSPACE, `${root}/${name}ignore`)).toEqual(CHANGES);
        expect(changesAt(WORKSPACE, `${root}/x${name.slice(1)}`)).toEqual(CHANGES);
        expect(changesAt(WORKSPACE, `${root}/cloned/${name}/config`)).toEqual(CHANGES);
      }
    },
  );

  test('of what is read-only is not, and no folder on the way to it can be moved', () => {
    expect(changesAt(WORKSPACE, `${WORK}/deep/state/session`)).toEqual([]);
    expect(changesAt(WORKSPACE, `${WORK}/deep/state`)).toEqual([]);
    const without = CHANGES.filter((operation) => operation !== 'file-write-unlink');
    expect(changesAt(WORKSPACE, `${WORK}/deep`)).toEqual(without);
    expect(changesAt(WORKSPACE, WORK)).toEqual(without);
    expect(changesAt(WORKSPACE, '/private/tmp')).toEqual(without);
    expect(changesAt(WORKSPACE, `${WORK}/deep/other`)).toEqual(CHANGES);
  });

  test('a writable folder in another one cannot be moved, nor can one above it', () => {
    const inner = '/private/tmp/a/b';
    const rules = { ...WORKSPACE, writable: ['/private/tmp', inner], guarded: ['/private/tmp', inner] };
    for (const path of [inner, '/private/tmp/a'])
      expect(changesAt(rules, path)).not.toContain('file-write-unlink');
    expect(changesAt(rules, `${inner}/c`)).toEqual(CHANGES);
  });

  test('with the whole machine as writable folder stays off devices and what is protected', () => {
    const rules = { ...NOTHING, writable: ['/'], guarded: ['/'], readOnly: ['/Users/me/.cadre'] };
    expect(changesAt(rules, '/etc/hosts')).toEqual(CHANGES);
    for (const path of ['/dev/disk0', '/Users/me/.cadre/x', '/.git/config', '/.CLAUDE'])
      expect(changesAt(rules, path)).toEqual([]);
    expect(changesAt(rules, '/Users/me')).not.toContain('file-write-unlink');
  });
});

describe('the network', () => {
  const tries: Asked[] = [
    { operation: 'network-outbound', isIp: true },
    { operation: 'network-bind', isIp: true },
    { operation: 'network-inbound', isIp: true },
    { operation: 'network-outbound', path: '/private/var/run/mDNSResponder' },
    { operation: 'mach-lookup', name: 'com.apple.trustd.agent' },
  ];

  test.each(tries)('is off unless it is on: $operation $path $name', (asked) => {
    expect(isAllowed(WORKSPACE, asked)).toBe(false);
    expect(isAllowed({ ...WORKSPACE, network: true }, asked)).toBe(true);
  });

  test('sockets with a file are reached in the given folders alone, also with the network on', () => {
    for (const network of [false, true]) {
      const may = allows(seatbeltProfile({ ...WORKSPACE, network }));
      for (const operation of ['network-outbound', 'network-bind']) {
        expect(may({ operation, socket: `${WORK}/.server` })).toBe(true);
        expect(may({ operation, socket: '/private/tmp/tmux-501/default' })).toBe(false);
        expect(may({ operation, socket: '/private/var/run/docker.sock' })).toBe(false);
      }
    }
    expect(isAllowed(NOTHING, { operation: 'network-outbound', socket: `${WORK}/.server` })).toBe(false);
  });
});

test.each([
  '/w/it"s (odd) \\ ) #"',
  '/w/a=b; c',
  '/w/[x].*+?^$y{2}|z',
  '/w/ü\nnew line',
  '/w/(param "WRITABLE_0")',
])('no path gets into the text, and rules hold for just that one: %j', (odd) => {
  const rules = { ...NOTHING, writable: [odd], guarded: [odd], readOnly: [`${odd}/state`], sockets: [odd] };
  const { text, parameters } = seatbeltProfile(rules);
  const plain = { ...rules, writable: ['/w'], guarded: ['/w'], readOnly: ['/w/state'], sockets: ['/w'] };
  expect(text).toBe(seatbeltProfile(plain).text);
  expect([...parameters.values()]).toContain(odd);
  expect(changesAt(rules, `${odd}/a`)).toEqual(CHANGES);
  expect(changesAt(rules, '/w/a')).toEqual([]);
  for (const path of ['.git', '.Git/config', 'state/x'])
    expect(changesAt(rules, `${odd}/${path}`)).toEqual([]);
});
