import { CadreError } from '../../protocol/index.ts';

/** A sandbox could not be set up: nothing of its command was run, so that it can be tried again. */
export class SandboxFailure extends CadreError {
  /** @param told what bubblewrap has said */
  constructor(told: string) {
    const reason = told.trim().replace(/^bwrap: /, '') || 'bubblewrap ended without a word';
    super('tool_failed', `The sandbox could not be set up: ${reason}`, {
      hint: 'Nothing was run. Try again.',
    });
  }
}
