import { DefaultFailureConverter } from '@temporalio/common';

/**
 * With encryption the texts and stacks of failures are payloads too, and are sealed as such. Runs inside workflows as
 * well: no Node here.
 */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
