import { z } from 'zod';
import { CadreError } from '../../protocol/errors.ts';
import type { Environment } from './environment-layer.ts';
import type { ListModels } from './model.ts';

const TIMEOUT_MS = 10_000;
const answerSchema = z.object({ data: z.array(z.object({ id: z.string() })) });

/** Lists models by `GET {base_url}/models`, as OpenAI and whatever is compatible with it offer. */
export function modelLister(environment: Environment): ListModels {
  return async ({ name, settings, keyVariable }) => {
    const base = settings.base_url ?? 'https://api.openai.com/v1';
    const address = `${base.replace(/\/+$/, '')}/models`;
    const key = keyVariable === undefined ? undefined : environment[keyVariable]?.trim();
    const headers = key ? { authorization: `Bearer ${key}` } : undefined;
    const answer = await ask(address, name, headers);
    const parsed = answerSchema.safeParse(answer);
    if (!parsed.success) {
      throw new CadreError('config_invalid', `${address} does not list models in the way of OpenAI`, {
        hint: 'Name the model with --model.',
      });
    }
    return parsed.data.data.map((model) => model.id);
  };
}

async function ask(address: string, provider: string, headers?: Record<string, string>): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(address, {
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(headers === undefined ? {} : { headers }),
    });
  } catch (error) {
    throw new CadreError('model_unreachable', `the provider ${provider} does not answer at ${address}`, {
      hint: 'Check the address (base_url, OPENAI_BASE_URL) and that the server runs; or name the model with --model.',
      retryable: true,
      cause: error,
    });
  }
  if (!response.ok) {
    throw new CadreError(
      'config_invalid',
      `${address} answers ${response.status}, so no model can be chosen`,
      {
        hint: response.status === 401 ? 'Check the key.' : 'Name the model with --model.',
      },
    );
  }
  return response.json().catch(() => undefined);
}
