import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Agent, type AgentId, type CadreClient, CadreError, type Item } from '../../client/index.ts';
import type { CadreHome } from '../e2e/cadre-home.ts';
import { type Conversations, heard } from './evidence.ts';

const SCRIPT = fileURLToPath(new URL('./scripts/mixed.yaml', import.meta.url));
/** A session that takes longer hangs. */
const SESSION_MS = 8 * 60_000;
const HAND = (lead: string) => `report of hand one of ${lead} + report of hand two of ${lead}`;

/** What sessions are started with. */
export interface Stage {
  client: CadreClient;
  home: CadreHome;
  queue: string;
  /** Numbers in [0, 1). */
  random(): number;
}

/** How a session went: what its script promises, and what became of it. */
export interface Played {
  kind: Kind;
  id: string;
  folder: string;
  expected: string;
  got: string;
  conversations: Conversations;
  /** What else is not as it should be. */
  problems: string[];
}

const ANSWERS = {
  tree: `${HAND('lead a')}; ${HAND('lead b')}`,
  dialogue: 'first: listener; second: again; third: at last',
  clock: 'true, then slow but sure',
  steered: 'heard word 5',
  stopped: 'after the interrupt: go on',
} as const;
export type Kind = keyof typeof ANSWERS;
export const KINDS = Object.keys(ANSWERS) as Kind[];

/** Plays one session from its start to its end. */
export async function play(stage: Stage, kind: Kind): Promise<Played> {
  const folder = stage.home.newFolder(kind);
  const problems: string[] = [];
  // One that stays open can be talked to, and has to be closed.
  const isOpen = kind === 'steered' || kind === 'stopped';
  const agent = isOpen ? await open(stage, kind, folder) : await detached(stage, kind, folder);
  if (kind === 'steered') problems.push(...(await steer(stage, agent)));
  if (kind === 'stopped') await stop(stage, agent);
  const { status, output } = await within(agent.result(), `${kind} ${agent.id} ends`);
  const got = status === (isOpen ? 'shutdown' : 'completed') ? output : `${status}: ${output}`;
  if (kind === 'clock') problems.push(...(await untimely(agent)));
  const conversations = await conversationsOf(stage.client, agent);
  return { kind, id: agent.id, folder, expected: ANSWERS[kind], got, conversations, problems };
}

/** A one-shot session, started as a person would: by the command line, which leaves at once. */
async function detached({ client, home, queue }: Stage, kind: Kind, folder: string): Promise<Agent> {
  const provider = ['-c', 'model_provider=script', '-c', `model_providers.script.script="${SCRIPT}"`];
  const args = ['run', kind, '--detach', '--queue', queue, ...provider];
  const { code, stdout, stderr } = await home.run(args, { cwd: folder });
  if (code !== 0) throw new Error(`run --detach ended with ${code}: ${stderr}`);
  return client.get(stdout.trim() as AgentId);
}

/** One that stays open, so that it can be talked to. */
function open({ client, queue }: Stage, kind: Kind, folder: string): Promise<Agent> {
  return client.start({
    task: kind,
    queue,
    settings: { model: 'script', provider: 'script', working_directory: folder },
    session: { model_providers: { script: { script: SCRIPT } } },
  });
}

const WORDS = ['word 1', 'word 2', 'word 3', 'word 4', 'word 5'];

async function steer({ random }: Stage, agent: Agent): Promise<string[]> {
  for (const word of WORDS) {
    await sleep(500 + random() * 4_000);
    // The same id each time it is tried: what was taken though nobody said so is not taken twice.
    await patiently(() => agent.send(word, { id: word }));
  }
  await untilItSays(agent, ANSWERS.steered);
  const words = heard(await itemsOf(agent)).slice(1);
  await patiently(() => agent.close());
  return words.join() === WORDS.join() ? [] : [`${agent.id} heard ${words.join()}`];
}

async function stop({ random }: Stage, agent: Agent): Promise<void> {
  await sleep(4_000 + random() * 8_000);
  await patiently(() => agent.interrupt());
  await patiently(() => agent.send('go on', { id: 'go on' }));
  await untilItSays(agent, ANSWERS.stopped);
  await patiently(() => agent.close());
}

/** The first wait of "clock" is for 10 s, and a worker that dies with it is missed after so long. */
const ON_TIME_MS = { least: 10_000, most: 10_000 + 30_000 };

async function untimely(agent: Agent): Promise<string[]> {
  const events = await patiently(() => all(agent.events()));
  const end = events.find((event) => event.type === 'tool.end' && event.name === 'wait');
  const ms = end?.type === 'tool.end' ? end.duration_ms : undefined;
  const isOnTime = ms !== undefined && ms >= ON_TIME_MS.least && ms <= ON_TIME_MS.most;
  return isOnTime ? [] : [`${agent.id}: a wait for 10 s took ${ms} ms`];
}

async function untilItSays(agent: Agent, answer: string): Promise<void> {
  for (const end = Date.now() + SESSION_MS; ; await sleep(500)) {
    const { is_final, message } = await patiently(() => agent.status());
    if (is_final && message === answer) return;
    if (Date.now() > end) throw new Error(`${agent.id} says ${message}, not: ${answer}`);
  }
}

async function conversationsOf(client: CadreClient, root: Agent): Promise<Map<string, Item[]>> {
  const { agents } = await patiently(() => root.tree());
  const all = new Map<string, Item[]>();
  for (const { agent_id: id } of agents) all.set(id, await patiently(() => itemsOf(client.get(id))));
  return all;
}

function itemsOf(agent: Agent): Promise<Item[]> {
  return patiently(() => all(agent.wholeConversation()));
}

async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const value of values) found.push(value);
  return found;
}

/** Tries again what nobody has answered: whoever would have was killed. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (const end = Date.now() + SESSION_MS; ; await sleep(500)) {
    try {
      return await ask();
    } catch (error) {
      const isSilence = error instanceof CadreError && (error.code === 'no_worker' || error.body.retryable);
      if (!isSilence || Date.now() > end) throw error;
    }
  }
}

async function within<T>(promise: Promise<T>, what: string): Promise<T> {
  const late = sleep(SESSION_MS, undefined, { ref: false }).then(() => {
    throw new Error(`not in ${SESSION_MS} ms: ${what}`);
  });
  return Promise.race([promise, late]);
}
