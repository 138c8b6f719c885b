import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { folderWith } from '../support/folders.ts';

/** The command line as it stands in the sources. */
export const MAIN = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface CommandLine {
  /** HOME and working directory of the commands; CADRE_HOME is `state` in it. */
  folder: string;
  /** Runs `cadre` from source, in `folder` or the one of it that is named. */
  cadre(args: readonly string[], environment?: Record<string, string>, within?: string): Promise<Ended>;
}

/** What a command gets whose HOME is that folder. */
export function environmentIn(folder: string): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    CADRE_HOME: join(folder, 'state'),
    CADRE_CACHE: process.env.CADRE_CACHE ?? '',
  };
}

/** A command line with an empty HOME of its own; a server that a test has started is stopped after it. */
export function commandLine(files: Record<string, string> = {}): CommandLine {
  const folder = folderWith(files);
  const cadre = (
    args: readonly string[],
    environment: Record<string, string> = {},
    within = '.',
  ): Promise<Ended> =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [MAIN, ...args], {
        cwd: join(folder, within),
        env: { ...environmentIn(folder), ...environment },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let stdout = '';
      let stderr = '';
      child.stdout.on('data', (chunk) => {
        stdout += chunk;
      });
      child.stderr.on('data', (chunk) => {
        stderr += chunk;
      });
      child.once('error', reject);
      child.once('close', (code) => resolve({ code, stdout, stderr }));
    });
  // What is registered last runs first: the server ends before its folder goes.
  onTestFinished(async () => {
    await cadre(['server', 'stop', '--quiet']);
  });
  return { folder, cadre };
}
