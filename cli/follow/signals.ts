/**
 * What a person wants by a signal: the first Ctrl-C stops the turn, the second leaves the session running, and so does
 * a terminal that is closed; everything else stops the work for it, too.
 */
export type SignalWish = 'interrupt' | 'leave' | 'quit';

/**
 * Signals are Cadre's own: the worker in this process has to live on to process the interrupt.
 *
 * @returns undoes it
 */
export function onSignals(take: (wish: SignalWish) => void): () => void {
  let interrupts = 0;
  const interrupt = (): void => {
    interrupts++;
    take(interrupts === 1 ? 'interrupt' : 'leave');
  };
  const quit = (): void => take('quit');
  const hangUp = (): void => take('leave');
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', quit);
  process.on('SIGHUP', hangUp);
  return () => {
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', quit);
    process.off('SIGHUP', hangUp);
  };
}
