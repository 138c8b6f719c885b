import { readFileSync } from 'node:fs';

/** The version of this Cadre. */
export function cadreVersion(): string {
  for (const path of ['../package.json', '../../package.json']) {
    try {
      const { version } = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
      if (typeof version === 'string') return version;
    } catch {
      // From source it is one folder up, from dist/ two.
    }
  }
  return 'unknown';
}
