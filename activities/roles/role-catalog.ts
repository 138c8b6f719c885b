import { homedir } from 'node:os';
import { isAbsolute, resolve } from 'node:path';
import { CadreError, type Dialect } from '../../protocol/index.ts';
import { aliasesOf, builtinPath, builtinRoles, findBuiltin, isListedIn } from './builtin-roles.ts';
import { type RoleFile, readRoleFiles } from './read-role-files.ts';
import type { Role } from './role.ts';
import { type RoleFolder, roleFolders } from './role-folders.ts';

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
  readonly #trusted: boolean;

  /** @param trusted whether the person trusts the project: its roles may take the place of others whole then */
  constructor(files: readonly RoleFile[], dialect: Dialect, trusted = false) {
    this.files = files;
    this.#dialect = dialect;
    this.#trusted = trusted;
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
    const within = this.#isStrange(file) ? (own?.role ?? findBuiltin(name, this.#dialect)) : undefined;
    return { role, path, origin, aliases: this.#aliases(name), within };
  }

  /**
   * What the person has at home under the name of a project's file, in whatever case: it holds also where the project
   * says otherwise. The very name goes before one in another case.
   */
  #ownLike(file: RoleFile): RoleFile | undefined {
    if (!this.#isStrange(file)) return undefined;
    const { name } = file;
    const like = this.files.filter(
      (each) => each.origin === 'home' && each.name.toLowerCase() === name.toLowerCase(),
    );
    return like.find((each) => each.name === name) ?? like[0];
  }

  /** It may come from anybody, and bounds of others hold for it. */
  #isStrange({ origin }: RoleFile): boolean {
    return origin === 'project' && !this.#trusted;
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
  /** Whether the person trusts the project that the folder belongs to. */
  trusted?: boolean;
}

/** The roles as the files say now. */
export async function readRoleCatalog(places: RolePlaces): Promise<RoleCatalog> {
  return new RoleCatalog(await readRoleFiles(foldersOf(places)), places.dialect, places.trusted);
}

/**
 * One role as its file says now: of all others only the names are looked at, unless there is none of that name.
 *
 * @throws CadreError as `RoleCatalog.named` does
 */
export async function readRole(places: RolePlaces, name: string): Promise<KnownRole> {
  const { dialect } = places;
  const wanted = [name, findBuiltin(name, dialect)?.name ?? name].map((each) => each.toLowerCase());
  const files = await readRoleFiles(foldersOf(places), (each) => wanted.includes(each.toLowerCase()));
  try {
    return new RoleCatalog(files, dialect, places.trusted).named(name);
  } catch (error) {
    if (!(error instanceof CadreError) || error.code !== 'unknown_role') throw error;
    return (await readRoleCatalog(places)).named(name);
  }
}

function foldersOf({ folder, home = '' }: RolePlaces): RoleFolder[] {
  return roleFolders(resolve(folder), isAbsolute(home) ? home : homedir());
}
