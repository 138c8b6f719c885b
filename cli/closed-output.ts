/** Aborted once nobody reads the output any more: the pipe was closed, or the terminal is gone. */
const closed = new AbortController();
let isHeld = false;

/** From now on the process does not end with its output: whoever holds it sees through what was begun. */
export function holdOnClosedOutput(): AbortSignal {
  isHeld = true;
  return closed.signal;
}

export function isOutputClosed(): boolean {
  return closed.signal.aborted;
}

/** @returns whether somebody sees to it, so that the process need not end here */
export function tellClosedOutput(): boolean {
  closed.abort();
  return isHeld;
}
