import type { Client } from '@temporalio/client';
import {
  type AgentId,
  type AgentSettings,
  CadreError,
  QUERIES,
  type SessionId,
  type SessionSettings,
} from '../protocol/index.ts';

/** A live workflow that is not cached has to be replayed first. */
const DEADLINE_MS = 30_000;

/** Reads what all agents of a session share, from its root. */
export function readSession(client: Client) {
  return async (session: SessionId): Promise<SessionSettings> => {
    const settings = await ask<SessionSettings | null>(client, session, QUERIES.session);
    if (settings === null) {
      throw new CadreError('internal', `agent ${session} is no root and has no session settings`);
    }
    return settings;
  };
}

/** Reads an agent's own settings from it. */
export function readAgentSettings(client: Client) {
  return (agent: AgentId): Promise<AgentSettings> => ask(client, agent, QUERIES.settings);
}

function ask<T>(client: Client, agent: AgentId, query: string): Promise<T> {
  return client.withDeadline(Date.now() + DEADLINE_MS, () =>
    client.workflow.getHandle(agent).query<T>(query),
  );
}
