import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { McpPool } from '../../../activities/mcp/pool.ts';
import { isAlive } from '../../../activities/sandbox/strays.ts';
import type { SessionSettings } from '../../../protocol/index.ts';
import { contextIn, sessionWith } from '../tools/tool-context.ts';
import { small } from './servers.ts';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 });

let folder: string;
let pool: McpPool;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cadre-mcp-room-'));
  pool = new McpPool({ environment: { PATH: process.env.PATH }, most: 2 });
});
afterEach(async () => {
  await pool.close();
  rmSync(folder, { recursive: true, force: true });
});

const notesOf = (name: string) => join(folder, name);
const session = (name: string): SessionSettings =>
  sessionWith({ mcp_servers: { [name]: small('good', {}, notesOf(name)) } });
const linesOf = (name: string) => readFileSync(notesOf(name), 'utf8').trim().split('\n');
const lives = (name: string) => isAlive(Number(linesOf(name)[0]?.split(' ')[1]));
const ended = (name: string) => expect.poll(() => lives(name), { timeout: 60_000 }).toBe(false);
async function tool(name: string, own: string) {
  const found = (await pool.offered(session(name))).find((one) => one.name === `mcp__${name}__${own}`);
  if (found === undefined) throw new Error(`${name} does not offer ${own}`);
  return (args: object, signal?: AbortSignal) =>
    found.run(args, contextIn(folder, signal === undefined ? {} : { signal }));
}

test('where servers are more than a worker keeps, what is idle longest goes, and never one that is in use', async () => {
  const sleep = await tool('used', 'sleep');
  const stop = new AbortController();
  const running = sleep({ ms: 1_000_000 }, stop.signal);
  await expect.poll(() => linesOf('used'), { timeout: 60_000 }).toContain('call sleep');
  await pool.offered(session('older'));
  await pool.offered(session('newer'));
  await ended('older');
  expect([await lives('used'), await lives('older'), await lives('newer')]).toEqual([true, false, true]);
  stop.abort(new Error('enough'));
  await expect(running).rejects.toThrow('enough');
  // Its call ended after that of the newer one.
  await pool.offered(session('newest'));
  await ended('newer');
  expect([await lives('used'), await lives('newer'), await lives('newest')]).toEqual([true, false, true]);
});

test('a tool that was listed before its server made room starts it again', async () => {
  const echo = await tool('first', 'echo');
  await pool.offered(session('second'));
  await pool.offered(session('third'));
  await ended('first');
  expect(await echo({ say: 'back' })).toMatchObject({ success: true, output: 'back' });
  expect(linesOf('first').filter((line) => line.startsWith('started'))).toHaveLength(2);
  await pool.close();
  await expect(echo({ say: 'too late' })).rejects.toMatchObject({ code: 'tool_failed' });
});

test('the servers of one session stay, also where they are more than a worker keeps', async () => {
  const names = ['a', 'b', 'c'];
  const servers = Object.fromEntries(names.map((name) => [name, small('good', {}, notesOf(name))]));
  for (let i = 0; i < 3; i++) await pool.offered(sessionWith({ mcp_servers: servers }));
  for (const name of names) {
    expect(linesOf(name).filter((line) => line.startsWith('started'))).toHaveLength(1);
  }
});
