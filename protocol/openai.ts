import type { ProviderSettings } from './settings.ts';

const OPENAI_HOST = 'api.openai.com';

/** Whether a provider is OpenAI itself, not a server that only speaks like it, nor a script that plays it. */
export function isOpenAI(provider: string, settings: ProviderSettings | undefined): boolean {
  if (provider !== 'openai' || settings?.script !== undefined) return false;
  return settings?.base_url === undefined || URL.parse(settings.base_url)?.host === OPENAI_HOST;
}
