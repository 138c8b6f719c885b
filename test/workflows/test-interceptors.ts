import { ApplicationFailure } from '@temporalio/common';
import { type SignalWorkflowInput, sleep, type WorkflowInterceptorsFactory } from '@temporalio/workflow';
import type { Mail } from '../../protocol/index.ts';

/**
 * Bends what only a slow or broken machine would do otherwise. A child of role `late` takes a second to come into
 * being, one of role `deaf` lives on a task queue that nobody polls, one of role `full` takes no input any more. Asking
 * the root for a slot for an agent of role `tardy` takes a second, and so do the last report of one of role `lingering`
 * and all of one with the note `dawdling`.
 */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  outbound: [
    {
      async startChildWorkflowExecution(input, next) {
        const { workflowId } = input.options;
        if (/\/late-\d+$/.test(workflowId)) await sleep(1_000);
        if (!/\/deaf-\d+$/.test(workflowId)) return next(input);
        return next({ ...input, options: { ...input.options, taskQueue: `${workflowId}-nobody` } });
      },
      async signalWorkflow(input, next) {
        const [payload] = input.args;
        if (input.signalName === 'send_input' && isFull(input.target)) {
          throw ApplicationFailure.nonRetryable('too many signals');
        }
        if (Array.isArray(payload) && payload.some(isSlow)) await sleep(1_000);
        return next(input);
      },
    },
  ],
});

function isFull(target: SignalWorkflowInput['target']): boolean {
  return target.type === 'external' && /\/full-\d+$/.test(target.workflowExecution.workflowId ?? '');
}

function isSlow(mail: Mail): boolean {
  if (mail.type === 'slot' && mail.request.kind === 'reserve')
    return /\/tardy-\d+$/.test(mail.request.agent_id);
  if (mail.type !== 'report') return false;
  const { agent_id: id, closed, note } = mail.report.view;
  return note === 'dawdling' || (closed && /\/lingering-\d+$/.test(id));
}
