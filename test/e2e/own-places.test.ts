import type { ChildProcess } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test, vi } from 'vitest';
import { probeBubblewrap } from '../../activities/sandbox/probe-bubblewrap.ts';
import { cacheDir } from '../../server/index.ts';
import { CadreHome, MAIN } from './cadre-home.ts';
import { call, PLAYED, PlayedModel } from './played-model.ts';

vi.setConfig({ testTimeout: 180_000 });

const { works } = await probeBubblewrap();
const SETTINGS = '# What the team has agreed on.\n';
const model = new PlayedModel();
const home = new CadreHome();
afterAll(() => home.remove());

test.skipIf(!works)(
  'no command changes the settings, the cache and the program that Cadre runs by',
  async () => {
    const folder = home.newFolder('own');
    const settings = join(folder, 'team.toml');
    writeFileSync(settings, SETTINGS);
    const built = statSync(MAIN).mtimeMs;
    const temporary = join(folder, 'temporary');
    mkdirSync(temporary);
    const lines = [
      'echo x >> team.toml',
      'mv team.toml other.toml',
      `touch ${MAIN}`,
      `touch ${join(dirname(MAIN), 'planted.js')}`,
      `touch ${join(cacheDir(), 'compiled', 'planted')}`,
      `touch ${join(home.root, '.claude')}`,
      'touch fine',
    ];
    const command = lines.map((line, index) => `${line} && echo ${index} >> done`).join('; ');
    model.play = ({ answers }) => (answers === 0 ? call('shell', { command }) : { text: 'tried' });
    const env = { ...model.env, CADRE_CONFIG: settings, TMPDIR: temporary };
    await home.json(['run', 'go', ...PLAYED], { cwd: folder, env });
    expect(readFileSync(join(folder, 'done'), 'utf8')).toBe(`${lines.length - 1}\n`);
    expect(existsSync(join(folder, 'fine'))).toBe(true);
    expect(readFileSync(settings, 'utf8')).toBe(SETTINGS);
    expect(statSync(MAIN).mtimeMs).toBe(built);
    expect(existsSync(join(home.root, '.claude'))).toBe(false);
    // Compiled code is kept, but not among temporary files.
    expect(readdirSync(temporary)).toEqual([]);
  },
);

test.skipIf(!works)("no command in the person's home names another Temporal server", async () => {
  const command =
    'mkdir -p .config/temporalio; echo \'[profile.default]\naddress = "127.0.0.1:9"\' > .config/temporalio/temporal.toml; touch .config/fine; touch fine';
  model.play = ({ answers }) => (answers === 0 ? call('shell', { command }) : { text: 'tried' });
  mkdirSync(join(home.root, '.config'));
  await home.json(['run', 'go', ...PLAYED], { cwd: home.root, env: model.env });
  expect(readdirSync(join(home.root, '.config'))).toEqual(['fine']);
  expect(existsSync(join(home.root, 'fine'))).toBe(true);
});

test.skipIf(!works)(
  'no command changes the tools of the team that lie where it works, nor what they load',
  async () => {
    // Where `cadre` and `zod` are found.
    const folder = mkdtempSync(fileURLToPath(new URL('./own-tools-', import.meta.url)));
    const worker = { child: undefined as ChildProcess | undefined };
    try {
      writeFileSync(join(folder, 'name.ts'), "export const name = 'look';\n");
      writeFileSync(
        join(folder, 'tools.ts'),
        `import { defineTool } from 'cadre/tools';
import { z } from 'zod';
import { name } from './name.ts';
export const look = defineTool({ name, description: 'Looks.', effects: 'none', parameters: z.strictObject({}), run: () => 'seen' });
`,
      );
      const command =
        'echo x >> name.ts; echo x >> tools.ts; rm -f name.ts tools.ts; mv name.ts n; touch fine';
      model.play = ({ answers }) => (answers === 0 ? call('shell', { command }) : { text: 'tried' });
      const at = { cwd: folder, env: model.env };
      const serving = home.start(['worker', '--queue', 'team', '--tools', 'tools.ts'], at);
      worker.child = serving.child;
      await serving.says(/Tools of your own: look/);
      await home.json(['run', 'go', '--queue', 'team', ...PLAYED], at);
      expect(readdirSync(folder).toSorted()).toEqual(['fine', 'name.ts', 'tools.ts']);
      expect(readFileSync(join(folder, 'name.ts'), 'utf8')).toBe("export const name = 'look';\n");
    } finally {
      worker.child?.kill('SIGTERM');
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
