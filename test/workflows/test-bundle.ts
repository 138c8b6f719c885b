import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';
import { payloadConverterPath } from '../../codec/index.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const interceptors = fileURLToPath(new URL('./test-interceptors.ts', import.meta.url));
const cache = join(repository, 'node_modules', '.cache', 'cadre-test');

export interface Bundle {
  codePath: string;
}

const made = new Map<string, Promise<Bundle>>();

/**
 * The workflows with the test's interceptors, bundled once for all test files: it takes seconds. With a change, the name
 * of a file beside this one, they also have the interceptors of that.
 */
export function workflowBundle(change = ''): Promise<Bundle> {
  const bundle = made.get(change) ?? make(change === '' ? [] : [join(import.meta.dirname, change)]);
  made.set(change, bundle);
  return bundle;
}

async function make(changes: string[]): Promise<Bundle> {
  const modules = [interceptors, ...changes];
  const codePath = join(cache, `workflows-${sourcesHash(modules)}.js`);
  if (existsSync(codePath)) return { codePath };
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(repository, 'workflows', 'index.ts'),
    preloadModules: [join(repository, 'workflows', 'preload.ts')],
    workflowInterceptorModules: modules,
    payloadConverterPath: payloadConverterPath(),
    logger: { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error: console.error },
  });
  mkdirSync(cache, { recursive: true });
  // Under another name first, since other test files may look for it at the same time.
  const unfinished = `${codePath}.${process.pid}`;
  writeFileSync(unfinished, code);
  renameSync(unfinished, codePath);
  return { codePath };
}

function sourcesHash(interceptorModules: readonly string[]): string {
  const hash = createHash('sha256');
  for (const folder of ['workflows', 'protocol', 'codec']) {
    const files = readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' }).sort();
    for (const file of files.filter((name) => name.endsWith('.ts'))) {
      hash.update(`${file}\n`).update(readFileSync(join(repository, folder, file)));
    }
  }
  for (const file of [...interceptorModules, join(repository, 'package-lock.json')])
    hash.update(readFileSync(file));
  return hash.digest('hex').slice(0, 16);
}
