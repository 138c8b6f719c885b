import { CadreError, type ErrorBody } from '../protocol/errors.ts';
import { EXIT, type ExitCode, exitCodeOfError } from './exit-codes.ts';

/** Any failure in the one form that is printed: as text on stderr, or as JSON on stdout. */
export interface Failure {
  body: ErrorBody;
  exitCode: ExitCode;
  /** For developers, shown with --verbose: where something unexpected came from. */
  trace?: string;
}

export function failureOf(error: unknown): Failure {
  if (error instanceof CadreError) {
    const { body } = error;
    const { cause } = error;
    const trace = cause instanceof Error ? (cause.stack ?? cause.message) : undefined;
    return { body, exitCode: exitCodeOfError(body.code), ...(trace === undefined ? {} : { trace }) };
  }
  if (isCommanderError(error)) {
    // What commander throws where a command is missing, and help would be shown instead.
    return usageFailure(error.code === 'commander.help' ? 'a command is missing' : error.message);
  }
  const body = systemFailure(error) ?? {
    code: 'internal',
    message: error instanceof Error ? error.message : String(error),
    hint: 'This was not expected. Run it again with --verbose, and report what it prints.',
    retryable: false,
  };
  const trace = error instanceof Error ? error.stack : undefined;
  return { body, exitCode: exitCodeOfError(body.code), ...(trace === undefined ? {} : { trace }) };
}

/** Errors of the command line itself, as commander words them: `error: unknown option '--x'`. */
function usageFailure(message: string): Failure {
  const [first = '', ...rest] = message
    .replace(/^error: /, '')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const suggestion = rest.map((line) => line.trim().replace(/^\((.*)\)$/, '$1')).join(' ');
  const hint =
    suggestion === '' ? '`cadre --help` and `cadre COMMAND --help` tell what there is.' : suggestion;
  return { body: { code: 'usage', message: first, hint, retryable: false }, exitCode: EXIT.usage };
}

interface CommanderFailure extends Error {
  code: string;
  exitCode: number;
}
export function isCommanderError(error: unknown): error is CommanderFailure {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    error.code.startsWith('commander.')
  );
}

const DISK = new Map([
  ['EACCES', 'may not be written'],
  ['EPERM', 'may not be written'],
  ['EROFS', 'is on a file system that is read-only'],
  ['ENOSPC', 'is on a disk that is full'],
  ['EDQUOT', 'is on a disk whose quota is used up'],
]);

/** A disk that does not take what has to be kept; whatever else the system reports is unexpected. */
function systemFailure(error: unknown): ErrorBody | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  const reason = DISK.get(String(error.code));
  if (reason === undefined) return undefined;
  const path = 'path' in error ? String(error.path) : 'the state folder';
  return {
    code: 'home_unwritable',
    message: `${path} ${reason}`,
    hint: 'Make room or give permission, or set CADRE_HOME to a folder that can be written.',
    retryable: false,
  };
}
