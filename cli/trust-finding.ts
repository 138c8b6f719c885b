import { readTrusted, shellLine } from '../worker/trust.ts';
import type { FolderTrust } from './config/folder-trust.ts';
import type { LoadedConfig } from './config/load.ts';
import type { Finding } from './finding.ts';

/** Whether what this folder brings along counts as the person's. */
export function trustFinding(home: string, { trust, withheld = [] }: Partial<LoadedConfig> = {}): Finding {
  const { problem } = readTrusted(home);
  if (problem !== undefined) {
    const hint = 'Mend it, or move it away and trust your folders anew: cadre trust DIR.';
    return { what: 'trust', state: 'fail', detail: problem, hint };
  }
  if (trust === undefined) return { what: 'trust', state: 'ok', detail: 'what is here is yours' };
  const detail = trustText(trust);
  if (trust.state !== 'changed' && withheld.length === 0) return { what: 'trust', state: 'ok', detail };
  const hint = `Look into its .cadre/config.toml, then: cadre trust ${shellLine([trust.folder])}`;
  return { what: 'trust', state: 'warn', detail, hint };
}

const STATES: Record<FolderTrust['state'], string> = {
  trusted: 'is trusted: its own settings and the roles of its root count as yours',
  changed: 'is trusted, but its settings have changed since: they loosen nothing until you trust it again',
  untrusted: 'is not trusted: its own settings and roles loosen nothing',
};

export function trustText({ folder, state }: FolderTrust): string {
  return `${folder} ${STATES[state]}`;
}
