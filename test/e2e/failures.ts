import { expect } from 'vitest';
import { ERROR_CODES, type ErrorBody } from '../../protocol/index.ts';
import type { CadreHome, Ended, RunOptions } from './cadre-home.ts';

const STACK = /^\s+at .+(:\d+:\d+\)?|\(node:.*|<anonymous>\)?)$/m;

/** Nothing that a person sees may look like a crash. */
export function expectNoStack({ stdout, stderr }: Ended): void {
  expect(stdout).not.toMatch(STACK);
  expect(stderr).not.toMatch(STACK);
  expect(stderr).not.toMatch(/unhandled|uncaught/i);
}

export interface Failure extends Ended {
  error: Required<ErrorBody>;
  /** The whole object that was printed; beside `error` it may tell what a session came to. */
  printed: Record<string, unknown>;
}

/** Runs a command with --json that has to fail: in one whole JSON object, with everything that an error tells. */
export async function fails(home: CadreHome, args: string[], options: RunOptions = {}): Promise<Failure> {
  return failureOf(await home.run([...args, '--json'], options));
}

export function failureOf(ended: Ended): Failure {
  expectNoStack(ended);
  expect(ended.code, `${ended.stdout}\n${ended.stderr}`).not.toBe(0);
  const lines = ended.stdout.trim().split('\n');
  const printed = JSON.parse(lines.at(-1) ?? '');
  const { error } = printed;
  expect(ERROR_CODES).toContain(error.code);
  expect(error).toEqual({
    code: expect.any(String),
    message: expect.stringMatching(/\S/),
    hint: expect.any(String),
    retryable: expect.any(Boolean),
  });
  return { ...ended, error, printed };
}
