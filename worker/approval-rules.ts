/** What a rule may say: quick to load. */
export { parseRule } from '../activities/sandbox/approval-rules.ts';
