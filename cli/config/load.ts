import { homedir } from 'node:os';
import { dirname } from 'node:path';
import { cadreHome } from '../../server/home.ts';
import { projectRoot, shellLine } from '../../worker/trust.ts';
import { harmless } from '../terminal-text.ts';
import { readSavedRules } from '../trust/saved-rules.ts';
import { builtInLayers, CLASSIC } from './built-in-layers.ts';
import { type ConfigFile, makeAbsolute, repositoryFile, userFile } from './config-files.ts';
import type { Environment } from './environment.ts';
import { memoryLayer, openaiLayer, temporalLayers } from './environment-layer.ts';
import { type FolderTrust, folderTrust } from './folder-trust.ts';
import { formatKey, leaves, removeAt, type Table, valueAt } from './key-path.ts';
import { DEFAULT_ORIGIN, type Layer, namedLayer, type Origin, stack } from './layer.ts';
import { runInRepository } from './mcp-servers.ts';
import { overrideLayer } from './overrides.ts';
import { type ConfigProblem, problemsOf, throwProblems, withholdInvalid } from './problems.ts';
import { checkProfile, chosenProfile, profileLayer } from './profiles.ts';
import { type Conflict, conflictsIn, usualWait } from './relations.ts';
import { withholdLoosening } from './repository.ts';
import { type Config, configSchema } from './schema.ts';

export interface ConfigSources {
  /** Where the repository is looked for. */
  cwd: string;
  /** Where the command was typed: paths in `-c` are relative to it (default: `cwd`). */
  typedIn?: string;
  environment: Environment;
  /** `--profile`. */
  profile?: string | undefined;
  /** `-c key=value`, in the order given. */
  overrides?: readonly string[];
  /** Settings with an option of their own, such as `--model`. */
  flags?: readonly Flag[];
}
export interface Flag {
  path: readonly string[];
  value: unknown;
  where: string;
}

export interface LoadedConfig {
  config: Config;
  originOf(key: string): Origin;
  /** What a person should know: settings that were ignored, and why. */
  notices: string[];
  /** The files that were read. */
  files: string[];
  /** Whether the folder's own settings count as the person's; absent where they are the person's. */
  trust?: FolderTrust;
  /** Keys of the folder's own settings that do not count, since it is not trusted. */
  withheld: string[];
}

/**
 * Reads the configuration from all its places; later ones win: the person's file, the repository's, the profile,
 * `temporal.toml`, environment variables, `-c`, options.
 *
 * @throws CadreError `config_invalid`, with file, line and the closest known key
 */
export async function loadConfig(sources: ConfigSources): Promise<LoadedConfig> {
  const home = sources.environment.HOME || homedir();
  const user = userFile(sources.environment, home);
  const repository = repositoryFile(sources.cwd, home, user?.path);
  const files = [user, repository].filter((file) => file !== undefined);
  const trust = folderTrust(cadreHome(sources.environment), sources.cwd, repository?.digest);
  const isStrange = repository !== undefined && trust.state !== 'trusted';
  // A stranger's mistake is no reason to refuse every run in the folder.
  if (repository?.broken !== undefined && !isStrange) throw repository.broken;
  const stranger = isStrange ? repository : undefined;
  const overrides = overrideLayer(sources.overrides ?? []);
  makeAbsolute(overrides.values, sources.typedIn ?? sources.cwd, home);
  for (const file of files) makeAbsolute(file.layer.values, dirname(file.path), home);
  if (repository !== undefined && !isStrange) {
    runInRepository(repository.layer.values, projectRoot(sources.cwd), home);
  }
  const temporal = await temporalLayers(sources.environment);
  const fromOutside = [
    temporal.file,
    openaiLayer(sources.environment),
    memoryLayer(sources.environment),
    temporal.variables,
  ];
  const flags = namedLayer('flag', [
    { path: ['profile'], value: sources.profile, where: '--profile' },
    ...(sources.flags ?? []),
  ]);

  const invalid = stranger === undefined ? [] : withholdInvalid(stranger.layer);
  throwProblems(
    [...files.map((file) => file.layer), ...fromOutside, overrides, flags].flatMap((l) => problemsOf(l)),
  );

  const naming = [...present(isStrange ? undefined : repository?.layer), ...present(user?.layer)];
  const profile = chosenProfile(sources.profile, overrides, naming);
  checkProfile(profile, files, sources.profile === undefined ? [overrides, ...naming] : []);
  const personal = [...present(user?.layer), ...present(profileLayer(user, profile))];
  const ignored = stranger === undefined ? [] : withhold(stranger, personal, profile);
  const settle = (): Settled =>
    settled(
      [
        ...present(user?.layer),
        ...present(repository?.layer),
        ...present(profileLayer(user, profile)),
        ...present(profileLayer(repository, profile)),
        ...fromOutside,
        overrides,
        flags,
      ],
      profile,
    );
  let inForce = settle();
  if (stranger !== undefined && inForce.conflicts.length > 0) {
    invalid.push(...withholdConflicting(stranger, profile, inForce));
    inForce = settle();
  }
  throwProblems(inForce.conflicts);
  const { config, origins } = inForce;
  const notices = invalid.map(({ where, message }) => `${where}: ignored ${message}`);
  if (stranger?.broken !== undefined)
    notices.unshift(`${stranger.broken.message.replace(/\.$/, '')}; its settings do not count`);
  if (stranger !== undefined && ignored.length > 0)
    notices.push(ignoredNotice(stranger.show, ignored, trust));
  const { problem } = readSavedRules(cadreHome(sources.environment));
  if (problem !== undefined) notices.push(problem);
  return {
    config,
    originOf: (key) => origins.get(key) ?? DEFAULT_ORIGIN,
    notices: notices.map(harmless),
    files: files.filter((file) => file.broken === undefined).map((file) => file.path),
    withheld: ignored,
    ...(trust.folder === home ? {} : { trust }),
  };
}

