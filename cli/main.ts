#!/usr/bin/env node
import module from 'node:module';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(
    `error: Cadre needs Node.js 22.18 or newer; this is ${process.versions.node}\n  Install a newer one, or run it with npx from its own folder.\n`,
  );
  process.exit(2);
}
module.enableCompileCache();
const { main } = await import('./start.ts');
await main(process.argv.slice(2));
