import { resolve } from 'node:path';
import type { RoleFile } from '../../worker/roles.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { type RolesHere, rolesHere } from './known-roles.ts';

interface Finding {
  path: string;
  ok: boolean;
  /** What is wrong, or only strange, each with its path and line. */
  problems: string[];
}

/** What is wrong with role files: those given, else every one that counts here. */
export default async function check(invocation: Invocation, [files]: [string[]]): Promise<ExitCode> {
  const findings = files.length === 0 ? await allHere(invocation) : await given(files);
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

async function given(files: readonly string[]): Promise<Finding[]> {
  const { readRoleFile } = await import('../../worker/roles.ts');
  return Promise.all(
    files.map(async (file) => {
      const path = resolve(file);
      const read = await readRoleFile(path);
      return { path, ok: read.ok, problems: read.ok ? read.warnings : [read.error.message] };
    }),
  );
}

async function allHere(invocation: Invocation): Promise<Finding[]> {
  const here = await rolesHere(invocation);
  const builtin = here.roles.filter(({ origin }) => origin === 'built-in');
  return [
    ...here.files.map((file) => ({ path: file.path, ok: file.ok, problems: problemsOf(file, here) })),
    ...builtin.map(({ path }) => ({ path, ok: true, problems: [] })),
  ];
}

function problemsOf(file: RoleFile, { files, roles, trusted }: RolesHere): string[] {
  const problems = file.ok ? [...file.warnings] : [file.error.message];
  const nearest = files.find(({ name }) => name === file.name);
  if (nearest !== undefined && nearest !== file)
    problems.push(`${file.path}:1: is hidden by ${nearest.path}`);
  const bound = roles.find(({ path }) => path === file.path)?.within;
  if (bound !== undefined) {
    const why = trusted
      ? 'of a trusted project that holds for all roles that do not lie in the .cadre, .codex or .claude of its root, since commands may write elsewhere'
      : 'what a project says loosens nothing of yours until you trust it (cadre trust)';
    problems.push(
      `${file.path}:1: it takes the place of ${bound.name}, and may do no more than that: ${why}`,
    );
  }
  return problems;
}
