import { rm, statfs, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CadreClient } from '../../client/client.ts';
import { CadreError, type KeyRing, SEARCH_ATTRIBUTES } from '../../protocol/index.ts';
import { pinnedPath, programHere } from '../../server/find.ts';
import { cacheDir, cadreHome, ensureCacheFolder, ensureFolder, unwritable } from '../../server/home.ts';
import { TEMPORAL } from '../../server/pinned.ts';
import { serverStatus } from '../../server/stop.ts';
import { loadKeys } from '../config/encryption.ts';
import { modelLister } from '../config/list-models.ts';
import { type LoadedConfig, loadConfig } from '../config/load.ts';
import { chooseModel } from '../config/model.ts';
import { chooseProvider, requireKey } from '../config/provider.ts';
import { keyFinding, missingKeyFindings, type Sealed } from '../encryption-findings.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Finding } from '../finding.ts';
import type { Invocation } from '../invocation.ts';
import { mcpFindings } from '../mcp-findings.ts';
import { memoryFinding } from '../memory-finding.ts';
import { sandboxFinding } from '../sandbox-finding.ts';
import { SessionFiles } from '../serving/session-files.ts';
import { TemporalLink } from '../temporal-link.ts';
import { harmless } from '../terminal-text.ts';
import { trustFinding } from '../trust-finding.ts';

/** Tells what works here and what does not, and how to mend it. */
export default async function doctor(invocation: Invocation): Promise<ExitCode> {
  const findings: Finding[] = [
    { what: 'node', state: 'ok', detail: process.version },
    await look('home', () => home(cadreHome(invocation.environment))),
  ];
  let loaded: LoadedConfig | undefined;
  findings.push(
    await look('configuration', async () => {
      loaded = await loadConfig(invocation.configSources());
      const detail = loaded.files.length === 0 ? 'no file; defaults' : loaded.files.join(', ');
      return { what: 'configuration', state: 'ok', detail };
    }),
  );
  for (const notice of loaded?.notices ?? [])
    findings.push({ what: 'configuration', state: 'warn', detail: notice });
  if (loaded !== undefined) {
    const sealed: Sealed[] = [];
    const server = await temporal(invocation, loaded, sealed);
    const keys = await encryption(invocation, loaded, sealed);
    const { config } = loaded;
    findings.push(
      await look('model', modelOf(invocation, loaded)),
      await look('trust', async () => trustFinding(cadreHome(invocation.environment), loaded)),
      await look('memory', () => memoryFinding(config, cadreHome(invocation.environment))),
      ...(await mcpFindings(config, invocation.environment, invocation.cwd)),
      ...keys,
      ...server,
    );
  }
  findings.push(await look('sandbox', () => sandboxFinding(loaded?.config)));
  const { output } = invocation;
  const broken = findings.some(({ state }) => state === 'fail');
  output.result({ ok: !broken, findings }, () => findings.map(findingText).join('\n'));
  return broken ? EXIT.errored : EXIT.done;
}

/** `fail  server  what is wrong`, with the way to mend it on a line of its own. */
function findingText({ what, state, detail, hint }: Finding): string {
  // Servers of tools have a say in it.
  const lines = [...harmless(detail).split('\n'), ...(hint === undefined ? [] : [harmless(hint)])];
  return `${state.padEnd(4)}  ${what.padEnd(17)}  ${lines.join(`\n${' '.repeat(25)}`)}`;
}

/** Whatever fails is a finding, too. */
async function look(what: string, find: () => Promise<Finding>): Promise<Finding> {
  try {
    return await find();
  } catch (error) {
    return failed(what, error);
  }
}

function failed(what: string, error: unknown): Finding {
  const detail = error instanceof Error ? error.message : String(error);
  const hint = error instanceof CadreError ? error.hint : undefined;
  return { what, state: 'fail', detail, ...(hint === undefined ? {} : { hint }) };
}

/** The server's database alone takes so much to begin with. */
const PROBE_BYTES = 2_000_000;
const LITTLE_BYTES = 100_000_000;

/** A look at rights does not see a disk that is full, or a quota: something is written and removed. */
async function home(folder: string): Promise<Finding> {
  ensureFolder(folder);
  const probe = join(folder, `doctor-${process.pid}.tmp`);
  try {
    await writeFile(probe, Buffer.alloc(PROBE_BYTES, 'x'), { flush: true });
  } catch (error) {
    throw unwritable(folder, error);
  } finally {
    await rm(probe, { force: true });
  }
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  if (free >= LITTLE_BYTES) return { what: 'home', state: 'ok', detail: folder };
  return {
    what: 'home',
    state: 'warn',
    detail: `${folder}; only ${Math.floor(free / 1e6)} MB are free on its disk, and every session takes some`,
    hint: 'Make room there, or set CADRE_HOME to a folder on another disk.',
  };
}

