/** One thing that `cadre doctor` has looked at. */
export interface Finding {
  what: string;
  state: 'ok' | 'warn' | 'fail';
  detail: string;
  /** How to mend it. */
  hint?: string;
}
