/** What the workflow bundle offers; Temporal finds workflow types by export name. */
export { agent } from './agent.ts';
