import { setTimeout as sleep } from 'node:timers/promises';
import type { CadreHome, Running } from '../e2e/cadre-home.ts';

/** From one worker's death to its next life. */
const BACK_AFTER_MS = 1_000;

/** Several `cadre worker` processes of one queue, which are killed one at a time and come back. */
export class WorkerCrew {
  readonly #home: CadreHome;
  readonly #queue: string;
  readonly #running: Running[] = [];
  readonly #gone: Running[] = [];
  kills = 0;

  constructor(home: CadreHome, queue: string) {
    this.#home = home;
    this.#queue = queue;
  }

  async start(count: number): Promise<void> {
    const started = Array.from({ length: count }, () => this.#start());
    this.#running.push(...started);
    await Promise.all(started.map((worker) => worker.says(/Working for the queue/)));
  }

  /** kill -9 of one worker, by its pid; another one takes its place. */
  async replace(index: number): Promise<void> {
    const worker = this.#running[index % this.#running.length];
    if (worker === undefined) return;
    worker.child.kill('SIGKILL');
    await worker.ended;
    this.kills++;
    this.#gone.push(worker);
    await sleep(BACK_AFTER_MS);
    this.#running[index % this.#running.length] = this.#start();
  }

  /** SIGTERM to all; their exit codes. */
  async drain(): Promise<(number | null)[]> {
    for (const worker of this.#running) worker.child.kill('SIGTERM');
    const ended = await Promise.all(this.#running.map((worker) => worker.ended));
    return ended.map(({ code }) => code);
  }

  /** What the workers have complained of. */
  complaints(): string[] {
    return [...this.#gone, ...this.#running]
      .flatMap((worker) => worker.stderr().split('\n'))
      .filter((line) => /\b(WARN|ERROR)\b/.test(line));
  }

  #start(): Running {
    return this.#home.start(['worker', '--queue', this.#queue]);
  }
}
