/** What Temporal's client calls an execution that has not ended, or has gone on in a further run. */
const STILL_THERE: ReadonlySet<string> = new Set(['RUNNING', 'CONTINUED_AS_NEW', 'PAUSED']);

/** The same as a term of a list query; servers that pause no executions know no status for that. */
export const STILL_RUNS = 'CloseTime IS NULL';

/** Whether an agent is there yet, by the status of its newest execution. */
export function isStillThere(execution: string): boolean {
  return STILL_THERE.has(execution);
}

/**
 * Each time an agent is resumed it begins another life. Its reports count on over all of them, but those of one life
 * never reach into the numbers of the next: so what an earlier life has still under way is never news, and what an
 * agent is taken for that can report no more stands until it comes back.
 */
const REPORTS_OF_A_LIFE = 1_000_000;

/** The life, from 0, that a report belongs to. */
export function lifeOf(seq: number): number {
  return Math.floor(seq / REPORTS_OF_A_LIFE);
}

/** What the reports of the next life begin behind. */
export function nextLife(seq: number): number {
  return (lifeOf(seq) + 1) * REPORTS_OF_A_LIFE;
}

/** No report of the same life is newer: where an agent stands at this, somebody has taken it for lost. */
export function endOfLife(seq: number): number {
  return nextLife(seq) - 1;
}

/**
 * Whether a report is news to somebody who knows an agent up to `known`. One that was taken for lost may have closed in
 * good order, and its last report have been under way.
 */
export function isNews({ seq, view }: { seq: number; view: { closed: boolean } }, known: number): boolean {
  if (seq >= known) return seq > known;
  return view.closed && known === endOfLife(known) && lifeOf(seq) === lifeOf(known);
}
