/**
 * The folders of PATH from which a program may be taken that nothing contains: not those that are relative or belong to
 * installed packages, nor what a repository or a contained command may fill.
 *
 * @param path as PATH is written
 * @param fillable folders below which anything may have been put
 * @param standsFor all by which a folder is reached: its name, links on the way, where it ends; none if it is not there
 */
export function programFolders(
  path: string,
  fillable: readonly string[],
  standsFor: (folder: string) => readonly string[],
): string[] {
  const isFillable = (place: string) =>
    place.split('/').includes('node_modules') ||
    [...TEMPORARY, ...fillable].some((folder) => place === folder || place.startsWith(withSlash(folder)));
  return path.split(':').filter((folder) => {
    const places = folder.startsWith('/') ? standsFor(folder) : [];
    return places.length > 0 && !places.some(isFillable);
  });
}

/** Contained commands write here, too. */
const TEMPORARY = ['/tmp', '/private/tmp', '/private/var/folders'];

function withSlash(folder: string): string {
  return folder.endsWith('/') ? folder : `${folder}/`;
}
