import { accessSync, constants } from 'node:fs';
import { CadreError, SEARCH_ATTRIBUTES } from '../../protocol/index.ts';
import { pinnedPath } from '../../server/find.ts';
import { cacheDir, cadreHome, ensureFolder } from '../../server/home.ts';
import { TEMPORAL } from '../../server/pinned.ts';
import { serverStatus } from '../../server/stop.ts';
import { modelLister } from '../config/list-models.ts';
import { type LoadedConfig, loadConfig } from '../config/load.ts';
import { chooseModel } from '../config/model.ts';
import { chooseProvider, requireKey } from '../config/provider.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { TemporalLink } from '../temporal-link.ts';

interface Finding {
  what: string;
  state: 'ok' | 'warn' | 'fail';
  detail: string;
  /** How to mend it. */
  hint?: string;
}

/** Tells what works here and what does not, and how to mend it. */
export default async function doctor(invocation: Invocation): Promise<ExitCode> {
  const findings: Finding[] = [
    { what: 'node', state: 'ok', detail: process.version },
    await check('home', async () => ensureFolder(cadreHome(invocation.environment))),
  ];
  let loaded: LoadedConfig | undefined;
  findings.push(
    await check('configuration', async () => {
      loaded = await loadConfig(invocation.configSources());
      return loaded.files.length === 0 ? 'no file; defaults' : loaded.files.join(', ');
    }),
  );
  for (const notice of loaded?.notices ?? [])
    findings.push({ what: 'configuration', state: 'warn', detail: notice });
  if (loaded !== undefined)
    findings.push(await model(invocation, loaded), ...(await temporal(invocation, loaded)));
  findings.push(await sandbox());
  const { output } = invocation;
  const broken = findings.some(({ state }) => state === 'fail');
  output.result({ ok: !broken, findings }, () => findings.map(findingText).join('\n'));
  return broken ? EXIT.errored : EXIT.done;
}

/** `fail  server  what is wrong`, with the way to mend it on a line of its own. */
function findingText({ what, state, detail, hint }: Finding): string {
  const lines = [...detail.split('\n'), ...(hint === undefined ? [] : [hint])];
  return `${state.padEnd(4)}  ${what.padEnd(17)}  ${lines.join(`\n${' '.repeat(25)}`)}`;
}

async function check(what: string, look: () => Promise<string>): Promise<Finding> {
  try {
    return { what, state: 'ok', detail: await look() };
  } catch (error) {
    return failed(what, error);
  }
}

function failed(what: string, error: unknown): Finding {
  const detail = error instanceof Error ? error.message : String(error);
  const hint = error instanceof CadreError ? error.hint : undefined;
  return { what, state: 'fail', detail, ...(hint === undefined ? {} : { hint }) };
}

async function model(invocation: Invocation, { config }: LoadedConfig): Promise<Finding> {
  try {
    const provider = chooseProvider(config, invocation.environment);
    if (provider.name === 'rehearsal') {
      return {
        what: 'model',
        state: 'warn',
        detail: 'none is configured: a script plays the model',
        hint: 'Set OPENAI_API_KEY, or OPENAI_BASE_URL for a compatible server.',
      };
    }
    requireKey(provider, invocation.environment);
    const name = await chooseModel(config, provider, modelLister(invocation.environment));
    return { what: 'model', state: 'ok', detail: `${name} from ${provider.name}` };
  } catch (error) {
    return failed('model', error);
  }
}

async function temporal(invocation: Invocation, { config }: LoadedConfig): Promise<Finding[]> {
  const home = cadreHome(invocation.environment);
  if (config.temporal.address === undefined) {
    const server = await serverStatus(home);
    if (server === undefined) return [await program()];
    return [
      {
        what: 'server',
        state: 'ok',
        detail: `embedded, ${server.version}, ${server.address}, web ${server.ui}`,
      },
    ];
  }
  try {
    const link = await TemporalLink.open({ temporal: config.temporal, home, output: invocation.output });
    try {
      const known = await link.client.knownSearchAttributes();
      const missing = Object.keys(SEARCH_ATTRIBUTES).filter((name) => !known.includes(name));
      const server: Finding = {
        what: 'server',
        state: 'ok',
        detail: `${link.client.address}, namespace ${link.client.namespace}`,
      };
      if (missing.length === 0)
        return [server, { what: 'search attributes', state: 'ok', detail: 'registered' }];
      const detail = `not registered: ${missing.join(', ')}; all works but the filters`;
      return [
        server,
        { what: 'search attributes', state: 'warn', detail, hint: '`cadre setup` registers them.' },
      ];
    } finally {
      link.close();
    }
  } catch (error) {
    return [failed('server', error)];
  }
}

/** Whether the embedded server could start; nothing is brought for a look. */
async function program(): Promise<Finding> {
  const places = [
    ...(process.env.PATH ?? '').split(':').map((folder) => `${folder}/temporal`),
    pinnedPath(cacheDir(), TEMPORAL),
  ];
  const found = places.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
  if (found !== undefined)
    return { what: 'server', state: 'ok', detail: `embedded, not running; starts ${found}` };
  const detail = 'embedded, not running; its program is brought at the first start (45 MB)';
  return { what: 'server', state: 'ok', detail };
}

async function sandbox(): Promise<Finding> {
  const { sandboxReport } = await import('../../worker/preflight.ts');
  const report = await sandboxReport();
  return {
    what: 'sandbox',
    state: report.works ? 'ok' : 'warn',
    detail: report.detail,
    ...(report.hint === undefined ? {} : { hint: report.hint }),
  };
}
