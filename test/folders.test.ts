import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { expect, test } from 'vitest';

interface Arrows {
  /** What a file here may import: folders, packages, `node:` for all of Node, `*` for any package. */
  values: string[];
  /** What it may import besides, but only with `import type`. */
  types?: string[];
}

/** Who may import whom. Within its own folder a file imports what it likes. */
const RULES: Record<string, Arrows> = {
  // Runs everywhere, in the sandbox of workflows too.
  protocol: { values: ['zod', '@noble/hashes'] },
  // Deterministic: whatever has side effects stays on the other side, and is known here only by its types.
  workflows: {
    values: ['protocol', '@temporalio/workflow', '@temporalio/common'],
    types: ['activities', 'zod'],
  },
  activities: {
    values: ['protocol', 'rollout', 'node:'].concat([
      '@temporalio/activity',
      '@temporalio/client',
      '@temporalio/common',
      '*',
    ]),
    types: ['workflows'],
  },
  codec: { values: ['protocol', 'node:', '@temporalio/common', '@temporalio/proto'] },
  // What a session leaves in a file: written by activities, read by them and by clients.
  rollout: { values: ['protocol', 'codec', 'node:', '@temporalio/client'] },
  worker: {
    values: ['protocol', 'workflows', 'activities', 'codec', 'rollout', 'node:'].concat(
      ['client', 'common', 'proto', 'worker'].map((name) => `@temporalio/${name}`),
      ['api', 'exporter-trace-otlp-proto', 'resources', 'sdk-trace'].map((name) => `@opentelemetry/${name}`),
    ),
  },
  server: { values: ['protocol', 'client', 'node:', '@temporalio/client', '@temporalio/proto', '*'] },
  // The package of MCP holds a validator of JSON schemas.
  client: {
    values: ['protocol', 'codec', 'rollout', 'node:', '@modelcontextprotocol/server'].concat(
      ['client', 'common', 'proto'].map((name) => `@temporalio/${name}`),
    ),
    types: ['zod'],
  },
  // No Temporal of its own: the command line talks to agents as every other program does.
  cli: {
    values: ['protocol', 'client', 'codec', 'rollout', 'worker', 'server', 'node:'].concat([
      '@temporalio/envconfig',
      '*',
    ]),
  },
};

interface Import {
  specifier: string;
  typeOnly: boolean;
}

/** The formatter puts every import at the start of a line; dynamic ones and types may stand anywhere. */
function importsOf(source: string): Import[] {
  const statements = source.matchAll(
    /^(?:import|export)\s+(?:(type)\s+)?(?:[\w$*{][^;'"]*?\sfrom\s+)?['"]([^'"]+)['"]/gm,
  );
  const calls = source.matchAll(/(typeof\s+)?\bimport\(\s*['"]([^'"]+)['"]\s*\)/g);
  return [...statements, ...calls].map(([, type, specifier = '']) => ({
    specifier,
    typeOnly: type !== undefined,
  }));
}

/** What an import leads to, as the rules name it: a folder, `node:`, or a package. */
function targetOf(file: string, specifier: string): string {
  if (specifier.startsWith('node:')) return 'node:';
  if (!specifier.startsWith('.')) return specifier.match(/^(@[^/]+\/)?[^/]+/)?.[0] ?? specifier;
  return posix.join(posix.dirname(file), specifier).split('/')[0] ?? '';
}

function allows(allowed: readonly string[], target: string, isPackage: boolean): boolean {
  if (allowed.includes(target)) return true;
  // Temporal's packages are named one by one even where others are free.
  return isPackage && allowed.includes('*') && !target.startsWith('@temporalio/');
}

function forbiddenImports(file: string, source: string): string[] {
  const folder = file.split('/')[0] ?? '';
  const { values, types = [] } = RULES[folder] ?? { values: [] };
  return importsOf(source)
    .filter(({ specifier, typeOnly }) => {
      const target = targetOf(file, specifier);
      const isPackage = !specifier.startsWith('.') && target !== 'node:';
      return target !== folder && !allows(typeOnly ? [...values, ...types] : values, target, isPackage);
    })
    .map(({ specifier, typeOnly }) => `${file} imports ${typeOnly ? 'types of ' : ''}${specifier}`);
}

test('no file imports what its folder may not', () => {
  const files = globSync(Object.keys(RULES).map((folder) => `${folder}/**/*.ts`));
  expect(files.length).toBeGreaterThan(100);
  expect(files.flatMap((file) => forbiddenImports(file, readFileSync(file, 'utf8')))).toEqual([]);
});

test('every folder that is built has its rule', () => {
  const { include } = JSON.parse(readFileSync('tsconfig.build.json', 'utf8'));
  expect(Object.keys(RULES).sort()).toEqual([...include].sort());
});

test.each([
  ['workflows/turn.ts', `import { model } from '../activities/index.ts';`],
  ['workflows/operations/wait.ts', `import {\n  a,\n  type B,\n} from '../../activities/model/model.ts';`],
  ['workflows/turn.ts', `import { readFile } from 'node:fs/promises';`],
  ['workflows/turn.ts', `import type { Client } from '@temporalio/client';`],
  ['workflows/turn.ts', `import { z } from 'zod';`],
  ['activities/tools/shell.ts', `import { agent } from '../../workflows/index.ts';`],
  ['activities/index.ts', `import { Worker } from '@temporalio/worker';`],
  ['protocol/ids.ts', `import { randomUUID } from 'node:crypto';`],
  ['protocol/ids.ts', `import 'yaml';`],
  ['protocol/ids.ts', `export * from '../codec/index.ts';`],
  ['codec/index.ts', `import type { CadreClient } from '../client/client.ts';`],
  ['client/client.ts', `const { ensureServer } = await import('../server/index.ts');`],
  ['server/start.ts', `import { main } from '../cli/start.ts';`],
  ['cli/start.ts', `type Shell = typeof import('../activities/tools/shell.ts');`],
  ['cli/commands/run.ts', `import type { AgentInput } from '../../workflows/agent.ts';`],
  ['cli/commands/run.ts', `import { Client } from '@temporalio/client';`],
  ['cli/commands/run.ts', `import { folderWith } from '../../test/support/folders.ts';`],
])('a forbidden import is found: in %s, %s', (file, source) => {
  expect(forbiddenImports(file, `/** What it is. */\n${source}\n\nexport const a = 1;\n`)).toHaveLength(1);
});

test.each([
  ['workflows/turn.ts', `import type { Activities } from '../activities/index.ts';`],
  ['activities/index.ts', `import type { agent } from '../workflows/index.ts';`],
  ['protocol/digest.ts', `import { sha256 } from '@noble/hashes/sha2.js';`],
  ['cli/program.ts', `import { Command } from 'commander';`],
  ['cli/commands/run.ts', `import { output } from '../output.ts';`],
])('an allowed import is let through: in %s, %s', (file, source) => {
  expect(forbiddenImports(file, source)).toEqual([]);
});
