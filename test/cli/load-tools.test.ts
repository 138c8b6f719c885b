import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { loadTools } from '../../cli/load-tools.ts';
import { folderWith } from '../support/folders.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const DEFINE = `
const { defineTool } = require('cadre/tools');
const { z } = require('zod');
const tool = (name) =>
  defineTool({ name, description: 'd', effects: 'none', parameters: z.object({}), run: async () => '' });
`;

test.each([
  ['names.cjs', "module.exports = { one: tool('a'), two: tool('b'), other: 3 };"],
  ['shown.cjs', "exports.one = tool('a');\nexports.two = tool('b');"],
  ['computed.cjs', "for (const name of ['a', 'b']) exports[name] = tool(name);"],
  ['list.cjs', "module.exports = [tool('a'), tool('b')];"],
  ['compiled.cjs', "exports.__esModule = true;\nexports.default = [tool('a')];\nexports.two = tool('b');"],
])('a module of CommonJS gives its tools as one of ESM does: %s', async (name, text) => {
  const folder = folderWith({ [name]: `${DEFINE}${text}\n` });
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules', 'cadre'));
  symlinkSync(join(ROOT, 'node_modules', 'zod'), join(folder, 'node_modules', 'zod'));
  const tools = await loadTools(join(folder, name));
  expect(tools.map((tool) => tool.name)).toEqual(['a', 'b']);
});

test('an object that is exported by default gives the tools that stand in it', async () => {
  const text = `
import { createRequire } from 'node:module';
const require = createRequire('${ROOT}');
${DEFINE.replace("'cadre/tools'", `'${ROOT}dist/activities/tools/index.js'`)}
export default { one: tool('a'), settings: {} };
`;
  const folder = folderWith({ 'object.mjs': text });
  expect(await loadTools(join(folder, 'object.mjs'))).toMatchObject([{ name: 'a' }]);
});

test('a module that goes on loading while something happens is given up after a while', async () => {
  const text = 'setInterval(() => {}, 1_000).unref();\nawait new Promise(() => {});\nexport default [];\n';
  const path = join(folderWith({ 'slow.mjs': text }), 'slow.mjs');
  await expect(loadTools(path, 2_000)).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringMatching(/slow\.mjs cannot be loaded: its top level .* did not come within 2 s/),
  });
});
