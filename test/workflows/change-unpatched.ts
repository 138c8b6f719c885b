import { sleep, type WorkflowInterceptorsFactory } from '@temporalio/workflow';

/** Stands for a change of workflow code that no history of before knows: a timer at the start. */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  inbound: [
    {
      async execute(input, next) {
        await sleep(1);
        return next(input);
      },
    },
  ],
});
