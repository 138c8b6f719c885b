/** The version of the `temporal` program that Cadre brings where there is none; tried with these settings. */
export const PINNED_VERSION = '1.9.1';

/** Older servers lack what agents use. */
export const OLDEST_SERVER = '1.29.0';

/** SHA-256 of the program itself, by platform and processor as Node names them. */
export const PINNED_SHA256: Readonly<Record<string, string>> = {
  'linux-x64': '712217694cac9f786a72d4b6c876cd15f3dcf1bf31434d9fed6af25242a327a0',
  'linux-arm64': '667e9403cb2faaf439ecaa7eb7190e0d08521de6c9118da7fd26ad594281271d',
  'darwin-x64': 'd5776986d343fb789f49e4e7b6d3faca931c0877b71c6d4a7ac39dba467155cc',
  'darwin-arm64': '33c298d41f6eefebf01a28a3511f444480e939e21d3518cb0c12a4abad467c4b',
};

export function pinnedSha256(platform = process.platform, arch = process.arch): string | undefined {
  return PINNED_SHA256[`${platform}-${arch}`];
}
