import type { ErrorBody } from '../../protocol/index.ts';

/** An operation was refused; nothing was changed. The dialect turns it into the output of the tool call. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly body: ErrorBody;
  readonly details: Record<string, unknown>;

  constructor(body: ErrorBody, details: Record<string, unknown> = {}) {
    super(body.message);
    this.body = body;
    this.details = details;
  }
}
