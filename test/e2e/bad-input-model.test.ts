import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { handlePath, handlesIn } from '../../rollout/handle-files.ts';
import { type Answer, type Fault, type ModelServer, startModelServer } from '../support/model-server.ts';
import { freePort } from '../support/ports.ts';
import type { SeenRequest } from '../support/wire-requests.ts';
import { CadreHome } from './cadre-home.ts';
import { expectNoStack, fails } from './failures.ts';

/** Two processes a test, several tests at a time, and other work beside them. */
vi.setConfig({ testTimeout: 180_000 });

const home = new CadreHome();
const asked = new Map<string, number[]>();
let model: ModelServer;

/** How each task is answered; a list runs out, then there is an answer. */
const FAULTS: Record<string, Fault | Fault[]> = {
  unauthorized: { kind: 'status', status: 401, message: 'Incorrect API key provided: sk-wrong' },
  'asked to wait': [{ kind: 'status', status: 429, headers: { 'retry-after': '4' } }],
  'server error': { kind: 'status', status: 500, message: 'something broke' },
  'server error once': [{ kind: 'status', status: 500 }],
  'dropped twice': [{ kind: 'drop' }, { kind: 'drop' }],
  'no JSON once': [{ kind: 'invalid_json' }],
  'no JSON ever': { kind: 'invalid_json' },
  'nothing said': { kind: 'empty' },
  'asked to wait too long': { kind: 'status', status: 429, headers: { 'retry-after': '7200' } },
};

/** Text that no compression makes much smaller. */
const incompressible = (bytes: number) => randomBytes(bytes).toString('base64').slice(0, bytes);
const MANY = 400;
/** Megabytes through a model, a history and a conversation, three at a time. */
const LARGE_MS = 400_000;

/** What is too large for one payload of Temporal, by task; whatever comes after it is answered with what was heard. */
const GIANTS: Record<string, () => Answer> = {
  'a giant text': () => ({ text: `begin ${incompressible(3_000_000)} end` }),
  'giant arguments': () => ({
    calls: [
      { name: 'shell', arguments: { command: `echo ran > ran.txt; : ${incompressible(3_000_000)}` } },
      { name: 'list_dir', arguments: { path: '.' } },
    ],
  }),
  'many calls': () => ({
    text: 'so many',
    calls: Array.from({ length: MANY }, () => ({
      name: 'list_dir',
      arguments: { path: `no-such-${incompressible(10_000)}` },
    })),
  }),
};

function answerGiant({ task, items, answers }: SeenRequest): Answer | undefined {
  const giant = GIANTS[task];
  if (giant === undefined) return undefined;
  if (answers === 0) return giant();
  const outputs = items.flatMap((item) => (item.type === 'tool_output' ? [item.output] : []));
  return { text: JSON.stringify(outputs) };
}

beforeAll(async () => {
  model = await startModelServer((request) => {
    const { task } = request;
    const giant = answerGiant(request);
    if (giant !== undefined) return giant;
    const times = asked.get(task) ?? [];
    asked.set(task, [...times, Date.now()]);
    const faults = FAULTS[task];
    const fault = Array.isArray(faults) ? faults[times.length] : faults;
    return { text: `answer to ${task}`, ...(fault === undefined ? {} : { fault }) };
  });
});
afterAll(async () => {
  await model.close();
  await home.remove();
});

const env = (more: Record<string, string> = {}) => ({ OPENAI_BASE_URL: model.url, ...more });
const timesAsked = (task: string) => asked.get(task)?.length ?? 0;

test.concurrent('401 ends the run at once with 1, and names the variable that the key came from, but not the key', async () => {
  const { code, error, printed, stdout, stderr } = await fails(home, ['run', 'unauthorized'], {
    env: env({ OPENAI_API_KEY: 'sk-wrong' }),
  });
  expect(code).toBe(1);
  expect(timesAsked('unauthorized')).toBe(1);
  expect(error).toMatchObject({ code: 'model_refused', retryable: false });
  expect(error.message).toMatch(/401.*OPENAI_API_KEY/s);
  expect(printed).toMatchObject({ status: 'errored', session_id: expect.stringMatching(/^a\w{12}$/) });
  expect(stdout + stderr).not.toContain('sk-wrong');
});

