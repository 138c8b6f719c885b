/** A stream that ended before the answer did. `nothing`: not even one event of it could be read. */
export class BrokenAnswer extends Error {
  readonly nothing: boolean;

  constructor(nothing: boolean) {
    super(nothing ? 'the answer holds nothing that can be read' : 'the answer broke off half-way');
    this.nothing = nothing;
  }
}

/** A provider that says in the middle of its answer that it failed. */
export class FailedAnswer extends Error {
  readonly code: string | undefined;

  constructor(message: string, code: string | null | undefined) {
    super(message);
    this.code = code ?? undefined;
  }
}

/** An answer that was cut off by the provider: at its output limit, or by its filter. */
export class CutAnswer extends Error {
  readonly reason: string;
  readonly written: string;

  constructor(reason: string, written: string) {
    super(`the answer was cut off (${reason})`);
    this.reason = reason;
    this.written = written;
  }
}
