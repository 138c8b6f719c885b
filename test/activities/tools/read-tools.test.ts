import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Tool } from '../../../activities/tools/define-tool.ts';
import { grepFiles } from '../../../activities/tools/grep-files.ts';
import { listDir } from '../../../activities/tools/list-dir.ts';
import { readFile } from '../../../activities/tools/read-file.ts';
import { onPath } from '../../../activities/tools/ripgrep.ts';
import { viewImage } from '../../../activities/tools/view-image.ts';
import { agentSettingsSchema } from '../../../protocol/index.ts';
import { contextIn } from './tool-context.ts';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 60_000 });

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cadre-read-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const at = (...parts: string[]) => join(folder, ...parts);

async function run(tool: Tool, args: Record<string, unknown>, limit?: number): Promise<string> {
  const limits = agentSettingsSchema.shape.limits.parse({
    ...(limit === undefined ? {} : { tool_output_limit: limit }),
  });
  const result = await tool.run(tool.parameters.parse(args), contextIn(folder, { settings: { limits } }));
  return typeof result === 'string' ? result : result.output;
}

describe('read_file', () => {
  test('shows lines with their numbers, from an offset on', async () => {
    writeFileSync(at('a.txt'), 'one\ntwo\nthree\n');
    expect(await run(readFile, { path: 'a.txt' })).toBe('1\tone\n2\ttwo\n3\tthree');
    expect(await run(readFile, { path: at('a.txt'), offset: 2, limit: 1 })).toBe(
      '2\ttwo\n[more lines follow: go on with offset 3]',
    );
  });

  test('a last line without its newline, an empty file and a file of one newline are told apart', async () => {
    writeFileSync(at('a.txt'), 'one\ntwo');
    writeFileSync(at('empty.txt'), '');
    writeFileSync(at('newline.txt'), '\n');
    expect(await run(readFile, { path: 'a.txt' })).toBe('1\tone\n2\ttwo');
    expect(await run(readFile, { path: 'empty.txt' })).toBe('[empty.txt is empty]');
    // One line, and it is blank.
    expect(await run(readFile, { path: 'newline.txt' })).toBe('1\t');
  });

  test('CRLF, a byte order mark, NUL and invalid UTF-8 are read and named', async () => {
    writeFileSync(at('crlf.txt'), '\ufeffone\r\ntwo\r\n');
    expect(await run(readFile, { path: 'crlf.txt' })).toBe('1\tone\n2\ttwo\n[lines end with CRLF]');
    writeFileSync(at('odd.txt'), Buffer.from('plain text a\xff b\0c, and more of it', 'latin1'));
    expect(await run(readFile, { path: 'odd.txt' })).toBe('1\tplain text a\ufffd b\u2400c, and more of it');
  });

  test('binary data, folders and missing files are refused with a way on', async () => {
    writeFileSync(at('x.bin'), Buffer.alloc(1_000));
    await expect(run(readFile, { path: 'x.bin' })).rejects.toThrow('binary data (1000 bytes)');
    await expect(run(readFile, { path: '.' })).rejects.toMatchObject({ hint: 'Use list_dir.' });
    await expect(run(readFile, { path: 'none' })).rejects.toMatchObject({
      code: 'tool_failed',
      message: expect.stringContaining('does not exist'),
    });
    writeFileSync(at('a.txt'), 'one\n');
    await expect(run(readFile, { path: 'a.txt/b' })).rejects.toThrow('not a folder');
    await expect(run(readFile, { path: 'a.txt', offset: 9 })).rejects.toThrow(
      'has 1 line; there is no line 9',
    );
    await expect(run(readFile, { path: 'x'.repeat(5_000) })).rejects.toThrow('too long a name');
    symlinkSync('loop', at('loop'));
    await expect(run(readFile, { path: 'loop' })).rejects.toThrow('too many links');
  });

  test('a huge line and a huge file are read in part, and the part says so', async () => {
    writeFileSync(at('line.txt'), `${'x'.repeat(3_000_000)}\nend\n`);
    const line = await run(readFile, { path: 'line.txt' });
    expect(line).toMatch(/^1\tx{4000} \[… 2996000 more bytes in this line …\]\n2\tend$/);
    for (let i = 0; i < 100; i++) appendFileSync(at('big.txt'), `${'y'.repeat(99)}\n`.repeat(1_000));
    const big = await run(readFile, { path: 'big.txt', offset: 90_000 });
    expect(big.startsWith('90000\ty')).toBe(true);
    expect(Buffer.byteLength(big)).toBeLessThan(40_000);
    const next = Number(/go on with offset (\d+)\]$/.exec(big)?.[1]);
    expect(await run(readFile, { path: 'big.txt', offset: next, limit: 1 })).toContain(`${next}\ty`);
  });

  test('reading on from each offset yields every line once, whatever the file', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.stringMatching(/^[a-zé€ ]{0,80}$/), { minLength: 1, maxLength: 60 }),
        async (lines) => {
          writeFileSync(at('p.txt'), `${lines.join('\n')}\n`);
          const seen: string[] = [];
          for (let offset: number | undefined = 1; offset !== undefined; ) {
            const output: string = await run(readFile, { path: 'p.txt', offset }, 150);
            const shown = output.split('\n');
            const next: string | undefined = /offset (\d+)\]$/.exec(shown.at(-1) as string)?.[1];
            if (next !== undefined) shown.pop();
            seen.push(...shown.map((text) => text.slice(text.indexOf('\t') + 1)));
            offset = next === undefined ? undefined : Number(next);
          }
          expect(seen).toEqual(lines);
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe('no read tool', () => {
  test.each([
    '/proc/self/environ',
    '/proc/1/environ',
    '/proc/self/mem',
    '/dev/zero',
    '/dev/stdin',
    '/sys/kernel/notes',
  ])('reads %s, neither by its name nor through a link', async (path) => {
    symlinkSync(path, at('innocent.txt'));
    symlinkSync(join(path, '..'), at('innocent'));
    for (const name of [path, 'innocent.txt', `../../../../../../../../..${path}`]) {
      await expect(run(readFile, { path: name })).rejects.toMatchObject({ code: 'tool_failed' });
      await expect(run(grepFiles, { pattern: '.', path: name })).rejects.toMatchObject({
        code: 'tool_failed',
      });
    }
    await expect(run(grepFiles, { pattern: '.', path: 'innocent' })).rejects.toMatchObject({
      code: 'tool_failed',
    });
    await expect(run(listDir, { path: 'innocent' })).rejects.toMatchObject({ code: 'tool_failed' });
  });

  test('waits for a pipe', async () => {
    execFileSync('/bin/sh', ['-c', `mkfifo '${at('pipe')}'`]);
    writeFileSync(at('a.txt'), 'text\n');
    await expect(run(readFile, { path: 'pipe' })).rejects.toThrow('no ordinary file');
    await expect(run(grepFiles, { pattern: 'text', path: 'pipe' })).rejects.toThrow('no ordinary file');
    expect(await run(grepFiles, { pattern: 'text' })).toBe('a.txt:1:text');
    expect(await run(listDir, { path: '.' })).toContain('pipe [special]');
  });
});

describe('list_dir', () => {
  test('shows what is below, by level, with sizes and links', async () => {
    mkdirSync(at('src/deep/deeper'), { recursive: true });
    mkdirSync(at('node_modules/x'), { recursive: true });
    writeFileSync(at('src/a.ts'), 'abc');
    symlinkSync('src/a.ts', at('link'));
    expect(await run(listDir, { path: '.' })).toBe(
      ['link -> src/a.ts', 'node_modules/', 'src/', '  a.ts (3)', '  deep/'].join('\n'),
    );
    expect(await run(listDir, { path: 'src', depth: 1 })).toBe('a.ts (3)\ndeep/');
    expect(await run(listDir, { path: 'src/deep', depth: 5 })).toBe('deeper/');
    expect(await run(listDir, { path: 'src/deep/deeper' })).toBe('[src/deep/deeper is empty]');
  });

  test('what is over the limit is left out and counted', async () => {
    for (let i = 0; i < 30; i++) writeFileSync(at(`f${i}`), '');
    const lines = (await run(listDir, { path: '.', limit: 10 })).split('\n');
    expect(lines).toHaveLength(11);
    expect(lines.at(-1)).toContain('at least 20 more entries left out');
  });

  test('names with line breaks are one entry', async () => {
    writeFileSync(at('a\nb'), '');
    expect(await run(listDir, { path: '.' })).toBe('"a\\nb" (0)');
  });

  test('files and missing folders are refused', async () => {
    writeFileSync(at('a.txt'), '');
    await expect(run(listDir, { path: 'a.txt' })).rejects.toMatchObject({ hint: 'Use read_file.' });
    await expect(run(listDir, { path: 'none' })).rejects.toThrow('does not exist');
    for (const tool of [listDir, readFile, grepFiles, viewImage]) {
      const args = { path: 'no\nne\u009b', ...(tool === grepFiles ? { pattern: 'x' } : {}) };
      await expect(run(tool, args)).rejects.toThrow('/no\\nne\\u009b" does not exist.');
    }
  });
});

describe('grep_files', () => {
  beforeEach(() => {
    mkdirSync(at('src'));
    mkdirSync(at('.git'));
    writeFileSync(at('src/a.ts'), 'const needle = 1;\nother\n');
    writeFileSync(at('src/b.md'), 'a needle\r\n');
    writeFileSync(at('.hidden'), 'needle\n');
    writeFileSync(at('.git/config'), 'needle\n');
    writeFileSync(at('.ignore'), 'ignored.txt\n');
    writeFileSync(at('ignored.txt'), 'needle\n');
  });

  test('finds lines with path and number; hidden files yes, ignored ones and .git no', async () => {
    const lines = (await run(grepFiles, { pattern: 'need.e' })).split('\n').sort();
    expect(lines).toEqual(['.hidden:1:needle', 'src/a.ts:1:const needle = 1;', 'src/b.md:1:a needle']);
  });

  test('odd names of files are no problems, and each is one line', async () => {
    for (const name of ['rg: x', 'rg: a\nb', 'a\nrg: b', 'esc\u001b', 'x:1:y', 'cr\r'])
      writeFileSync(at(name), 'odd\n');
    writeFileSync(at('.ignore'), '{a\n');
    const lines = (await run(grepFiles, { pattern: '^odd$' })).split('\n').sort();
    expect(lines).toEqual([
      '"a\\nrg: b":1:odd',
      '"cr\\r":1:odd',
      '"esc\\u001b":1:odd',
      '"rg: a\\nb":1:odd',
      expect.stringMatching(/^\[rg: \.\/\.ignore: line 1: .*\]$/),
      'rg: x:1:odd',
      'x:1:y:1:odd',
    ]);
    expect(await run(grepFiles, { pattern: 'odd', path: 'rg: x' })).toBe('rg: x:1:odd');
    expect(await run(grepFiles, { pattern: 'none', path: 'a\nrg: b' })).toBe('[no matches in "a\\nrg: b"]');
  });

  test('a file that is no text and matches is named', async () => {
    writeFileSync(at('binary'), 'text needle\n\0\n');
    expect(await run(grepFiles, { pattern: 'needle', path: 'binary' })).toMatch(
      /^binary: binary file matches/,
    );
  });

  test('searches one folder, one file, or what a glob includes', async () => {
    expect(await run(grepFiles, { pattern: 'needle', include: '*.md' })).toBe('src/b.md:1:a needle');
    expect(await run(grepFiles, { pattern: 'needle', path: 'src', include: 'src/*.ts' })).toBe(
      'src/a.ts:1:const needle = 1;',
    );
    expect(await run(grepFiles, { pattern: 'other', path: 'src/a.ts' })).toBe('src/a.ts:2:other');
    expect(await run(grepFiles, { pattern: 'other', path: at('src/a.ts') })).toBe(
      `${at('src/a.ts')}:2:other`,
    );
  });

  test('no match is an answer, a broken pattern an error that says what is broken', async () => {
    expect(await run(grepFiles, { pattern: 'nowhere' })).toBe('[no matches in .]');
    await expect(run(grepFiles, { pattern: '(open' })).rejects.toMatchObject({
      code: 'invalid_arguments',
      message: expect.stringContaining('unclosed group'),
    });
    await expect(run(grepFiles, { pattern: 'x', include: '{a' })).rejects.toMatchObject({
      code: 'invalid_arguments',
    });
    await expect(run(grepFiles, { pattern: 'x', path: 'none' })).rejects.toThrow('does not exist');
  });

  test('patterns and paths that look like options are none', async () => {
    writeFileSync(at('-f'), '--pre=id\n');
    expect(await run(grepFiles, { pattern: '--pre=id' })).toBe('-f:1:--pre=id');
    expect(await run(grepFiles, { pattern: 'id', path: '-f' })).toBe('-f:1:--pre=id');
  });

  test('stops when there are enough matches, and cuts long lines', async () => {
    writeFileSync(at('many.txt'), 'hit\n'.repeat(100_000));
    const lines = (await run(grepFiles, { pattern: 'hit', limit: 5 })).split('\n');
    expect(lines).toHaveLength(6);
    expect(lines.at(-1)).toContain('only the first 5 matches');
    writeFileSync(at('long.txt'), `${'z'.repeat(1_000_000)}\n`);
    expect((await run(grepFiles, { pattern: 'z' })).length).toBeLessThan(1_000);
  });

  test('5,000 files are searched', { timeout: 60_000 }, async () => {
    for (let i = 0; i < 5_000; i++)
      writeFileSync(at('src', `f${i}.txt`), i === 4_321 ? 'the one\n' : 'nothing\n');
    expect(await run(grepFiles, { pattern: 'the one' })).toBe('src/f4321.txt:1:the one');
  });

  test.runIf(process.platform === 'linux')(
    'a link that a command leads elsewhere meanwhile shows nothing of the processes outside',
    async () => {
      // What stands in the environment of one, say, would be read by as many questions.
      const status = `/proc/${process.pid}/status`;
      writeFileSync(at('plain'), 'nothing\n');
      // It ends by itself, so that nothing of it is left where it is not waited for.
      const loop = `while [ -e plain ]; do ln -sfn plain x; ln -sfn ${status} x; done`;
      const turning = spawn('/bin/sh', ['-c', loop], { cwd: folder, stdio: 'ignore' });
      const ended = once(turning, 'exit');
      try {
        for (let i = 0; i < 40; i++) {
          const found = await run(grepFiles, { pattern: '^Tgid', path: 'x' }).catch(String);
          expect(found).not.toContain('Tgid:');
        }
      } finally {
        rmSync(at('plain'));
        await ended;
      }
    },
  );

  test.runIf(process.platform === 'linux')('a working directory in memory is searched', async () => {
    const memory = mkdtempSync('/dev/shm/cadre-grep-');
    onTestFinished(() => rmSync(memory, { recursive: true, force: true }));
    writeFileSync(join(memory, 'a'), 'needle\n');
    const found = await grepFiles.run(grepFiles.parameters.parse({ pattern: 'needle' }), contextIn(memory));
    expect(found).toBe('a:1:needle');
  });

  test('libraries of the working directory are not loaded by what searches', async () => {
    mkdirSync(at('lib'));
    for (const name of ['libc.so.6', 'libpcre2-8.so.0', 'libgcc_s.so.1'])
      writeFileSync(at('lib', name), 'none');
    const environment = { PATH: '/usr/bin:/bin', HOME: folder, LD_LIBRARY_PATH: at('lib') };
    const result = await grepFiles.run(
      grepFiles.parameters.parse({ pattern: 'other' }),
      contextIn(folder, { environment }),
    );
    expect(result).toBe('src/a.ts:2:other');
  });

  test('a ripgrep of the repository is not taken', () => {
    mkdirSync(at('node_modules/.bin'), { recursive: true });
    writeFileSync(at('node_modules/.bin/rg'), '', { mode: 0o755 });
    const own = mkdtempSync('/var/tmp/cadre-rg-');
    onTestFinished(() => rmSync(own, { recursive: true, force: true }));
    writeFileSync(join(own, 'rg'), '', { mode: 0o755 });
    expect(onPath(`${at('node_modules/.bin')}:relative:${at('none')}:${own}`)).toBe(join(own, 'rg'));
  });
});