test.concurrent('429 with retry-after is obeyed, and the run ends well', async () => {
  const ended = await home.run(['run', 'asked to wait'], { env: env() });
  expect(ended).toMatchObject({ code: 0, stdout: 'answer to asked to wait\n' });
  const [first = 0, second = 0] = asked.get('asked to wait') ?? [];
  expect(second - first).toBeGreaterThanOrEqual(4_000);
});

test.concurrent.each(['server error once', 'dropped twice', 'no JSON once'])(
  'what may pass is tried again: %s',
  async (task) => {
    const ended = await home.run(['run', task], { env: env() });
    expect(ended, ended.stderr).toMatchObject({ code: 0, stdout: `answer to ${task}\n` });
    expect(timesAsked(task)).toBe((FAULTS[task] as Fault[]).length + 1);
  },
);

test.concurrent.each([
  ['server error', 'model_unreachable', /500: something broke/],
  ['no JSON ever', 'model_answer_unreadable', /JSON/],
])('what does not pass within the time for it ends with 69: %s', async (task, code, message) => {
  const failed = await fails(home, ['run', task, '-c', 'model_retry_ms=3000'], { env: env() });
  expect(failed.code).toBe(69);
  expect(failed.error.code).toBe(code);
  expect(failed.error.message).toMatch(message);
  expect(timesAsked(task)).toBeGreaterThan(1);
});

test.concurrent('a model that wants to be left alone for longer than there is time is not waited for', async () => {
  const task = 'asked to wait too long';
  const { code, error } = await fails(home, ['run', task], { env: env() });
  expect(code).toBe(69);
  expect(error.message).toMatch(/2h 0m/);
  expect(timesAsked(task)).toBe(1);
});

test.concurrent('an empty answer is an error, never an answer', async () => {
  const { code, error, printed } = await fails(home, ['run', 'nothing said'], { env: env() });
  expect(code).toBe(1);
  expect(error.code).toBe('model_answer_empty');
  expect(printed).toMatchObject({ status: 'errored' });
});

test.concurrent('a model that the provider does not have ends with 1 and the names of those that it has', async () => {
  const { code, error } = await fails(home, ['run', 'hello', '--model', 'gpt-imaginary'], { env: env() });
  expect(code).toBe(1);
  expect(error.message).toMatch(/gpt-imaginary.*test-model/s);
});

test.concurrent('a base URL where nothing listens ends with 69, at once without a model, after the time for it with one', async () => {
  const OPENAI_BASE_URL = `http://127.0.0.1:${await freePort()}/v1`;
  const first = await fails(home, ['run', 'hello'], { env: { OPENAI_BASE_URL } });
  expect(first.code).toBe(69);
  expect(first.error).toMatchObject({ code: 'model_unreachable', retryable: true });
  expect(first.error.message).toContain(OPENAI_BASE_URL);

  const args = ['run', 'hello', '--model', 'm', '-c', 'model_retry_ms=2000'];
  const second = await fails(home, args, { env: { OPENAI_BASE_URL } });
  expect(second.code).toBe(69);
  expect(second.error.message).toMatch(/could not be reached.*ECONNREFUSED/);
});

test.concurrent('a key that the provider refuses already for its list of models ends with 1 and names the variable', async () => {
  const locked = await startModelServer(() => ({ text: 'hello' }), { key: 'sk-right' });
  try {
    const OPENAI_BASE_URL = locked.url;
    const wrong = await fails(home, ['run', 'hello'], {
      env: { OPENAI_BASE_URL, OPENAI_API_KEY: 'sk-wrong' },
    });
    expect(wrong).toMatchObject({ code: 1, error: { code: 'model_refused' } });
    expect(wrong.error.hint).toContain('OPENAI_API_KEY');
    const none = await fails(home, ['run', 'hello'], { env: { OPENAI_BASE_URL } });
    expect(none).toMatchObject({ code: 1, error: { code: 'model_refused' } });
    expect(none.error.hint).toContain('OPENAI_API_KEY');
  } finally {
    await locked.close();
  }
});

