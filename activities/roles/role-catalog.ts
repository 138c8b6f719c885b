import { homedir } from 'node:os';
import { isAbsolute, resolve } from 'node:path';
import { CadreError, type Dialect } from '../../protocol/index.ts';
import { aliasesOf, builtinPath, builtinRoles, findBuiltin, isListedIn } from './builtin-roles.ts';
import { type RoleFile, readRoleFiles } from './read-role-files.ts';
import type { Role } from './role.ts';
import { guardedFolders, roleFolders } from './role-folders.ts';

/** A role, and where it comes from. */
export interface KnownRole {
  role: Role;
  origin: 'project' | 'home' | 'built-in';
  path: string;
  /** Other names under which it is asked for. */
  aliases: readonly string[];
  /** The role of the same name that it hides and may not be wider than: a project may come from a stranger. */
  within?: Role | undefined;
}

/** The roles that there are for an agent: of files, the nearest first, and those that come with Cadre. */
export class RoleCatalog {
  readonly files: readonly RoleFile[];
  readonly #dialect: Dialect;

  constructor(files: readonly RoleFile[], dialect: Dialect) {
    this.files = files;
    this.#dialect = dialect;
  }

  /** Every role that agents of this dialect are told of: none is hidden by a nearer one, or broken. */
  all(): KnownRole[] {
    const names = new Set(this.files.map(({ name }) => name));
    const fromFiles = [...names].map((name) => this.#fromFile(name)).filter((role) => role !== undefined);
    const builtin = [...builtinRoles().values()]
      .filter(({ name }) => isListedIn(this.#dialect, name) && !names.has(name))
      .map((role) => this.#builtin(role));
    return [...fromFiles, ...builtin].sort((a, b) => (a.role.name < b.role.name ? -1 : 1));
  }

  /** Every name that is accepted for a role. */
  names(): string[] {
    return [...new Set(this.all().flatMap(({ role, aliases }) => [role.name, ...aliases]))].sort();
  }

  /**
   * The role of that name or alias. One of a file goes by its very name; else case does not matter.
   *
   * @throws CadreError `unknown_role` with the names that are accepted; `config_invalid` where the nearest file of that
   * name is broken: what is further away is another role
   */
  named(name: string): KnownRole {
    const exact = this.files.find((file) => file.name === name);
    const builtin = findBuiltin(name, this.#dialect);
    // An alias means whatever bears the name that it stands for.
    const meant = this.files.find((file) => file.name === builtin?.name);
    const file = exact ?? this.#onlyFileLike(name) ?? meant;
    if (file !== undefined) {
      if (!file.ok) throw file.error;
      const own = this.#ownLike(file);
      if (own?.ok === false) throw own.error;
      return this.#fromFile(file.name) as KnownRole;
    }
    if (builtin !== undefined) return this.#builtin(builtin);
    throw new CadreError('unknown_role', `There is no role ${JSON.stringify(name.slice(0, 100))}.`, {
      hint: `Accepted: ${this.names().join(', ')}.`,
    });
  }

  /** A file whose name differs in case only; a built-in of the very name goes before it. */
  #onlyFileLike(name: string): RoleFile | undefined {
    if (builtinRoles().has(name)) return undefined;
    const like = this.files.filter((file) => file.name.toLowerCase() === name.toLowerCase());
    const [first] = like;
    return like.every((file) => file.name === first?.name) ? first : undefined;
  }

  #fromFile(name: string): KnownRole | undefined {
    const file = this.files.find((file) => file.name === name);
    if (file === undefined || !file.ok) return undefined;
    const { role, path, origin } = file;
    const own = this.#ownLike(file);
    // Nobody knows what it would take away.
    if (own?.ok === false) return undefined;
    const within = file.isStrange ? (own?.role ?? findBuiltin(name, this.#dialect)) : undefined;
    return { role, path, origin, aliases: this.#aliases(name), within };
  }

  /**
   * What there is of the person's own under the name of a stranger's file, in whatever case, at home or where a trusted
   * project keeps its roles: it holds also where the file says otherwise. The very name goes before one in another case,
   * and that before what an alias stands for.
   */
  #ownLike({ name, isStrange }: RoleFile): RoleFile | undefined {
    if (!isStrange) return undefined;
    const own = this.files.filter((each) => !each.isStrange);
    const meant = findBuiltin(name, this.#dialect)?.name;
    return (
      own.find((each) => each.name === name) ??
      own.find((each) => each.name.toLowerCase() === name.toLowerCase()) ??
      own.find((each) => each.name === meant)
    );
  }

  #builtin(role: Role): KnownRole {
    return {
      role,
      origin: 'built-in',
      path: builtinPath(role.name),
      aliases: this.#aliases(role.name),
    };
  }

  /** Without those that are names of files. */
  #aliases(name: string): string[] {
    const taken = new Set(this.files.map((file) => file.name.toLowerCase()));
    return aliasesOf(this.#dialect, name).filter((alias) => !taken.has(alias));
  }
}

export interface RolePlaces {
  /** Where the agent works that asks. */
  folder: string;
  /** Default: that of whoever runs this. */
  home?: string | undefined;
  dialect: Dialect;
  /** Whether the person trusts the project that the folder belongs to: roles of its root may replace others whole then. */
  trusted?: boolean;
}

/** The roles as the files say now. */
export function readRoleCatalog(places: RolePlaces): Promise<RoleCatalog> {
  return readCatalog(places);
}

/**
 * One role as its file says now: of all others only the names are looked at, unless there is none of that name.
 *
 * @throws CadreError as `RoleCatalog.named` does
 */
export async function readRole(places: RolePlaces, name: string): Promise<KnownRole> {
  const { dialect } = places;
  const wanted = [name, findBuiltin(name, dialect)?.name ?? name].map((each) => each.toLowerCase());
  const catalog = await readCatalog(places, (each) => wanted.includes(each.toLowerCase()));
  try {
    return catalog.named(name);
  } catch (error) {
    if (!(error instanceof CadreError) || error.code !== 'unknown_role') throw error;
    return (await readRoleCatalog(places)).named(name);
  }
}

async function readCatalog(
  { folder, home = '', dialect, trusted = false }: RolePlaces,
  isWanted?: (name: string) => boolean,
): Promise<RoleCatalog> {
  const folders = roleFolders(resolve(folder), isAbsolute(home) ? home : homedir());
  const own = trusted ? guardedFolders(resolve(folder)) : [];
  return new RoleCatalog(await readRoleFiles(folders, isWanted, own), dialect);
}
