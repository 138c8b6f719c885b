import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applyPatch } from '../activities/tools/apply-patch.ts';
import type { Tool } from '../activities/tools/define-tool.ts';
import { grepFiles } from '../activities/tools/grep-files.ts';
import { shell } from '../activities/tools/shell.ts';
import { contextIn } from '../test/activities/tools/tool-context.ts';

interface Call {
  tool: Tool;
  args: unknown;
  /** What lies in the folder before a call. */
  prepare?(folder: string, round: number): void;
}

/** What is measured, by what a person calls it. */
export const TOOL_CALLS: Readonly<Record<string, Call>> = {
  '`shell`, a command that does nothing': { tool: shell, args: { command: 'true' } },
  '`shell`, 100,000 lines of output (4 MB), cut and stored': {
    tool: shell,
    args: { command: 'yes "one of many lines, forty bytes of it" | head -n 100000' },
  },
  '`grep_files` over 5,000 files of 80 lines (10 MB), 500 of which match': {
    tool: grepFiles,
    args: { pattern: 'needle', limit: 1_000 },
    prepare: manyFiles,
  },
  'a patch of 2,500 lines, 500 hunks in a file of 20,000 lines': {
    tool: applyPatch,
    args: { input: longPatch() },
    prepare: longFile,
  },
};

/** Milliseconds of calls of one tool alone, without a model or a server, in the sandbox where one works. */
export async function toolTimes(name: string, rounds: number): Promise<number[]> {
  const folder = mkdtempSync(join(tmpdir(), 'cadre-bench-tools-'));
  const { tool, args, prepare } = TOOL_CALLS[name] as Call;
  const context = contextIn(folder);
  const times: number[] = [];
  try {
    for (let round = 0; round <= rounds; round++) {
      prepare?.(folder, round);
      const started = performance.now();
      const result = await tool.run(tool.parameters.parse(args), context);
      times.push(performance.now() - started);
      if (typeof result !== 'string' && !result.success) throw new Error(`${name}: ${result.output}`);
    }
    // The first call finds out what works here.
    return times.slice(1);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** 5,000 files of 80 lines, 10 MB; every tenth has the word. */
function manyFiles(folder: string, round: number): void {
  if (round > 0) return;
  for (let at = 0; at < 5_000; at++) {
    const lines = Array.from({ length: 80 }, (_, line) => `line ${line} of file ${at}, hay`);
    if (at % 10 === 0) lines[40] = 'needle';
    const part = join(folder, `part-${at % 50}`);
    mkdirSync(part, { recursive: true });
    writeFileSync(join(part, `file-${at}.txt`), `${lines.join('\n')}\n`);
  }
}

function longFile(folder: string): void {
  const lines = Array.from({ length: 20_000 }, (_, line) => `line ${line}`);
  writeFileSync(join(folder, 'long.txt'), `${lines.join('\n')}\n`);
}

/** 500 hunks of five lines each. */
function longPatch(): string {
  const hunks = Array.from({ length: 500 }, (_, hunk) => {
    const line = hunk * 40;
    return ['@@', ` line ${line}`, `-line ${line + 1}`, `+changed ${line + 1}`, ` line ${line + 2}`];
  });
  return ['*** Begin Patch', '*** Update File: long.txt', ...hunks.flat(), '*** End Patch'].join('\n');
}
