#!/usr/bin/env node
import module from 'node:module';
import { join } from 'node:path';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(
    `error: Cadre needs Node.js 22.18 or newer; this is ${process.versions.node}\n  Install a newer one, or run it with npx from its own folder.\n`,
  );
  process.exit(2);
}
// Not where Node would put it, among temporary files: commands may write to those, and what is found there is run.
const { cacheDir } = await import('../server/home.ts');
module.enableCompileCache(join(cacheDir(), 'compiled'));
const { main } = await import('./start.ts');
await main(process.argv.slice(2));
