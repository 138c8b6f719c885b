/** What a rule may say: quick to load. */
export { parseRule } from '../activities/policy/approval-rules.ts';
