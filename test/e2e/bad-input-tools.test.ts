import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Item } from '../../protocol/index.ts';
import { startModelServer } from '../support/model-server.ts';
import { scriptAnswerer } from '../support/scripted-model-server.ts';
import { CadreHome, SCRIPTS } from './cadre-home.ts';
import { expectNoStack } from './failures.ts';

vi.setConfig({ testTimeout: 180_000 });

const home = new CadreHome();
beforeAll(() => {
  mkdirSync(home.folder, { recursive: true });
  writeFileSync(join(home.folder, 'README.md'), 'hello\n');
  symlinkSync('/', join(home.folder, 'out'));
});
afterAll(() => home.remove());

const UNPARSED = /^failed to parse function arguments: ./;

/** What each of the calls in the script is told. */
const TOLD: Record<string, { code: string; message: RegExp }> = {
  broken: { code: 'invalid_arguments', message: UNPARSED },
  list: { code: 'invalid_arguments', message: UNPARSED },
  empty: { code: 'invalid_arguments', message: /path/ },
  missing: { code: 'invalid_arguments', message: /path/ },
  type: { code: 'invalid_arguments', message: /path.*number/ },
  extra: { code: 'invalid_arguments', message: /mode/ },
  neither: { code: 'invalid_arguments', message: /message or items/ },
  both: { code: 'invalid_arguments', message: /message or items/ },
  role: { code: 'unknown_role', message: /pirate/ },
  model: { code: 'unknown_model', message: /imaginary/ },
  nobody: { code: 'invalid_arguments', message: /ids/ },
  negative: { code: 'invalid_arguments', message: /timeout_ms/ },
  zero: { code: 'invalid_arguments', message: /timeout_ms/ },
  blank: { code: 'invalid_arguments', message: /message/ },
  no_items: { code: 'invalid_arguments', message: /items/ },
  field: { code: 'invalid_arguments', message: /mood/ },
  nowhere: { code: 'invalid_arguments', message: /nowhere/ },
  file: { code: 'invalid_arguments', message: /README\.md/ },
  link: { code: 'approval_unavailable', message: /./ },
  other: { code: 'agent_not_found', message: /a0k3v9x2m4qd7/ },
  stranger: { code: 'agent_not_found', message: /a0k3v9x2m4qd7/ },
  unknown: { code: 'agent_not_found', message: /nobody-1/ },
  coffee: { code: 'unknown_tool', message: /make_coffee/ },
  named: { code: 'unknown_tool', message: /bad name!/ },
};

test.concurrent.each(['responses', 'chat'] as const)(
  'whatever a model calls tools with, it is told what was wrong, and the run goes on (%s)',
  async (wire) => {
    const model = await startModelServer(scriptAnswerer(join(SCRIPTS, 'bad-calls.yaml')), { wires: [wire] });
    try {
      const ended = await home.run(['run', 'go', '--json'], {
        cwd: home.folder,
        env: { OPENAI_BASE_URL: model.url },
      });
      expectNoStack(ended);
      expect(ended.code, ended.stderr).toBe(0);
      const { output, session_id: id, agents } = JSON.parse(ended.stdout);
      const told = JSON.parse(output);
      expect(told.good).toMatch(/hello/);
      for (const [call, { code, message }] of Object.entries(TOLD)) {
        const { error } = told[call];
        expect(error, call).toMatchObject({ code, message: expect.stringMatching(message) });
        expect(error.hint ?? '', JSON.stringify([call, error])).toMatch(/\S/);
      }
      // Nothing was begun by any of them.
      expect(agents).toHaveLength(1);
      const { items } = await home.json<{ items: Item[] }>(['items', id]);
      const calls = items.flatMap((item) => (item.type === 'tool_call' ? [item.call_id] : []));
      const outputs = items.flatMap((item) => (item.type === 'tool_output' ? [item.call_id] : []));
      expect(outputs).toEqual(calls);
    } finally {
      await model.close();
    }
  },
);

test.concurrent('a command that cannot be run, and output that is no text, go back to the model', async () => {
  const outputs: string[] = [];
  const model = await startModelServer((request) => {
    outputs.push(...request.outputs);
    const commands = ['no-such-program --x', 'exit 7', 'printf "\\\\377\\\\376 done"', 'kill -9 $$'];
    const command = commands[request.answers];
    return command === undefined ? { text: 'done' } : { calls: [{ name: 'shell', arguments: { command } }] };
  });
  try {
    const ended = await home.run(['run', 'commands'], {
      cwd: home.folder,
      env: { OPENAI_BASE_URL: model.url },
    });
    expectNoStack(ended);
    expect(ended).toMatchObject({ code: 0, stdout: 'done\n' });
    expect(outputs[0]).toMatch(/exit code 127/);
    expect(outputs[1]).toMatch(/exit code 7/);
    expect(outputs[2]).toMatch(/exit code 0.*done/s);
    expect(outputs[3]).toMatch(/KILL|137/);
  } finally {
    await model.close();
  }
});
