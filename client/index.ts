export type { AgentEvent, AgentId, AgentView, ContentPart, Item } from '../protocol/index.ts';
export { CadreError } from '../protocol/index.ts';
export { Rollouts } from '../rollout/rollouts.ts';
export { CadreClient } from './client.ts';
export type { SessionRollout } from './rollout.ts';
export type * from './types.ts';
