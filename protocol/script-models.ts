import type { ProviderSettings } from './settings.ts';

/** The models of a provider that plays a script: those that the configuration lists, else one of the provider's name. */
export function scriptModels(provider: string, settings: Pick<ProviderSettings, 'models'> = {}): string[] {
  return settings.models ?? [provider];
}
