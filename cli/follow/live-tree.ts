import { createLogUpdate } from 'log-update';
import type { AgentView } from '../../protocol/index.ts';
import type { Output } from '../output.ts';
import { treeLines } from '../render/tree-lines.ts';

const REDRAW_MS = 250;
const ROWS_KEPT_FREE = 4;

/** The tree of a session, drawn in place on a terminal. */
export class LiveTree {
  readonly #output: Output;
  readonly #draw: ReturnType<typeof createLogUpdate>;
  readonly #timer: NodeJS.Timeout;
  #agents: AgentView[] = [];
  #ended = false;

  constructor(output: Output) {
    this.#output = output;
    this.#draw = createLogUpdate(process.stderr);
    this.#timer = setInterval(() => this.#redraw(), REDRAW_MS);
    output.above((line) => {
      this.#draw.clear();
      output.stderr.write(`${line}\n`);
      this.#redraw();
    });
  }

  show(agents: AgentView[]): void {
    this.#agents = agents;
    this.#redraw();
  }

  /** Leaves the last picture on the screen. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#timer);
    this.#redraw();
    this.#draw.done();
    this.#output.above(undefined);
  }

  #redraw(): void {
    const { colors, stderr } = this.#output;
    const lines = treeLines(this.#agents, { colors, now: Date.now(), width: stderr.columns ?? 100 });
    const most = Math.max(5, (stderr.rows ?? 40) - ROWS_KEPT_FREE);
    const shown = lines.length <= most ? lines : [...lines.slice(0, most), `… ${lines.length - most} more`];
    this.#draw(shown.join('\n'));
  }
}
