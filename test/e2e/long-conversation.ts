import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { CadreClient } from '../../client/index.ts';
import { ensureServer, stopServer } from '../../server/index.ts';
import { historySize } from '../support/history-size.ts';
import { type OutputKind, writeOutputs } from '../support/large-outputs.ts';
import { type Answer, startModelServer } from '../support/model-server.ts';
import type { SeenRequest } from '../support/wire-requests.ts';
import { Gate } from '../workflows/gate.ts';

const WORKER = fileURLToPath(new URL('./long-worker.ts', import.meta.url));
/** Agents and conversations. */
const CACHES = { all: [], one: ['2', '1'], none: ['0', '1'] };
const SUMMARY = 'The conversation above has grown long';

export interface LongOptions {
  steps: number;
  /** After how many steps the bytes of history are looked at; each is one of the steps, or their number. */
  marks: readonly number[];
  kind: OutputKind;
  /**
   * What the worker keeps in memory. Unless it is all, another agent takes turns with the long one. With `one` there is
   * room for the conversation of one agent, so that each model call has to read its own again from the agent, which is
   * kept. With `none` no agent is kept either, and each task and each question replays one: the SDK keeps none, or two
   * and more.
   */
  kept: 'all' | 'one' | 'none';
}

export interface LongFigures {
  /** Bytes of history, all runs together, by steps taken. */
  bytes: Map<number, number>;
  /** Resident memory of the worker in MB, by steps taken. */
  memory: Map<number, number>;
  /** KB that its main thread holds after a collection of garbage, by steps taken. */
  held: Map<number, number>;
  /** Median ms of a step. */
  ms: number;
  seconds: number;
  runs: number;
  summaries: number;
  /** Steps of the other agent. */
  others: number;
}

/**
 * Has an agent read an output of 8 KB a step, over HTTP, with a worker in a process of its own and a server of its own.
 *
 * @throws when the session does not end as its script says, or its model sees anything but the outputs in their order
 */
export async function longConversation({ steps, marks, kind, kept }: LongOptions): Promise<LongFigures> {
  const home = mkdtempSync(join(tmpdir(), 'cadre-long-home-'));
  const folder = mkdtempSync(join(tmpdir(), 'cadre-long-work-'));
  writeOutputs(folder, steps, kind);
  const { address } = await ensureServer({ home });
  const connection = await Connection.connect({ address });
  const temporal = new Client({ connection });
  const cadre = await CadreClient.connect({ address });
  const worker = spawn(process.execPath, ['--expose-gc', WORKER, address, 'long', home, ...CACHES[kept]], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(worker.stdout, 'data');

  const bytes = new Map<number, number>();
  const memory = new Map<number, number>();
  const held = new Map<number, number>();
  const times: number[] = [];
  let last = 0;
  let summaries = 0;
  let taken = -1;
  const answerLong = async (request: SeenRequest, id: string): Promise<Answer> => {
    if (request.input.startsWith(SUMMARY)) {
      summaries++;
      return { text: `all outputs up to output-${taken} were read` };
    }
    const step = nextStep(request, taken);
    const now = performance.now();
    if (step > taken && last > 0) times.push(now - last);
    last = now;
    taken = step;
    if (step % Math.ceil(steps / 40) === 0 || step === steps) {
      memory.set(step, megabytesOf(worker));
      held.set(step, await heldBy(worker));
    }
    if (marks.includes(step) && !bytes.has(step)) bytes.set(step, await historySize(temporal, id));
    return step < steps ? read(`output-${step}.txt`) : { text: `read ${step} outputs` };
  };

  const turns = new Turns();
  let others = 0;
  const model = await startModelServer(async (request) => {
    model.requests.length = 0;
    const isLong = request.agent.id === long?.id;
    if (kept !== 'all') await turns.take(isLong ? 'long' : 'other');
    if (isLong) {
      const answer = await answerLong(request, request.agent.id);
      if (answer.calls === undefined && taken === steps) turns.end();
      return answer;
    }
    others++;
    return turns.ended ? { text: 'done' } : { calls: [{ name: 'list_dir', arguments: { path: home } }] };
  });
  const start = () =>
    cadre.start({
      task: 'read them all',
      queue: 'long',
      settings: {
        model: 'test-model',
        provider: 'local',
        working_directory: folder,
        sandbox_mode: 'danger-full-access',
        limits: { max_steps: 100_000 },
      },
      session: {
        one_shot: true,
        rollout: false,
        model_providers: { local: { base_url: model.url, models: ['test-model'] } },
      },
    });
  let long: Awaited<ReturnType<typeof start>> | undefined;
  const begun = performance.now();
  try {
    long = await start();
    const other = kept !== 'all' ? await start() : undefined;
    const { status, output } = await long.result();
    if (status !== 'completed' || output !== `read ${steps} outputs`)
      throw new Error(`it ended ${status}: ${output}`);
    const seconds = Math.round((performance.now() - begun) / 1_000);
    await other?.result();
    return {
      bytes,
      memory,
      held,
      ms: median(times),
      seconds,
      runs: await runsOf(temporal, long.id),
      summaries,
      others,
    };
  } finally {
    worker.kill('SIGKILL');
    await model.close();
    await cadre.close();
    await connection.close();
    await stopServer(home);
    for (const path of [home, folder]) rmSync(path, { recursive: true, force: true });
  }
}

/** Two models that answer in turn, each when the other one has been asked again. */
class Turns {
  #asked = { long: new Gate(), other: new Gate() };
  ended = false;

  async take(who: 'long' | 'other'): Promise<void> {
    const whose = who === 'long' ? 'other' : 'long';
    this.#asked[who].open();
    if (this.ended) return;
    await this.#asked[whose].opened;
    this.#asked[whose] = new Gate();
  }

  end(): void {
    this.ended = true;
    this.#asked.long.open();
    this.#asked.other.open();
  }
}

/** Which output comes next, after a check that those which the model is shown follow on each other. */
function nextStep(request: SeenRequest, taken: number): number {
  const names = request.items.flatMap((item) => (item.type === 'tool_call' ? [item.arguments] : []));
  const numbers = names.map((text) => Number(text.match(/output-(\d+)/)?.[1]));
  const outputs = request.items.filter((item) => item.type === 'tool_output');
  const gap = numbers.findIndex((number, index) => index > 0 && number !== (numbers[index - 1] ?? 0) + 1);
  if (gap !== -1) throw new Error(`output-${numbers[gap]} follows on output-${numbers[gap - 1]}`);
  if (outputs.length !== numbers.length)
    throw new Error(`${numbers.length} calls, ${outputs.length} outputs`);
  return numbers.length === 0 ? taken + 1 : (numbers.at(-1) ?? 0) + 1;
}

function read(path: string): Answer {
  return { calls: [{ name: 'read_file', arguments: { path } }] };
}

function megabytesOf({ pid }: ChildProcess): number {
  const [, kilobytes = '0'] = readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/) ?? [];
  return Math.round(Number(kilobytes) / 1_024);
}

async function heldBy({ stdout, pid }: ChildProcess): Promise<number> {
  if (stdout === null || pid === undefined) throw new Error('the worker does not run');
  const told = once(stdout, 'data');
  process.kill(pid, 'SIGUSR2');
  const [line] = await told;
  return Math.round(Number(String(line).match(/held (\d+)/)?.[1]) / 1_024);
}

async function runsOf(client: Client, workflowId: string): Promise<number> {
  let runs = 0;
  for await (const _ of client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) runs++;
  return runs;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0);
}
