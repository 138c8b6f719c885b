import { CadreError } from '../../protocol/index.ts';

/** What is wrong with a role's file, beginning with path and line. */
export function brokenRole(path: string, line: number, reason: string): CadreError {
  return new CadreError('config_invalid', `${path}:${line}: ${reason}`, {
    hint: 'Mend the file, or remove it; cadre agents check tells what is wrong with each.',
  });
}

/** A role's file as it was read, whatever its format. */
export interface RoleSource {
  values: Readonly<Record<string, unknown>>;
  /** What an agent is told. */
  body: string;
  /** The line in the file of what stands under these keys, or of the nearest around it. */
  lineOf(keys: readonly PropertyKey[]): number;
}

export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}
