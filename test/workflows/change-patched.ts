import { patched, sleep, type WorkflowInterceptorsFactory } from '@temporalio/workflow';

/** The change of `change-unpatched.ts` as it is made so that agents which live already go on without it. */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  inbound: [
    {
      async execute(input, next) {
        if (patched('timer-at-the-start')) await sleep(1);
        return next(input);
      },
    },
  ],
});
