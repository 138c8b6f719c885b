/** The server cannot have read the message: what was written of it does not end. */
export class NotSent extends Error {
  override readonly name = 'NotSent';
}

/** Before it answered, the server went away, or the way to it was cut. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
  /** False where the server cannot have seen the call. */
  readonly wasSent: boolean;

  constructor(message: string, { wasSent, cause }: { wasSent: boolean; cause: unknown }) {
    super(message, { cause });
    this.wasSent = wasSent;
  }
}
