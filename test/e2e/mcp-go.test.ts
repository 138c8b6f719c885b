import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { CadreHome, MAIN, playing } from './cadre-home.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 60_000 });

const run = promisify(execFile);
const SOURCE = fileURLToPath(new URL('./mcp-go', import.meta.url));
const home = new CadreHome();
const folder = mkdtempSync(join(tmpdir(), 'cadre-mcp-go-'));
const program = join(folder, 'client');

afterAll(async () => {
  await home.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** Why the client cannot be built here; undefined where it was. What is wrong with its code fails the test. */
async function cannotBuild(): Promise<string | undefined> {
  const go = (args: string[]) => run('go', args, { cwd: SOURCE, timeout: 180_000 });
  try {
    await go(['mod', 'download']);
  } catch (error) {
    const { code, stderr = '' } = error as { code?: unknown; stderr?: string };
    return code === 'ENOENT' ? 'there is no Go on PATH' : `its module cannot be fetched: ${stderr}`;
  }
  await go(['build', '-o', program, '.']);
  return undefined;
}

const missing = await cannotBuild();

describe('the client of mark3labs/mcp-go', () => {
  test.for(['legacy', 'modern'])(
    'runs a task, answers an approval, and reads errors: %s',
    async (era, context) => {
      if (missing !== undefined) return context.skip(`mcp-go was not tried: ${missing}`);
      const { stdout } = await run(program, [process.execPath, MAIN, 'mcp-server', ...playing('mcp.yaml')], {
        cwd: home.newFolder('go'),
        env: home.env({ MCP_ERA: era }),
      });
      const got = JSON.parse(stdout);
      expect(got.protocol).toBe(era === 'legacy' ? '2025-11-25' : '2026-07-28');
      expect(got.tools).toContain('cadre_run');
      expect(got.run.content[0]).toMatchObject({ type: 'text', text: 'the quick answer' });
      expect(got.run.structuredContent).toMatchObject({
        status: 'completed',
        output: 'the quick answer',
        usage: { total_tokens: expect.any(Number) },
        agents: [{ role: 'default', status: 'completed' }],
      });
      expect(got.progress).toContainEqual(expect.stringMatching(/\(default\): the quick answer$/));
      expect(got.asked).toEqual([expect.stringContaining('asks to: touch made')]);
      expect(got.approved.structuredContent).toMatchObject({
        status: 'completed',
        output: expect.stringContaining('made'),
      });
      expect(got.failed.isError).toBe(true);
      expect(JSON.parse(got.failed.content[0].text)).toMatchObject({ error: { code: 'agent_not_found' } });
    },
  );
});
