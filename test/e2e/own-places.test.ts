import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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
