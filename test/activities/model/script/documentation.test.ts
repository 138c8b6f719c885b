import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseScript } from '../../../../activities/model/script/script.ts';

const blocks = [...readFileSync('docs/scripts.md', 'utf8').matchAll(/```yaml\n([\s\S]*?)```/g)].map(
  (match) => match[1] ?? '',
);

test('the whole script of the documentation is one', () => {
  const [script = ''] = blocks.filter((block) => block.startsWith('agents:'));
  expect(parseScript(script, 'docs/scripts.md').agents).toHaveLength(2);
});

test('the steps of the documentation are steps', () => {
  const steps = blocks.filter((block) => block.startsWith('- ')).map((block) => parse(block));
  expect(steps).toHaveLength(1);
  for (const list of steps) parseScript(JSON.stringify({ agents: [{ steps: list }] }), 'docs/scripts.md');
});
