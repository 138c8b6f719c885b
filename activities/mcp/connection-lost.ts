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

/** Marks what stands for an answer that cannot come any more, or came and cannot be read. */
export const STREAM_ENDED = Symbol('stream ended');

/** Failures of the network before anything was sent. */
const NOTHING_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
/** What stands before a server answers so when the server itself is gone. */
const GATEWAY = new Set([502, 503, 504]);

/** Whether an error of a request says that its way was cut, and not what the server made of it. */
export function isCutOff(error: unknown): boolean {
  // `fetch failed`, `terminated`
  return (
    error instanceof NotSent ||
    error instanceof TypeError ||
    isStreamEnd(error) ||
    GATEWAY.has(statusOf(error) ?? 0)
  );
}

function isStreamEnd(error: unknown): boolean {
  return (error as { data?: unknown } | undefined)?.data === STREAM_ENDED;
}

export function wasSent(error: unknown): boolean {
  if (error instanceof NotSent) return false;
  const { cause } = (error ?? {}) as { cause?: { code?: unknown } };
  return !(error instanceof TypeError && NOTHING_SENT.has(String(cause?.code)));
}

export function statusOf(error: unknown): number | undefined {
  const { status } = (error as { data?: { status?: unknown } } | undefined)?.data ?? {};
  return typeof status === 'number' ? status : undefined;
}

/** Servers of HTTP answer so to a session that they do not know: with 404, some with 400. */
export function isSessionGone(error: unknown): boolean {
  const status = statusOf(error);
  return status === 404 || (status === 400 && /session/i.test(String((error as Error).message)));
}

/** Whoever refuses a ping is there. */
export function isAnswer(error: unknown): boolean {
  if (isCutOff(error) || isSessionGone(error)) return false;
  return statusOf(error) !== undefined || typeof (error as { code?: unknown }).code === 'number';
}
