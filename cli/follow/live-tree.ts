import { createLogUpdate } from 'log-update';
import type { AgentView } from '../../protocol/index.ts';
import type { Output, OutputStream } from '../output.ts';
import { treeLines } from '../render/tree-lines.ts';

const REDRAW_MS = 250;
const ROWS_KEPT_FREE = 4;

/** The tree of a session, drawn in place on a terminal a few times a second, however much happens. */
export class LiveTree {
  readonly #output: Output;
  readonly #draw: ReturnType<typeof createLogUpdate>;
  readonly #timer: NodeJS.Timeout;
  #agents: AgentView[] = [];
  #paused = false;
  #ended = false;

  constructor(output: Output) {
    this.#output = output;
    this.#draw = createLogUpdate(measured(output.stderr) as NodeJS.WriteStream);
    this.#timer = setInterval(() => this.#redraw(), REDRAW_MS);
    output.above((line) => {
      if (!this.#paused) this.#draw.clear();
      output.stderr.write(`${line}\n`);
      this.#redraw();
    });
  }

  show(agents: AgentView[]): void {
    const isFirst = this.#agents.length === 0;
    this.#agents = agents;
    if (isFirst) this.#redraw();
  }

  /** Makes way for something else. */
  pause(): void {
    if (this.#paused || this.#ended) return;
    this.#draw.clear();
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    if (!this.#ended) this.#redraw();
  }

  /** Leaves the last picture on the screen. */
  end(): void {
    if (this.#ended) return;
    clearInterval(this.#timer);
    this.#paused = false;
    this.#redraw();
    this.#draw.done();
    this.#ended = true;
    this.#output.above(undefined);
  }

  #redraw(): void {
    if (this.#paused) return;
    const { colors, stderr } = this.#output;
    const { columns: width, rows } = measured(stderr);
    const lines = treeLines(this.#agents, { colors, now: Date.now(), width });
    const most = Math.max(5, rows - ROWS_KEPT_FREE);
    const shown = lines.length <= most ? lines : [...lines.slice(0, most), `… ${lines.length - most} more`];
    this.#draw(shown.join('\n'));
  }
}

/** A terminal that does not know its size says 0. */
function measured(stream: OutputStream): OutputStream & { columns: number; rows: number } {
  return {
    isTTY: true,
    write: (chunk: string) => stream.write(chunk),
    get columns() {
      return stream.columns || 100;
    },
    get rows() {
      return stream.rows || 40;
    },
  };
}
