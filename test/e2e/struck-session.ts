import { existsSync, mkdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentId, Item, RolloutBody } from '../../protocol/index.ts';
import type { Conversations } from '../cluster/evidence.ts';
import { Cable } from '../support/cable.ts';
import { CadreHome, pidsOf, type Running, type RunOptions } from './cadre-home.ts';
import type { Fault, Plan } from './crash-plan.ts';

/** A session that is not done after so long hangs. */
const SESSION_MS = 240_000;
/** A worker that is asked to stop leaves what runs 10 s. */
const STOP_MS = 30_000;
const EXPORTS = 4;

/** A session of the crash test: commands that work for it, one after the other, and what is done to them. */
export class StruckSession {
  readonly home = new CadreHome();
  readonly #plan: Plan;
  /** To the model, and where the plan says so to Temporal. */
  readonly #model: Cable;
  #temporal: Cable | undefined;
  #command: Running | undefined;
  #striking: Promise<void> = Promise.resolve();
  #over = false;
  #id = '';
  /** What was done before the session had ended. */
  readonly struck: Fault['kind'][] = [];
  readonly problems: string[] = [];
  /** What the commands have said, for whoever looks into a failure. */
  readonly told: string[] = [];

  private constructor(plan: Plan, model: Cable) {
    this.#plan = plan;
    this.#model = model;
    mkdirSync(this.home.folder, { recursive: true });
  }

