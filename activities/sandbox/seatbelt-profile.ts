import { join } from 'node:path';
import { foldersAbove, isWithin } from './is-within.ts';
import { PROTECTED_NAMES } from './protected-paths.ts';

/** What a command may do on macOS beside reading. All paths are absolute, with links resolved. */
export interface SeatbeltRules {
  /** May be written to, with all that is below. */
  writable: readonly string[];
  /** Of these, the folders in which the protected names stay as they are, or missing. */
  guarded: readonly string[];
  /** May not be written to, with all that is below, wherever they lie; also what is not there yet. */
  readOnly: readonly string[];
  /** Where sockets that have a file may be opened and reached. */
  sockets: readonly string[];
  network: boolean;
  hasTerminal: boolean;
}

/** A profile for `sandbox-exec -p`; the paths are in the parameters alone, for `-D NAME=VALUE`. */
export interface SeatbeltProfile {
  text: string;
  parameters: ReadonlyMap<string, string>;
}

/** What macOS leaves open under `(deny default)` is shut by name. */
const CLOSED = ['(deny default)', '(deny sysctl-read)', '(deny process-info*)', '(deny nvram*)'];

/** Programs start and read; they see and signal what runs in the same sandbox. */
const PROCESSES = [
  '(allow file-read*)',
  '(allow process-exec)',
  '(allow process-fork)',
  '(allow signal (target same-sandbox))',
  '(allow process-info* (target same-sandbox))',
];

/** About the machine. Not `kern.proc…`: by that the arguments and environments of all processes are read. */
const ABOUT_MACHINE = `(allow sysctl-read
  (sysctl-name-prefix "hw.")
  (sysctl-name-prefix "machdep.")
  (sysctl-name-prefix "vm.")
  (sysctl-name-prefix "sysctl.")
  (sysctl-name-prefix "kern.os")
  (sysctl-name-prefix "kern.max")
  (sysctl-name-prefix "kern.sysv.")
  (sysctl-name "kern.argmax")
  (sysctl-name "kern.bootargs")
  (sysctl-name "kern.boottime")
  (sysctl-name "kern.clockrate")
  (sysctl-name "kern.hostname")
  (sysctl-name "kern.ngroups")
  (sysctl-name "kern.secure_kernel")
  (sysctl-name "kern.usrstack64")
  (sysctl-name "kern.version"))
(allow mach-host*)`;

/**
 * Names of users and groups, temporary folders, the log, changes of the time zone. Nothing that starts programs, holds
 * keys, or sends events to applications: any of those would have others work for the command.
 */
const SERVICES = `(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership")
  (global-name "com.apple.bsd.dirhelper")
  (global-name "com.apple.logd")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center"))
(allow ipc-posix-shm-read* (ipc-posix-name "apple.shm.notification_center"))
(allow ipc-posix-sem)`;

/** Behind what makes folders writable. Of terminals, only those that the command opens itself. */
const DEVICES = `(deny file-write* (subpath "/dev"))
(deny file-read-data (regex #"^/dev/tty"))
(allow file-write-data (literal "/dev/null") (literal "/dev/zero") (subpath "/dev/fd"))
(allow pseudo-tty)
(allow file-read* file-write* file-ioctl (literal "/dev/ptmx"))
(allow file-read* file-write* file-ioctl
  (require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))`;

/** The one that it was given is open already; no other can be opened, so that this reaches no other. */
const TERMINAL = `(allow file-ioctl (regex #"^/dev/ttys[0-9]+$"))
(allow file-read-data file-write-data file-ioctl (literal "/dev/tty"))`;

/** With names and certificates. */
const NETWORK = `(allow network-outbound (remote ip "*:*") (literal "/private/var/run/mDNSResponder"))
(allow network-inbound (local ip "*:*"))
(allow network-bind (local ip "*:*"))
(allow system-socket
  (socket-domain AF_ROUTE)
  (require-all (socket-domain AF_SYSTEM) (socket-protocol 2)))
(allow sysctl-read (sysctl-name-prefix "net.routetable"))
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.SystemConfiguration.DNSConfiguration")
  (global-name "com.apple.trustd")
  (global-name "com.apple.trustd.agent"))`;

/**
 * Writes the profile. What is taken away stands behind what is given, and is the narrower of the two: so it wins, be it
 * that the last rule does or the closest one. Hard links cannot be made: by one, a file outside had a name inside.
 */
export function seatbeltProfile(rules: SeatbeltRules): SeatbeltProfile {
  const parameters = new Map<string, string>();
  /** Each path is matched as a parameter. */
  const matching = (filter: 'subpath' | 'literal' | 'regex', name: string, values: readonly string[]) =>
    values.map((value, index) => {
      parameters.set(`${name}_${index}`, value);
      return `(${filter} (param "${name}_${index}"))`;
    });
  const sockets = matching('subpath', 'SOCKETS', rules.sockets);
  const lines = [
    '(version 1)',
    ...CLOSED,
    ...PROCESSES,
    ABOUT_MACHINE,
    SERVICES,
    ...rule('allow file-write*', matching('subpath', 'WRITABLE', rules.writable)),
    DEVICES,
    ...(rules.hasTerminal ? [TERMINAL] : []),
    ...(rules.network ? [NETWORK] : []),
    ...(sockets.length > 0 ? ['(allow system-socket (socket-domain AF_UNIX))'] : []),
    ...sockets.flatMap((socket) => [
      `(allow network-bind network-inbound (local unix-socket ${socket}))`,
      `(allow network-outbound (remote unix-socket ${socket}))`,
    ]),
    ...rule('deny file-write*', [
      ...matching('subpath', 'READ_ONLY', rules.readOnly),
      ...matching('regex', 'NAMES', rules.guarded.map(protectedNamesIn)),
    ]),
    ...rule('deny file-write-unlink', matching('literal', 'PINNED', pinned(rules))),
  ];
  return { text: `${lines.join('\n')}\n`, parameters };
}

/** Without a filter, a rule would hold for everything. */
function rule(action: string, filters: readonly string[]): string[] {
  return filters.length === 0 ? [] : [`(${action}\n  ${filters.join('\n  ')})`];
}

/**
 * The protected names right in a folder, and all below them, as a regular expression: in capitals, too, since for most
 * disks of macOS `.GIT` is `.git`.
 */
function protectedNamesIn(folder: string): string {
  const names = PROTECTED_NAMES.map((name) =>
    escaped(name).replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`),
  );
  return `^${escaped(join(folder, '/'))}(${names.join('|')})(/|$)`;
}

function escaped(text: string): string {
  return text.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&');
}

/**
 * What may not be moved away: a rule holds for a path, and would be left behind. The writable folders themselves, or a
 * link in the place of one led the next command elsewhere, and every folder from there down to what is read-only.
 */
function pinned({ writable, guarded, readOnly }: SeatbeltRules): string[] {
  const above = [...writable, ...guarded, ...readOnly].flatMap(foldersAbove);
  const all = [...writable, ...above.filter((path) => writable.some((root) => isWithin(path, root)))];
  return [...new Set(all)];
}
