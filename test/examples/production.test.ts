import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { createProgram } from '../../cli/program.ts';
import { SEARCH_ATTRIBUTES } from '../../protocol/index.ts';
import { CadreHome } from '../e2e/cadre-home.ts';
import { folderWith } from '../support/folders.ts';

const FOLDER = fileURLToPath(new URL('../../examples/production', import.meta.url));
const read = (name: string) => readFileSync(join(FOLDER, name), 'utf8');

interface Service {
  image?: string;
  build?: { context: string; dockerfile: string };
  command?: string[];
  depends_on?: Record<string, { condition: string }>;
  environment?: Record<string, string>;
  healthcheck?: { test: string[] };
  ports?: string[];
  volumes?: string[];
  stop_grace_period?: string;
}
interface Compose {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
}
const { services, volumes } = parse(read('compose.yaml'), { merge: true }) as Compose;
const units = readdirSync(join(FOLDER, 'systemd'));

/** Whether a command line is one of Cadre's, with options that it has. */
function expectCommand([name, ...words]: string[]): void {
  const command = createProgram('0', () => {}).commands.find((each) => each.name() === name);
  expect(command, `cadre ${name}`).toBeDefined();
  for (const word of words.filter((each) => each.startsWith('--'))) {
    expect(
      command?.options.map(({ long }) => long),
      `cadre ${name} ${word}`,
    ).toContain(word);
  }
}

const seconds = (text: string | undefined) => Number(text?.match(/^(\d+)s?$/)?.[1]);
const graceOf = (words: string[]) => seconds(words[words.indexOf('--grace') + 1]);
/** What a worker takes after its grace to give up, with something to spare. */
const SPARE_S = 15;

test('every service of the compose file depends on services and volumes that are there, and on their health only where it is checked', () => {
  for (const [name, { depends_on = {}, volumes: mounts = [], image }] of Object.entries(services)) {
    expect(image, `${name} has an image of one version`).toMatch(/^cadre$|:\d+(\.\d+)*$/);
    for (const [other, { condition }] of Object.entries(depends_on)) {
      expect(services[other], `${name} depends on ${other}`).toBeDefined();
      if (condition === 'service_healthy') expect(services[other]?.healthcheck).toBeDefined();
    }
    for (const source of mounts.map((mount) => mount.split(':', 1)[0] ?? '')) {
      if (!source.startsWith('.')) expect(volumes, `${name} mounts ${source}`).toHaveProperty(source);
    }
  }
});

test('the compose file opens nothing to other machines and holds no password', () => {
  for (const { ports = [], environment = {} } of Object.values(services)) {
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    for (const [name, value] of Object.entries(environment)) {
      if (/PASSWORD|PWD|KEY/.test(name)) expect(value).toMatch(/^\$\{/);
    }
  }
});

test('what the compose file runs of Cadre are its commands, and a worker has the time to drain', () => {
  const ours = Object.values(services).filter(({ image }) => image === 'cadre');
  expect(ours.map(({ command = [] }) => command[0]).toSorted()).toEqual(['setup', 'worker', 'worker']);
  for (const { command = [], build } of ours) {
    expectCommand(command);
    expect(build).toEqual({ context: '../..', dockerfile: 'examples/production/Dockerfile' });
  }
  for (const { command = [], stop_grace_period } of ours.filter(
    ({ command = [] }) => command[0] === 'worker',
  )) {
    expect(seconds(stop_grace_period)).toBeGreaterThanOrEqual(graceOf(command) + SPARE_S);
  }
});

test.each(units)('%s runs a worker that is told to stop alone, and has the time to drain', (unit) => {
  const text = read(join('systemd', unit));
  const value = (name: string) => text.match(new RegExp(`^${name}=(.*)$`, 'm'))?.[1];
  expect(value('KillMode')).toBe('mixed');
  expect(value('KillSignal')).toBe('SIGTERM');
  const [, ...words] = value('ExecStart')?.split(/ (?=worker )| /) ?? [];
  const command = words.slice(words.indexOf('worker'));
  expectCommand(command);
  expect(seconds(value('TimeoutStopSec'))).toBeGreaterThanOrEqual(graceOf(command) + SPARE_S);
});

const analyze = await promisify(execFile)('systemd-analyze', ['--version']).catch(() => undefined);

test.skipIf(analyze === undefined).each(units)('systemd finds nothing wrong with %s', async (unit) => {
  const instance = unit.replace('@.', '@1.');
  // The program stands elsewhere on the machine that it is for.
  const text = read(join('systemd', unit)).replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`);
  const folder = folderWith({ [instance]: text });
  const { stderr } = await promisify(execFile)('systemd-analyze', ['verify', join(folder, instance)]);
  expect(stderr).toBe('');
});

test('the walk-through names every search attribute, with its type', () => {
  for (const [name, type] of Object.entries(SEARCH_ATTRIBUTES)) {
    expect(read('README.md').toLowerCase()).toContain(`--sa "${name}=${type}"`.toLowerCase());
  }
});

test("Temporal's own configuration of the walk-through is what Cadre goes by, keys unsaid", async () => {
  const [, toml = ''] = read('README.md').match(/```toml\n(\[profile\.default\][\s\S]*?)```/) ?? [];
  expect(toml).toContain('tmprl.cloud');
  const home = new CadreHome();
  try {
    const file = join(home.root, 'temporal.toml');
    writeFileSync(file, toml);
    const config = async (env: Record<string, string>) =>
      (await home.run(['config'], { env: { TEMPORAL_CONFIG_FILE: file, ...env } })).stdout;
    const withKey = await config({});
    expect(withKey).toMatch(/temporal\.address.*REGION\.PROVIDER\.api\.temporal\.io:7233.*temporal\.toml/);
    expect(withKey).not.toContain('"…"');
    const withCertificates = await config({ TEMPORAL_PROFILE: 'mtls' });
    expect(withCertificates).toMatch(/temporal\.namespace.*agents\.a1b2c/);
    expect(withCertificates).toMatch(/temporal\.tls\.client_cert_path.*client\.pem/);
  } finally {
    await home.remove();
  }
});
