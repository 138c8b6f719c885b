/** The keys that seal payloads. They are never sent, stored or printed; only their ids are. */
export interface KeyRing {
  /** Id of the key that seals what is written from now on. */
  current: string;
  /** 32 bytes each, by id: every one of them opens what it has sealed. */
  keys: ReadonlyMap<string, Uint8Array>;
}
