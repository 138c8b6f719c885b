import { z } from 'zod';
import { CadreError } from '../../protocol/errors.ts';
import type { Environment } from './environment.ts';
import type { ListModels } from './model.ts';
import type { ProviderChoice } from './provider.ts';

const TIMEOUT_MS = 10_000;
const answerSchema = z.object({ data: z.array(z.object({ id: z.string() })) });

/** Lists models by `GET {base_url}/models`, as OpenAI and whatever is compatible with it offer. */
export function modelLister(environment: Environment): ListModels {
  return async ({ name, settings, keyVariable }) => {
    const base = settings.base_url ?? 'https://api.openai.com/v1';
    const address = `${base.replace(/\/+$/, '')}/models`;
    const key = keyVariable === undefined ? undefined : environment[keyVariable]?.trim();
    const headers = key ? { authorization: `Bearer ${key}` } : undefined;
    const answer = await ask(address, headers, { name, settings, keyVariable });
    const parsed = answerSchema.safeParse(answer);
    if (!parsed.success) {
      throw new CadreError('config_invalid', `${address} does not list models in the way of OpenAI`, {
        hint: 'Name the model with --model.',
      });
    }
    return parsed.data.data.map((model) => model.id);
  };
}

type Provider = Pick<ProviderChoice, 'name' | 'settings' | 'keyVariable'>;

async function ask(
  address: string,
  headers: Record<string, string> | undefined,
  provider: Provider,
): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(address, {
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(headers === undefined ? {} : { headers }),
    });
  } catch (error) {
    throw new CadreError('model_unreachable', `the provider ${provider.name} does not answer at ${address}`, {
      hint: 'Check the address (base_url, OPENAI_BASE_URL) and that the server runs; or name the model with --model.',
      retryable: true,
      cause: error,
    });
  }
  if (!response.ok) throw refused(address, response.status, headers !== undefined, provider);
  return response.json().catch(() => undefined);
}

/** The same codes as for a call of the model: a wrong key is refused, a server in trouble is out of reach. */
function refused(address: string, status: number, withKey: boolean, provider: Provider): CadreError {
  const message = `${address} answers ${status}, so no model can be chosen`;
  if (status === 401 || status === 403) {
    return new CadreError('model_refused', message, { hint: keyHint(withKey, provider) });
  }
  const hint = 'Name the model with --model.';
  return status === 429 || status >= 500
    ? new CadreError('model_unreachable', message, { hint: `Try again later. ${hint}`, retryable: true })
    : new CadreError('config_invalid', message, { hint });
}

function keyHint(withKey: boolean, { name, keyVariable }: Provider): string {
  if (withKey) return `The key came from ${keyVariable}: check that it is valid.`;
  return keyVariable === undefined
    ? `No key was sent: name the variable that holds it as env_key under [model_providers.${name}].`
    : `No key was sent: set ${keyVariable}.`;
}
