import { Context } from '@temporalio/activity';

const BEAT_MS = 250;

/**
 * Runs the work of an activity with a heartbeat every 250 ms, so that an interrupt reaches it soon and a dead worker
 * is noticed. Work that fails after it was cancelled counts as cancelled, whatever it failed with.
 *
 * Outside an activity (plain unit tests) the work just runs, and its signal never aborts.
 *
 * @param details what each beat carries for people who follow; small, and free of secrets
 */
export async function withHeartbeat<T>(
  work: (signal: AbortSignal) => Promise<T>,
  details?: () => unknown,
): Promise<T> {
  const context = activityContext();
  if (context === undefined) return work(new AbortController().signal);
  const beat = () => context.heartbeat(details?.());
  const timer = setInterval(beat, BEAT_MS);
  try {
    return await work(context.cancellationSignal);
  } catch (error) {
    if (context.cancellationSignal.aborted) await context.cancelled;
    throw error;
  } finally {
    clearInterval(timer);
  }
}

/** The context of the running activity; undefined outside one. */
export function activityContext(): Context | undefined {
  try {
    return Context.current();
  } catch {
    return undefined;
  }
}
