import { z } from 'zod';
import { defineTool } from './define-tool.ts';

const MOST_STEPS = 200;

const plan = z
  .array(
    z.strictObject({
      step: z.string().trim().min(1).max(2_000).describe('What is to be done, in a short sentence'),
      status: z.enum(['pending', 'in_progress', 'completed']),
    }),
  )
  .min(1)
  .max(MOST_STEPS)
  .refine((steps) => steps.filter((step) => step.status === 'in_progress').length <= 1, {
    error: 'at most one step can be in_progress',
  });

export const updatePlan = defineTool({
  name: 'update_plan',
  description:
    'Keeps the plan of the task, for yourself and for the people who watch: all its steps, each with its status, at most one of them in_progress. Each call replaces the plan before.',
  effects: 'none',
  parameters: z.strictObject({
    plan,
    explanation: z.string().max(10_000).optional().describe('Why the plan has changed'),
  }),
  summary: (args) => {
    const done = args.plan.filter((step) => step.status === 'completed').length;
    return `${done} of ${args.plan.length} done`;
  },
  async run(args) {
    const { explanation } = args;
    const plan = explanation === undefined ? { plan: args.plan } : { plan: args.plan, explanation };
    return { output: 'The plan is updated.', success: true, plan };
  },
});