function modelOf(invocation: Invocation, { config }: LoadedConfig): () => Promise<Finding> {
  return async () => {
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
    const detail = `${name} from ${provider.name}`;
    if (config.tools.web_search && config.model_providers[provider.name]?.wire_api === 'chat') {
      return {
        what: 'model',
        state: 'warn',
        detail: `${detail}; tools.web_search is on, but Chat Completions have no search`,
        hint: `Set wire_api = "responses" under [model_providers.${provider.name}] if it speaks that, or tools.web_search = false.`,
      };
    }
    return { what: 'model', state: 'ok', detail };
  };
}

/** The keys that are configured, and those that sessions are sealed with. */
async function encryption(
  { environment }: Invocation,
  { config }: LoadedConfig,
  onServer: readonly Sealed[],
): Promise<Finding[]> {
  const own = await look('encryption', async () => keyFinding(config.encryption, environment));
  if (own.state === 'fail') return [own];
  const records = await new SessionFiles(cadreHome(environment)).all();
  const here = records.map(({ session_id: session, key_ids: keys = [] }) => ({ session, keys }));
  return [own, ...missingKeyFindings([...here, ...onServer], loadKeys(config.encryption, environment))];
}

/** So many of the newest open agents are looked at. */
const LOOKED_AT = 200;

/** @param sealed gets what is found there that cannot be opened with any key that is here */
async function temporal(
  { environment, output }: Invocation,
  { config }: LoadedConfig,
  sealed: Sealed[],
): Promise<Finding[]> {
  const home = cadreHome(environment);
  const { address, namespace } = config.temporal;
  const keys = keysOrNone(config.encryption, environment);
  try {
    if (address === undefined) {
      const running = await serverStatus(home);
      if (running === undefined) return [await stopped()];
      const detail = `embedded, ${running.version}, ${running.address}, web ${running.ui}`;
      const { CadreClient } = await import('../../client/client.ts');
      const at = namespace === undefined ? {} : { namespace };
      const sealing = keys === undefined ? {} : { encryption: keys };
      const client = await CadreClient.connect({ address: running.address, ...at, ...sealing });
      return await served(client, detail, sealed).finally(() => client.close());
    }
    const encryption = { keys, config: config.encryption };
    const link = await TemporalLink.open({ temporal: config.temporal, home, output, encryption });
    const { client } = link;
    const detail = `${client.address}, namespace ${client.namespace}`;
    return await served(client, detail, sealed).finally(() => link.close());
  } catch (error) {
    return [failed('server', error)];
  }
}

/** Keys that cannot be read are a finding of their own. */
function keysOrNone(...where: Parameters<typeof loadKeys>): KeyRing | undefined {
  try {
    return loadKeys(...where);
  } catch {
    return undefined;
  }
}

/** A server that answers, and whether it has what Cadre needs of it. */
async function served(client: CadreClient, detail: string, sealed: Sealed[]): Promise<Finding[]> {
  for (const { session_id: session, missing_key: key } of await client.list({ limit: LOOKED_AT }))
    if (key !== undefined) sealed.push({ session, keys: [key], isUnread: true });
  const known = await client.knownSearchAttributes();
  const missing = Object.keys(SEARCH_ATTRIBUTES).filter((name) => !known.includes(name));
  const server: Finding = { what: 'server', state: 'ok', detail };
  if (missing.length === 0) return [server, { what: 'search attributes', state: 'ok', detail: 'registered' }];
  const lacking = `not registered: ${missing.join(', ')}; all works but the filters`;
  const hint = '`cadre setup` registers them.';
  return [server, { what: 'search attributes', state: 'warn', detail: lacking, hint }];
}

/** Whether the embedded server could start; nothing is brought for a look. */
async function stopped(): Promise<Finding> {
  const ok = (detail: string): Finding => ({
    what: 'server',
    state: 'ok',
    detail: `embedded, not running; ${detail}`,
  });
  const passedOver: string[] = [];
  const program = await programHere({
    cacheDir: cacheDir(),
    onProgress: (text) => void passedOver.push(`\n${text}`),
  });
  const notes = passedOver.join('');
  if (program !== undefined) return ok(`starts ${program.path} (server ${program.version})${notes}`);
  ensureCacheFolder(dirname(pinnedPath(cacheDir(), TEMPORAL)));
  return ok(`its program is brought at the first start (${TEMPORAL.megabytes} MB, to ${cacheDir()})${notes}`);
}
