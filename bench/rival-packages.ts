import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = new URL('rivals/', import.meta.url);
export const RIVAL_BUNDLE = fileURLToPath(new URL('node_modules/workflow-bundle.js', folder));

/** Installs what is compared, where it is not there yet, and bundles its workflows; no other command needs it. */
export function prepareRivals(): void {
  const cwd = fileURLToPath(folder);
  if (!isInstalled()) {
    console.error('Installing bench/rivals …');
    execFileSync('npm', ['ci', '--no-fund', '--no-audit'], { cwd, stdio: 'inherit' });
  }
  // In a process of its own, whose memory nobody measures.
  execFileSync(process.execPath, ['bundle.ts', RIVAL_BUNDLE], { cwd, stdio: 'inherit' });
}

/** Exact, as package.json names them. */
export function rivalVersions(): Record<string, string> {
  const text = readFileSync(new URL('package.json', folder), 'utf8');
  return (JSON.parse(text) as { dependencies: Record<string, string> }).dependencies;
}

function isInstalled(): boolean {
  const written = (name: string) => statSync(new URL(name, folder), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return written('node_modules/.package-lock.json') >= written('package-lock.json');
}
