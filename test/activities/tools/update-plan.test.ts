import { expect, test } from 'vitest';
import { updatePlan } from '../../../activities/tools/update-plan.ts';
import { contextIn } from './tool-context.ts';

const step = (name: string, status: string) => ({ step: name, status });

test('the plan comes back with the result', async () => {
  const args = updatePlan.parameters.parse({
    plan: [step('read', 'completed'), step(' write ', 'in_progress'), step('test', 'pending')],
    explanation: 'first things first',
  });
  expect(updatePlan.summary(args)).toBe('1 of 3 done');
  expect(await updatePlan.run(args, contextIn('/'))).toMatchObject({
    success: true,
    plan: {
      plan: [step('read', 'completed'), step('write', 'in_progress'), step('test', 'pending')],
      explanation: 'first things first',
    },
  });
});

test.each([
  [[]],
  [[step('a', 'in_progress'), step('b', 'in_progress')]],
  [[step('', 'pending')]],
  [[step('  ', 'pending')]],
  [[step('a', 'done')]],
  [[{ step: 'a' }]],
  [[{ step: 'a', status: 'pending', more: 1 }]],
  ['a plan'],
])('a plan that is none is refused: %j', (plan) => {
  expect(updatePlan.parameters.safeParse({ plan }).success).toBe(false);
});