/** Takes out what loosens from the repository's settings and from its version of the chosen profile. */
function withhold(file: ConfigFile, personal: readonly Layer[], profile: string | undefined): string[] {
  const { values, origins } = stack([...builtIns(personal, profile), ...personal]);
  const person = {
    values: parse(values) as unknown as Table,
    isSet: (path: readonly string[]) => origins.has(formatKey(path)),
  };
  const inProfile = profileLayer(file, profile)?.values ?? {};
  return [
    ...new Set([...withholdLoosening(file.layer.values, person), ...withholdLoosening(inProfile, person)]),
  ];
}

interface Settled {
  config: Config;
  origins: Map<string, Origin>;
  conflicts: Conflict[];
}

/** The settings in force, and what does not hold together in them. */
function settled(written: readonly Layer[], profile: string | undefined): Settled {
  const { values, origins } = stack([...builtIns(written, profile), ...written]);
  const config = parse(values);
  const originOf = (key: string): Origin => origins.get(key) ?? DEFAULT_ORIGIN;
  const usual = usualWait(config, originOf);
  if (usual !== undefined) {
    config.agents.wait_default_ms = usual.value;
    origins.set('agents.wait_default_ms', usual.origin);
  }
  return { config, origins, conflicts: conflictsIn(config, originOf) };
}

/** Takes out what a repository has brought into contradiction with the rest. */
function withholdConflicting(
  file: ConfigFile,
  profile: string | undefined,
  { conflicts, origins }: Settled,
): ConfigProblem[] {
  const layers = [file.layer, ...present(profileLayer(file, profile))];
  return conflicts.flatMap((problem) => {
    const own = problem.keys.filter((key) => origins.get(key)?.where.startsWith(file.show));
    for (const key of own)
      for (const { values } of layers) {
        const path = leaves(values).find(([path]) => formatKey(path) === key)?.[0];
        if (path !== undefined) removeAt(values, path);
      }
    const [key] = own;
    if (key === undefined) return [];
    const message = problem.message.startsWith(`${key}: `) ? problem.message : `${key}: ${problem.message}`;
    return [{ where: origins.get(key)?.where ?? file.show, message }];
  });
}

/** Also what the person could do about it. */
function ignoredNotice(
  file: string,
  keys: readonly string[],
  { folder, state, problem }: FolderTrust,
): string {
  const why =
    state === 'changed'
      ? 'the file is not what it was when you trusted its folder'
      : "a repository's own settings may not loosen anything until you trust its folder";
  const broken = problem === undefined ? '' : ` ${problem}.`;
  return `${file}: ignored ${keys.join(', ')}: ${why}.${broken} Where you mean them, look into it, then: cadre trust ${shellLine([folder])}`;
}

function builtIns(written: readonly Layer[], profile: string | undefined): Layer[] {
  const { values } = stack(written);
  const classic = profile === CLASSIC || valueAt(values, ['agents', 'profile']) === CLASSIC;
  return builtInLayers(valueAt(values, ['agents', 'dialect']) ?? 'collab', classic);
}

function parse(values: Table): Config {
  const own = structuredClone(values);
  removeAt(own, ['profiles']);
  return configSchema.parse(own);
}

function present<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}
