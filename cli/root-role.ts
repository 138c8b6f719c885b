import { type AgentSettings, CadreError, type SessionId, type SessionSettings } from '../protocol/index.ts';
import { scriptModels } from '../protocol/script-models.ts';
import type { ListModels } from './config/model.ts';
import type { ProviderChoice } from './config/provider.ts';

export interface RootRole {
  role: string;
  /** The model that was named for this run, which goes before that of the role. */
  model: string | undefined;
  provider: ProviderChoice;
  listModels: ListModels;
}

/**
 * What a root is under its role: bounded by it, and with the text of its file, which is looked for here and travels
 * with the session.
 *
 * @throws CadreError `unknown_role`, `config_invalid` for a file that is broken, `unknown_model`
 */
export async function underRole(
  id: SessionId,
  settings: AgentSettings,
  session: SessionSettings,
  { role, model, provider, listModels }: RootRole,
): Promise<AgentSettings> {
  const { createResolveRole } = await import('../worker/preflight.ts');
  const resolve = createResolveRole({
    sessions: { get: async () => session },
    listModels: async (name) =>
      provider.settings.script === undefined ? listModels(provider) : scriptModels(name, provider.settings),
  });
  const answer = await resolve({
    session_id: id,
    inherited: settings,
    role,
    ...(model === undefined ? {} : { model }),
  });
  if (answer.ok) return answer.settings;
  const { code, message, hint, retryable } = answer.error;
  throw new CadreError(code, message, {
    ...(hint === undefined ? {} : { hint }),
    ...(retryable === undefined ? {} : { retryable }),
  });
}
