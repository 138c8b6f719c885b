import OpenAI from 'openai';
import { CadreError, type ProviderSettings } from '../../../protocol/index.ts';

/** The variables of whoever serves the session: where keys are found. */
export type Environment = Readonly<Record<string, string | undefined>>;

const OPENAI_URL = 'https://api.openai.com/v1';
const OPENAI_KEY = 'OPENAI_API_KEY';
/** Local servers want no key, but the client wants one to send. */
const NO_KEY = 'none';

/** Where a provider is reached, and with what. Never leaves the worker. */
export interface Endpoint {
  provider: string;
  baseUrl: string;
  /** OpenAI itself, not a server that speaks like it. */
  isOpenAI: boolean;
  key: string | undefined;
  /** The variable that the key came from, or would have come from. */
  keyVariable: string | undefined;
  wireApi: 'responses' | 'chat' | undefined;
  models: string[] | undefined;
  organization: string | null;
  project: string | null;
}

/**
 * Resolves a provider of the configuration.
 *
 * @throws CadreError `config_invalid` when it cannot be reached with what is known
 */
export function endpointOf(
  provider: string,
  settings: ProviderSettings | undefined,
  environment: Environment,
): Endpoint {
  const openai = provider === 'openai';
  const baseUrl =
    settings?.base_url ?? (openai ? (value(environment, 'OPENAI_BASE_URL') ?? OPENAI_URL) : undefined);
  if (baseUrl === undefined) {
    throw new CadreError('config_invalid', `The model provider ${provider} has no base_url.`, {
      hint: `Set base_url under [model_providers.${provider}] in the configuration.`,
    });
  }
  const keyVariable = settings?.env_key ?? (openai ? OPENAI_KEY : undefined);
  const isOpenAI = URL.parse(baseUrl)?.host === URL.parse(OPENAI_URL)?.host;
  return {
    provider,
    baseUrl,
    isOpenAI,
    key: keyOf(provider, settings?.env_key !== undefined || isOpenAI, keyVariable, environment),
    keyVariable,
    wireApi: settings?.wire_api,
    models: settings?.models,
    organization: isOpenAI ? (value(environment, 'OPENAI_ORG_ID') ?? null) : null,
    project: isOpenAI ? (value(environment, 'OPENAI_PROJECT_ID') ?? null) : null,
  };
}

/** A client for it that leaves all retries to Temporal and takes nothing from this process's own environment. */
export function clientOf(endpoint: Endpoint): OpenAI {
  return new OpenAI({
    apiKey: endpoint.key ?? NO_KEY,
    adminAPIKey: null,
    baseURL: endpoint.baseUrl,
    organization: endpoint.organization,
    project: endpoint.project,
    maxRetries: 0,
    logLevel: 'off',
  });
}

/** The address as it may be shown: without what may be secret in it. */
export function shownUrl(baseUrl: string): string {
  const url = URL.parse(baseUrl);
  return url === null ? '(unreadable address)' : `${url.origin}${url.pathname}`.replace(/\/$/, '');
}

function keyOf(
  provider: string,
  needed: boolean,
  variable: string | undefined,
  environment: Environment,
): string | undefined {
  const key = variable === undefined ? undefined : value(environment, variable);
  if (key === undefined && needed) {
    throw new CadreError(
      'config_invalid',
      `No key for the model provider ${provider}: ${variable} is not set.`,
      {
        hint: `Set ${variable} in the environment of whoever works for this session (this command, or its worker).`,
      },
    );
  }
  if (key !== undefined && /[^\x21-\x7e]/.test(key)) {
    throw new CadreError('config_invalid', `The key in ${variable} has characters that no key has.`, {
      hint: `Set ${variable} again; a line break or a quote may have come with it.`,
    });
  }
  return key;
}

function value(environment: Environment, name: string): string | undefined {
  return environment[name]?.trim() || undefined;
}
