/** What a person wants by a signal: the first Ctrl-C stops the turn, everything else stops following. */
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
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', quit);
  process.on('SIGHUP', quit);
  return () => {
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', quit);
    process.off('SIGHUP', quit);
  };
}
