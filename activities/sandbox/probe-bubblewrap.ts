import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { BASE_ARGUMENTS, type Bubblewrap } from './bubblewrap.ts';
import { findProgram } from './outside-path.ts';
import { firstLine } from './probe-failure.ts';
import type { NoSandbox } from './sandboxed-command.ts';

const run = promisify(execFile);

const PROBE_MS = 10_000;
const USUAL_FOLDERS = ['/usr/bin', '/usr/local/bin', '/bin', '/run/current-system/sw/bin'];
const USER_NAMESPACE = ['--unshare-user'];
/** Root keeps its rights over files that belong to others, and nothing else. */
const ROOT_RIGHTS = [
  ...['--cap-drop', 'ALL'],
  ...['--cap-add', 'CAP_DAC_OVERRIDE', '--cap-add', 'CAP_CHOWN', '--cap-add', 'CAP_FOWNER'],
];

/** Runs bubblewrap with all that a real call uses, since each part may be forbidden on its own. */
export async function probeBubblewrap(
  path = process.env.PATH ?? '',
): Promise<{ works: true; bubblewrap: Bubblewrap; version: string } | NoSandbox> {
  const program = findProgram('bwrap', path, USUAL_FOLDERS);
  if (program === undefined) {
    return { works: false, reason: 'bubblewrap is not installed', hint: installHint() };
  }
  let reason = '';
  const flavours = process.getuid?.() === 0 ? [ROOT_RIGHTS, USER_NAMESPACE] : [USER_NAMESPACE];
  for (const privileges of flavours) {
    try {
      const reported = ['--json-status-fd', '1'];
      await run(program, [...BASE_ARGUMENTS, ...privileges, ...reported, '--', 'true'], {
        timeout: PROBE_MS,
      });
      const { stdout } = await run(program, ['--version'], { timeout: PROBE_MS });
      return { works: true, bubblewrap: { program, privileges }, version: stdout.trim() };
    } catch (error) {
      reason ||= firstLine(error);
    }
  }
  return { works: false, reason: `bubblewrap does not work here (${reason})`, hint: repairHint(reason) };
}

function installHint(): string {
  return 'Install it: apt-get install bubblewrap (Debian, Ubuntu), dnf install bubblewrap (Fedora), pacman -S bubblewrap (Arch), apk add bubblewrap (Alpine).';
}

function repairHint(reason: string): string {
  if (/uid map|Permission denied|RTM_NEWADDR/.test(reason)) {
    return 'Unprivileged user namespaces seem to be restricted: install an AppArmor profile for bwrap (Ubuntu 24.04: apt-get install apparmor-profiles, then load bwrap-userns-restrict), or sysctl kernel.apparmor_restrict_unprivileged_userns=0.';
  }
  if (/namespace|Operation not permitted/.test(reason)) {
    return 'New namespaces are forbidden here: sysctl kernel.unprivileged_userns_clone=1; in a container, start it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined, or contain the whole container and use sandbox_mode = "danger-full-access".';
  }
  return 'Run bwrap --ro-bind / / --unshare-all --proc /proc --dev /dev true to see what it lacks.';
}