  static async begin(plan: Plan, modelPort: number): Promise<StruckSession> {
    const session = new StruckSession(plan, await Cable.to(modelPort));
    if (plan.isFar) {
      session.#temporal = await Cable.to(0);
      await session.#startServer();
    }
    session.#start(['run', plan.task]);
    const [, id = ''] = (await session.#command?.says(/session (a\w{12})/)) ?? [];
    session.#id = id;
    return session;
  }

  /** Does what the plan says until the session has ended, and returns its answer as `cadre wait` tells it. */
  async end(): Promise<unknown> {
    const blows = this.#strikeAll();
    try {
      return await this.#untilAnswered();
    } finally {
      this.#over = true;
      await blows;
    }
  }

  /** The conversations of all its agents, from what the session leaves behind. */
  async conversations(): Promise<Conversations> {
    const file = join(this.home.root, 'rollout.jsonl');
    await this.#export(file);
    const all = new Map<AgentId, Item[]>();
    for (const text of readFileSync(file, 'utf8').trim().split('\n')) {
      const line = JSON.parse(text) as RolloutBody;
      if (line.type === 'agent') all.set(line.identity.agent_id, []);
      if (line.type === 'item') all.get(line.agent_id)?.push(line.item);
    }
    return all;
  }

  async #export(file: string): Promise<void> {
    for (let tries = 1; ; tries++) {
      const { code, stderr } = await this.home.run(['export', this.#id, '-o', file], this.#options());
      if (code === 0) return;
      // On a machine that is busy with other rounds an agent may not answer in time.
      if (tries === EXPORTS) throw new Error(`export ended with ${code}: ${stderr}`);
      console.log(`${this.#id}: export ended with ${code}: ${stderr}`);
    }
  }

  get id(): string {
    return this.#id;
  }

  async remove(keep?: string): Promise<void> {
    await this.home.remove(keep);
    await this.#model.close();
    await this.#temporal?.close();
  }

  async #untilAnswered(): Promise<unknown> {
    for (const end = Date.now() + SESSION_MS; Date.now() < end; ) {
      const command = this.#command;
      const { stdout, code } = (await command?.ended) ?? { stdout: '', code: null };
      await this.#striking;
      if (this.#command !== command) continue;
      const answer = parsed(stdout);
      if (answer?.status !== undefined && answer.timed_out === false) return answer;
      // A command that lost its server says so and ends; whoever typed it tries again.
      if (code !== 0) await sleep(500);
      this.#wait();
    }
    throw new Error(`${this.#id} has no answer after ${SESSION_MS} ms`);
  }

  async #strikeAll(): Promise<void> {
    for (const fault of this.#plan.faults) {
      const begun = this.#begun();
      while (fault.inCommand && this.#begun() === begun && !this.#over) await sleep(20);
      for (const end = Date.now() + fault.afterMs; Date.now() < end && !this.#over; ) await sleep(20);
      if (this.#over) return;
      this.struck.push(fault.kind);
      this.#striking = this.#strike(fault).catch((error: unknown) => {
        this.problems.push(`${fault.kind}: ${error}`);
      });
      await this.#striking;
    }
  }

  /** How many commands have begun so far. */
  #begun(): number {
    const log = join(this.home.folder, 'effects.log');
    return existsSync(log) ? readFileSync(log, 'utf8').split('begin ').length : 1;
  }

  async #strike(fault: Fault): Promise<void> {
    switch (fault.kind) {
      case 'kill all':
        this.home.killAll(this.#own());
        await this.#command?.ended;
        await this.#noneOutlives();
        await this.#startServer();
        return this.#wait();
      case 'kill worker':
        this.home.killAll(this.#own('node'));
        await this.#command?.ended;
        await this.#noneOutlives();
        return this.#wait();
      case 'kill server':
        this.home.killAll(this.#own('temporal'));
        if (!this.#plan.isFar) return;
        await sleep(fault.backAfterMs);
        return this.#startServer();
      case 'stop':
        await this.#stopWorker();
        await this.home.run(['server', 'stop']);
        await this.#startServer();
        return this.#wait();
      case 'restart worker':
        await this.#stopWorker();
        return this.#wait();
      default: {
        const cable = fault.kind === 'cut off the model' ? this.#model : this.#temporal;
        cable?.cut(fault.cut);
        await sleep(fault.forMs);
        cable?.mend();
      }
    }
  }

  async #stopWorker(): Promise<void> {
    const command = this.#command;
    command?.child.kill('SIGTERM');
    const late = sleep(STOP_MS, 'late' as const, { ref: false });
    if ((await Promise.race([command?.ended, late])) === 'late') {
      this.problems.push(`a command did not end ${STOP_MS} ms after SIGTERM`);
      command?.child.kill('SIGKILL');
      await command?.ended;
    }
    await this.#noneOutlives();
  }

  /** Embedded, the next command does it. */
  async #startServer(): Promise<void> {
    if (this.#temporal === undefined) return;
    const { code, stderr } = await this.home.run(['server', 'start']);
    if (code !== 0) throw new Error(`server start ended with ${code}: ${stderr}`);
    const record = JSON.parse(readFileSync(join(this.home.home, 'server.json'), 'utf8'));
    this.#temporal.target = Number(record.address.split(':')[1]);
  }

  #wait(): void {
    this.#start(['wait', this.#id, '--json', '--timeout', '150']);
  }

  #start(args: string[]): void {
    const command = this.home.start(args, this.#options());
    this.#command = command;
    void command.ended.then(({ code, stdout, stderr }) => {
      this.told.push(`${args[0]} ended with ${code}\n${stdout}${stderr}`);
    });
  }

  #options(): RunOptions {
    const env: Record<string, string> = { OPENAI_BASE_URL: `http://127.0.0.1:${this.#model.port}/v1` };
    if (this.#temporal !== undefined) env.TEMPORAL_ADDRESS = `127.0.0.1:${this.#temporal.port}`;
    return { cwd: this.home.folder, env };
  }

  /** Cadre's own processes: commands, workers, the server; not the commands that agents run. */
  #own(...programs: ('node' | 'temporal')[]): number[] {
    const wanted = programs.length > 0 ? programs : ['node', 'temporal'];
    return this.home.pids().filter((pid) => wanted.includes(programOf(pid)));
  }

  async #noneOutlives(): Promise<void> {
    const left = () =>
      pidsOf(this.home.root).filter((pid) => !['node', 'temporal', ''].includes(programOf(pid)));
    for (let tries = 0; left().length > 0 && tries < 100; tries++) await sleep(50);
    if (left().length > 0) this.problems.push(`commands that outlived their worker: ${left()}`);
  }
}

function programOf(pid: number): string {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`));
  } catch {
    return '';
  }
}

function parsed(text: string): { status?: unknown; timed_out?: boolean } | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
