import type { CutKind } from '../support/cable.ts';

/** What is done to a session while it runs. */
export type Fault =
  /** kill -9 of every process of Cadre's, the server too. */
  | { kind: 'kill all' }
  | { kind: 'kill worker' }
  | { kind: 'kill server'; backAfterMs: number }
  /** SIGTERM to whoever works for the session, and an orderly end of the server; then both come back. */
  | { kind: 'stop' }
  /** SIGTERM to whoever works for the session, who comes back. */
  | { kind: 'restart worker' }
  | { kind: 'cut off the model' | 'cut off the server'; cut: CutKind; forMs: number };

export interface Plan {
  task: Task;
  /** Temporal is reached by an address, as if another machine ran it; else it is the embedded server. */
  isFar: boolean;
  faults: (Fault & When)[];
}

/** After so long, or so long after the next command has begun: the worst moment for one with effects. */
export interface When {
  afterMs: number;
  inCommand: boolean;
}

/** What the sessions of the script answer, whatever happens to them. */
export const ANSWERS = {
  'the tree': 'report of hand one of lead a + report of hand two of lead a; report of hand b',
  'the dialogue': 'first: listener; second: again; third: at last',
} as const;
export type Task = keyof typeof ANSWERS;

/** From a session's start to its end, and a little more: the first failure comes somewhere in it. */
const RUN_MS = 7_000;
const NEXT_MS = 9_000;
/** Commands of the script take a little longer. */
const COMMAND_MS = 600;
const MOST_FAULTS = 3;
const CUT_MS = { least: 500, most: 6_000 };

/** What happens in a round, all of it determined by the numbers. */
export function planFrom(random: () => number): Plan {
  const between = (least: number, most: number) => Math.round(least + random() * (most - least));
  const one = <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)] as T;
  const task: Task = random() < 0.6 ? 'the tree' : 'the dialogue';
  const isFar = random() < 0.5;
  const kinds: Fault['kind'][] = [
    'kill all',
    'kill worker',
    'kill server',
    'stop',
    'restart worker',
    'cut off the model',
    ...(isFar ? (['cut off the server', 'cut off the server'] as const) : []),
  ];
  const faults = Array.from({ length: 1 + Math.floor(random() * MOST_FAULTS) }, (_, index) => {
    const inCommand = random() < 0.5;
    const afterMs = between(0, inCommand ? COMMAND_MS : index === 0 ? RUN_MS : NEXT_MS);
    const when = { afterMs, inCommand };
    const kind = one(kinds);
    switch (kind) {
      case 'kill server':
        return { kind, ...when, backAfterMs: between(0, 4_000) };
      case 'cut off the model':
      case 'cut off the server':
        return {
          kind,
          ...when,
          cut: one<CutKind>(['refused', 'silent']),
          forMs: between(CUT_MS.least, CUT_MS.most),
        };
      default:
        return { kind, ...when };
    }
  });
  return { task, isFar, faults };
}
