/** The keys that seal payloads. They are never sent, stored or printed; only their ids are. */
export interface KeyRing {
  /** Id of the key that seals what is written from now on. */
  current: string;
  /** 32 bytes each, by id: every one of them opens what it has sealed. */
  keys: ReadonlyMap<string, Uint8Array>;
}

/** Ids of the keys of a ring; none without one. */
export function keyIds(ring: KeyRing | undefined): string[] {
  return [...(ring?.keys.keys() ?? [])];
}

/** What to do about a key that is missing. */
export function missingKeyHint(key: string): string {
  return `Add the key ${key} to what [encryption] of the configuration names (key_env or key_file): docs/encryption.md.`;
}
