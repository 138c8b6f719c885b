import { sleep, type WorkflowInterceptorsFactory } from '@temporalio/workflow';

/**
 * Bends what only a broken machine would do otherwise: a child of role `late` takes a second to come into being, one of
 * role `deaf` lives on a task queue that nobody polls.
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
    },
  ],
});
