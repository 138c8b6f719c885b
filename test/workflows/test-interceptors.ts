import { sleep, type WorkflowInterceptorsFactory } from '@temporalio/workflow';

/**
 * Bends what only a slow or broken machine would do otherwise. A child of role `late` takes a second to come into
 * being, one of role `deaf` lives on a task queue that nobody polls; asking the root for a slot for an agent of role
 * `tardy` takes a second.
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
        const [mail] = input.args as [{ type?: string; request?: { kind?: string; agent_id?: string } }];
        const asksForSlot = mail?.type === 'slot' && mail.request?.kind === 'reserve';
        if (asksForSlot && /\/tardy-\d+$/.test(mail.request?.agent_id ?? '')) await sleep(1_000);
        return next(input);
      },
    },
  ],
});
