import { sealedReason } from '../protocol/messages.ts';

/**
 * What Cadre's own processes have sent an agent, and is sealed with a key that this worker lacks, is no bad payload:
 * another worker reads it. Any error but a failure of Temporal's fails the workflow task, which is then tried again,
 * so that the session stays as it is until a worker with the key takes it.
 */
export function requireReadable(payload: unknown): void {
  const sealed = sealedReason(payload);
  if (sealed !== undefined) throw new Error(`This worker cannot work for the agent: ${sealed.reason}`);
}
