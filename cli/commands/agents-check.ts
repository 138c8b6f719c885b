import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { CadreError } from '../../protocol/index.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';

interface Finding {
  path: string;
  ok: boolean;
  /** What is wrong, or only strange, each with its path and line. */
  problems: string[];
}

/** What is wrong with role files: those given, else every one that counts. */
export default async function check(invocation: Invocation, [files]: [string[]]): Promise<ExitCode> {
  const { knownRoles, parseRole } = await import('../../worker/roles.ts');
  const paths =
    files.length === 0 ? knownRoles().map(({ path }) => path) : files.map((file) => resolve(file));
  const findings = await Promise.all(
    paths.map(async (path): Promise<Finding> => {
      try {
        const { warnings } = parseRole(basename(path, '.md'), await readFile(path, 'utf8'), path);
        return { path, ok: true, problems: warnings };
      } catch (error) {
        return { path, ok: false, problems: [reasonOf(error, path)] };
      }
    }),
  );
  const ok = findings.every((finding) => finding.ok);
  invocation.output.result({ ok, findings }, () =>
    findings
      .flatMap(({ path, ok, problems }) => [
        `${ok ? 'ok  ' : 'fail'}  ${path}`,
        ...problems.map((p) => `      ${p}`),
      ])
      .join('\n'),
  );
  return ok ? EXIT.done : EXIT.errored;
}

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EISDIR: 'is a folder, not a role file',
  EACCES: 'may not be read',
};

function reasonOf(error: unknown, path: string): string {
  if (error instanceof CadreError) return error.message;
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  return `${path} ${UNREADABLE[code] ?? `cannot be read (${code})`}`;
}
