import { CadreError } from '../../protocol/errors.ts';
import { CLASSIC } from './built-in-layers.ts';
import { closestName } from './closest-key.ts';
import type { ConfigFile } from './config-files.ts';
import { isTable, type Table, valueAt } from './key-path.ts';
import type { Layer } from './layer.ts';

/** The profile in force: `--profile`, `-c profile=`, or the one that a file names, the first before the others. */
export function chosenProfile(
  flag: string | undefined,
  overrides: Layer,
  files: readonly Layer[],
): string | undefined {
  const named = [overrides, ...files].map(({ values }) => valueAt(values, ['profile']));
  const chosen = flag ?? named.find((name) => name !== undefined);
  return chosen === undefined ? undefined : String(chosen);
}

/**
 * @param namedBy settings that may have named it; else an option has
 * @throws CadreError `config_invalid` for a profile that no file defines, with the place that names it
 */
export function checkProfile(
  profile: string | undefined,
  files: readonly ConfigFile[],
  namedBy: readonly Layer[],
): void {
  if (profile === undefined || profile === CLASSIC) return;
  const known = files.flatMap((file) => Object.keys((file.layer.values.profiles as Table | undefined) ?? {}));
  if (known.includes(profile)) return;
  const closest = closestName(profile, [...known, CLASSIC]);
  const meant = closest === undefined ? '' : `; the closest is ${closest}`;
  const layer = namedBy.find(({ values }) => valueAt(values, ['profile']) !== undefined);
  const place = layer === undefined ? '' : `${layer.originOf(['profile']).where}: `;
  throw new CadreError('config_invalid', `${place}there is no profile ${profile}${meant}`, {
    hint: `Profiles are tables [profiles.NAME] in the configuration file; known: ${[...known, CLASSIC].join(', ')}.`,
  });
}

/** What one file says in the chosen profile. */
export function profileLayer(file: ConfigFile | undefined, profile: string | undefined): Layer | undefined {
  if (file === undefined || profile === undefined) return undefined;
  const prefix = ['profiles', profile];
  const values = valueAt(file.layer.values, prefix);
  if (!isTable(values)) return undefined;
  const originOf: Layer['originOf'] = (path) => ({
    layer: 'profile',
    where: `${file.layer.originOf([...prefix, ...path]).where} (profile ${profile})`,
  });
  return { values, originOf };
}
