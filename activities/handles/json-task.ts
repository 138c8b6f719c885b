/** What is asked of the thread that parses JSON. */
export type JsonTask = JsonQuestion & { isJsonLines: boolean };

/** `most`: more of the matches than this, as length of a string, is not looked at. */
export type JsonQuestion = { do: 'query'; path: string; most: number } | { do: 'shape' };

export type JsonAnswer =
  /** `lines`: the values that match, each as a line of JSON; the last one may be cut. `isCounted`: all are. */
  | { lines: string[]; matches: number; isCounted: boolean }
  | JsonForm
  | { problem: 'not_json' | 'path' | 'too_deep'; message: string };

/** What JSON is like: one value, or a value on each line. */
export interface JsonForm {
  form: 'json' | 'jsonl';
  shape: JsonShape;
}

export type JsonShape =
  | { type: 'array'; items: number; first?: JsonShape }
  | { type: 'object'; keys: Record<string, string>; items: number }
  | { type: 'string' | 'number' | 'boolean' | 'null' };
