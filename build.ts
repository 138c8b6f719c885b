/** Builds dist/: the compiled folders, the roles, and the workflow bundle that workers load. */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';

const root = fileURLToPath(new URL('.', import.meta.url));
process.chdir(root);

// Built beside and swapped in, so that a command that starts meanwhile finds a whole dist.
const next = 'dist.next';
rmSync(next, { recursive: true, force: true });
execFileSync(
  process.execPath,
  ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--outDir', next],
  {
    stdio: 'inherit',
  },
);
cpSync('roles', `${next}/roles`, { recursive: true });
const rehearsal = 'activities/model/script/rehearsal.yaml';
cpSync(rehearsal, `${next}/${rehearsal}`);
chmodSync(`${next}/cli/main.js`, 0o755);

const silent = { log() {}, trace() {}, debug() {}, info() {}, warn: console.warn, error: console.error };
await bundle('workflow-bundle.js', {});
// What seals failures has to be part of the bundle.
await bundle('workflow-bundle-sealed.js', {
  failureConverterPath: `${root}${next}/codec/failure-converter.js`,
});

rmSync('dist', { recursive: true, force: true });
renameSync(next, 'dist');

async function bundle(name: string, converters: { failureConverterPath?: string }): Promise<void> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: `${root}${next}/workflows/index.js`,
    // From source, as in tests, errors of workflow code keep their stacks.
    preloadModules: ['without-stacks', 'preload'].map((file) => `${root}${next}/workflows/${file}.js`),
    payloadConverterPath: `${root}${next}/codec/payload-converter.js`,
    ...converters,
    logger: silent,
  });
  writeFileSync(`${next}/${name}`, withoutSourceMap(code));
}

/**
 * The SDK wants a source map inside the bundle, and reads it at every start of a worker: two thirds of the file. An
 * empty one serves; the bundle is not minified, so stacks still name functions.
 */
function withoutSourceMap(bundle: string): string {
  const mark = '//# sourceMappingURL=';
  const map = { version: 3, file: 'workflow-bundle.js', sources: [], names: [], mappings: '' };
  return `${bundle.slice(0, bundle.lastIndexOf(mark))}${mark}data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`;
}
