import { type AgentSettings, CadreError, type SessionId, type SessionSettings } from '../protocol/index.ts';
import { scriptModels } from '../protocol/script-models.ts';
import { isTrusted } from '../worker/trust.ts';
import type { ListModels } from './config/model.ts';
import type { ProviderChoice } from './config/provider.ts';

/**
 * Finds out before a local session starts what its worker would find: whether there is the role, and what it wants.
 *
 * @param home CADRE_HOME
 * @returns what its root is
 * @throws CadreError `unknown_role`, `config_invalid` for a file that is broken, `unknown_model`
 */
export async function checkRole(
  id: SessionId,
  settings: AgentSettings,
  session: SessionSettings,
  provider: ProviderChoice,
  listModels: ListModels,
  home: string,
): Promise<AgentSettings> {
  const { createResolveRole } = await import('../worker/preflight.ts');
  const resolve = createResolveRole({
    sessions: { get: async () => session },
    trusts: (folder) => isTrusted(home, folder),
    listModels: async (name) =>
      provider.settings.script === undefined ? listModels(provider) : scriptModels(name, provider.settings),
  });
  const answer = await resolve({ session_id: id, inherited: settings, role: settings.role });
  if (answer.ok) return answer.settings;
  const { code, message, hint } = answer.error;
  throw new CadreError(code, message, hint === undefined ? {} : { hint });
}