test.concurrent('a key that is needed and missing is found before anything starts', async () => {
  const config = [
    '-c',
    'model_providers.mine.base_url="http://127.0.0.1:9/v1"',
    '-c',
    'model_providers.mine.env_key=MINE',
  ];
  const { code, error } = await fails(home, ['run', 'hello', ...config]);
  expect(code).toBe(2);
  expect(error.message).toContain('MINE');
});

test.concurrent('an address that answers with a web page is said to be no API', async () => {
  const page = createServer((_, response) => response.end('<html><body>Welcome</body></html>'));
  await new Promise<void>((resolve) => page.listen(0, '127.0.0.1', resolve));
  const OPENAI_BASE_URL = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
  try {
    const listed = await fails(home, ['run', 'hello'], { env: { OPENAI_BASE_URL } });
    expect(listed.code).toBe(2);
    const called = await fails(home, ['run', 'hello', '--model', 'm', '-c', 'model_retry_ms=0'], {
      env: { OPENAI_BASE_URL },
    });
    expect(called.code).toBe(69);
    expect(called.error.message).toMatch(/base URL|OpenAI/);
  } finally {
    page.close();
  }
});

test.concurrent('without --json the error stands on stderr, and stdout stays empty', async () => {
  const ended = await home.run(['run', 'nothing said'], { env: env() });
  expectNoStack(ended);
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr).toMatch(/^error: .*neither text nor a tool call/m);
});

/** The bytes of what was stored under a handle that a text names. */
function storedBytes(text: string): number {
  const [handle = ''] = handlesIn(text);
  return readFileSync(handlePath(home.home, handle) ?? `no handle in ${text.slice(0, 500)}`).length;
}

test.concurrent(
  'an answer that is too large for Temporal is cut, and the whole of it is stored',
  async () => {
    const ended = await home.run(['run', 'a giant text'], { env: env() });
    expect(ended.code, ended.stderr).toBe(0);
    expect(ended.stdout.length).toBeLessThan(300_000);
    expect(ended.stdout).toMatch(/^begin .*left out; stored as \S+.* end\n$/s);
    expect(storedBytes(ended.stdout)).toBe('begin  end'.length + 3_000_000);
  },
  LARGE_MS,
);

test.concurrent(
  'a call whose arguments are too large is refused, with what to do; the others of that answer run',
  async () => {
    const cwd = home.newFolder('giant');
    const ended = await home.run(['run', 'giant arguments'], { env: env(), cwd });
    expect(ended.code, ended.stderr).toBe(0);
    const [refused = '', listed = ''] = JSON.parse(ended.stdout) as string[];
    const { error } = JSON.parse(refused);
    expect(error).toMatchObject({
      code: 'invalid_arguments',
      hint: expect.stringContaining('smaller parts'),
    });
    expect(error.message).toMatch(/shell was not run.*3\.00 MB; stored as /);
    expect(storedBytes(error.message)).toBeGreaterThan(3_000_000);
    expect(listed).not.toContain('error');
    expect(existsSync(join(cwd, 'ran.txt'))).toBe(false);
  },
  LARGE_MS,
);

test.concurrent(
  'more calls than one answer may hold: those that fit run, the model is told of the others, and the run ends',
  async () => {
    const ended = await home.run(['run', 'many calls'], { env: env() });
    expect(ended.code, ended.stderr).toBe(0);
    const outputs = JSON.parse(ended.stdout) as string[];
    const refused = outputs.filter((output) => output.includes('was not run'));
    expect(refused.length).toBeGreaterThan(1);
    const told = Number(refused.at(-1)?.match(/(\d+) more calls of that answer were left out/)?.[1]);
    expect(outputs.length + told).toBe(MANY);
    expect(outputs.length - refused.length).toBeGreaterThan(20);
  },
  LARGE_MS,
);
