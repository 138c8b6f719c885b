import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { findProgram } from '../../server/find.ts';
import { cacheDir } from '../../server/index.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { CadreHome } from './cadre-home.ts';

vi.setConfig({ testTimeout: 180_000 });

const home = new CadreHome();
const run = promisify(execFile);
const KEYS = { OPENAI_API_KEY: 'sk-first-4711', GITHUB_TOKEN: 'ghp-second-4712', db_password: 'third-4713' };
/** Its name does not look like a key, but the configuration says that it holds one. */
const NAMED = { MY_ACCESS: 'fourth-4714' };
let model: ModelServer;

beforeAll(async () => {
  mkdirSync(home.folder, { recursive: true });
  // The provider repeats the key that it was sent, as some do in their errors.
  model = await startModelServer(({ task, answers, outputs, headers }) => {
    if (task === 'fail') {
      return { fault: { kind: 'status', status: 403, message: `not allowed: ${headers.authorization}` } };
    }
    if (answers > 0) return { text: `seen: ${outputs.join(' ')}` };
    return {
      calls: [{ name: 'shell', arguments: { command: 'env; cat /proc/self/environ | tr "\\\\0" "\\\\n"' } }],
    };
  });
});
afterAll(async () => {
  await model.close();
  await home.remove();
});

test('keys reach the model provider alone: not Temporal, not the disk, not the commands, not the screen', async () => {
  const env = { ...KEYS, ...NAMED, OPENAI_BASE_URL: model.url, VISIBLE: 'visible-4715' };
  const options = { env, cwd: home.folder };
  const fine = await home.run(['run', 'look around', '-v'], options);
  expect(fine.code, fine.stderr).toBe(0);
  expect(fine.stdout).toContain('VISIBLE=visible-4715');
  const named = ['-c', 'model_provider=mine', '-c', `model_providers.mine.base_url="${model.url}"`];
  const own = await home.run(
    ['run', 'look around', ...named, '-c', 'model_providers.mine.env_key=MY_ACCESS'],
    options,
  );
  expect(own.code, own.stderr).toBe(0);
  const failed = await home.run(['run', 'fail', '-v', '--json'], options);
  expect(failed.code).toBe(1);
  const sent = new Set(model.requests.map(({ headers }) => headers.authorization));
  expect(sent).toEqual(new Set([`Bearer ${KEYS.OPENAI_API_KEY}`, `Bearer ${NAMED.MY_ACCESS}`]));

  const { agents } = await home.json<{ agents: { agent_id: string }[] }>(['ps', '--all']);
  expect(agents).toHaveLength(3);
  const histories = await Promise.all(agents.map(({ agent_id }) => rawHistory(agent_id)));
  const places: Record<string, string> = {
    screen: [fine, own, failed].map(({ stdout, stderr }) => stdout + stderr).join('\n'),
    histories: histories.join('\n'),
    requests: JSON.stringify(model.requests.map(({ body }) => body)),
    ...filesBelow(home.home),
  };
  // What is looked for would be found: the variable that is no secret is in the histories and the database.
  expect(places.histories).toContain('visible-4715');
  expect(
    Object.entries(places).some(
      ([path, text]) => path.includes('temporal.db') && text.includes('visible-4715'),
    ),
  ).toBe(true);
  for (const [place, text] of Object.entries(places)) {
    for (const secret of Object.values({ ...KEYS, ...NAMED })) {
      // The session of OpenAI's own key cannot know that another provider's is one.
      if (secret === NAMED.MY_ACCESS) continue;
      expect(text.includes(secret), `${secret} in ${place}`).toBe(false);
    }
  }
  const ownHistory = histories.find((history) => history.includes('MY_ACCESS') && history.includes('"mine"'));
  expect(ownHistory).toBeDefined();
  expect(ownHistory).not.toContain(NAMED.MY_ACCESS);
  expect(own.stdout + own.stderr).not.toContain(NAMED.MY_ACCESS);
});

/** The history as it lies in Temporal, with every payload both as it is and decoded. */
async function rawHistory(id: string): Promise<string> {
  const { path } = await findProgram({ cacheDir: cacheDir() });
  const { address } = JSON.parse(readFileSync(join(home.home, 'server.json'), 'utf8'));
  const args = ['workflow', 'show', '-w', id, '-o', 'json', '--address', address];
  const { stdout } = await run(path, args, { maxBuffer: 1e8 });
  const payloads = [...stdout.matchAll(/"data": ?"([A-Za-z0-9+/=]+)"/g)].map(([, data]) =>
    Buffer.from(data ?? '', 'base64').toString('latin1'),
  );
  return [stdout, ...payloads].join('\n');
}

function filesBelow(folder: string): Record<string, string> {
  const files = readdirSync(folder, { withFileTypes: true, recursive: true }).filter((entry) =>
    entry.isFile(),
  );
  return Object.fromEntries(
    files.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [path, readFileSync(path, 'latin1')];
    }),
  );
}
