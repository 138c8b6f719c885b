import { CadreError } from '../../protocol/errors.ts';
import type { Environment } from './environment.ts';
import { type KeyPath, setAt } from './key-path.ts';
import { type Layer, namedLayer } from './layer.ts';

/** The standard variables of OpenAI's own libraries. Keys are never settings: only their variable's name is. */
export function openaiLayer(environment: Environment): Layer {
  return namedLayer('environment', [
    {
      path: ['model_providers', 'openai', 'base_url'],
      value: environment.OPENAI_BASE_URL || undefined,
      where: 'OPENAI_BASE_URL',
    },
  ]);
}

const SWITCH: Readonly<Record<string, boolean>> = {
  on: true,
  true: true,
  '1': true,
  off: false,
  false: false,
  '0': false,
};

/** @throws CadreError `config_invalid` for a `CADRE_MEMORY` that is neither on nor off */
export function memoryLayer({ CADRE_MEMORY: text }: Environment): Layer {
  const value = text ? SWITCH[text.toLowerCase()] : undefined;
  if (text && value === undefined) {
    throw new CadreError('config_invalid', `CADRE_MEMORY is ${JSON.stringify(text)}.`, {
      hint: 'Set it to on or off.',
    });
  }
  return namedLayer('environment', [{ path: ['memory', 'enabled'], value, where: 'CADRE_MEMORY' }]);
}

const TLS_FIELDS = [
  ['serverCACert', 'server_ca_cert'],
  ['clientCert', 'client_cert'],
  ['clientKey', 'client_key'],
] as const;

/**
 * Temporal's own standard: `temporal.toml` and the `TEMPORAL_*` variables, as layers for `[temporal]`.
 *
 * @throws CadreError `config_invalid` for a broken `temporal.toml` or a profile that it lacks
 */
export async function temporalLayers(environment: Environment): Promise<{ file: Layer; variables: Layer }> {
  const { loadClientConfigProfile } = await import('@temporalio/envconfig');
  const overrideEnvVars = Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => !!entry[1]),
  );
  const load = (source: 'file' | 'variables') => {
    try {
      return loadClientConfigProfile(
        source === 'file' ? { disableEnv: true, overrideEnvVars } : { disableFile: true, overrideEnvVars },
      );
    } catch (error) {
      throw new CadreError('config_invalid', `temporal.toml: ${firstLine(error)}`, {
        hint: "Mend Temporal's own configuration file (TEMPORAL_CONFIG_FILE, TEMPORAL_PROFILE) or move it away.",
        cause: error,
      });
    }
  };
  return {
    file: namedLayer(
      'temporal.toml',
      entriesOf(load('file')).map((entry) => ({ ...entry, where: 'temporal.toml' })),
    ),
    variables: namedLayer(
      'environment',
      entriesOf(load('variables')).map((entry) => ({ ...entry, where: variableOf(entry.path) })),
    ),
  };
}

type Profile = ReturnType<typeof import('@temporalio/envconfig').loadClientConfigProfile>;

function entriesOf(profile: Profile): { path: KeyPath; value: unknown }[] {
  const temporal: { [key: string]: unknown } = {};
  setAt(temporal, ['address'], profile.address);
  setAt(temporal, ['namespace'], profile.namespace);
  setAt(temporal, ['api_key'], profile.apiKey);
  if (profile.tls !== undefined) {
    setAt(temporal, ['tls', 'disabled'], profile.tls.disabled);
    setAt(temporal, ['tls', 'server_name'], profile.tls.serverName);
    for (const [field, key] of TLS_FIELDS) {
      const source = profile.tls[field];
      if (source === undefined) continue;
      if ('path' in source) setAt(temporal, ['tls', `${key}_path`], source.path);
      else setAt(temporal, ['tls', `${key}_data`], Buffer.from(source.data).toString('utf8'));
    }
  }
  const entries: { path: KeyPath; value: unknown }[] = [];
  for (const [key, value] of Object.entries(temporal)) {
    if (key !== 'tls') entries.push({ path: ['temporal', key], value });
  }
  for (const [key, value] of Object.entries((temporal.tls as object | undefined) ?? {})) {
    entries.push({ path: ['temporal', 'tls', key], value });
  }
  return entries.filter((entry) => entry.value !== undefined);
}

function variableOf(path: KeyPath): string {
  const name = path.slice(1).join('_').toUpperCase();
  return name === 'TLS_DISABLED' ? 'TEMPORAL_TLS' : `TEMPORAL_${name}`;
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? '';
}
