import { join } from 'node:path';
import { z } from 'zod';
import { type ApprovalRule, approvalRuleSchema, CadreError } from '../../protocol/index.ts';
import { readOrdinaryFile, UnfitFile } from '../../worker/ordinary-file.ts';
import { changeFile } from './change-file.ts';

const rulesFileSchema = z.strictObject({ allow: z.array(approvalRuleSchema) });

/** @param home CADRE_HOME */
export function rulesFile(home: string): string {
  return join(home, 'rules.json');
}

/** What the person has answered with "always". Of a file that cannot be read nothing counts. */
export function readSavedRules(home: string): { rules: readonly ApprovalRule[]; problem?: string } {
  const path = rulesFile(home);
  try {
    const parsed = rulesFileSchema.safeParse(JSON.parse(readOrdinaryFile(path).bytes.toString()));
    if (parsed.success) return { rules: parsed.data.allow };
    const [issue] = parsed.error.issues;
    return broken(path, `${issue?.path.join('.') || 'the whole'}: ${issue?.message}`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return { rules: [] };
    return broken(path, error instanceof UnfitFile ? `it ${message}` : message);
  }
}

function broken(path: string, reason: string): { rules: readonly ApprovalRule[]; problem: string } {
  return { rules: [], problem: `${path} is broken, so none of the saved rules holds (${reason})` };
}

/**
 * Keeps a rule for later sessions; one that is there already is not added again.
 *
 * @returns the file that it stands in
 * @throws CadreError `config_invalid` where that file is broken, `home_unwritable`
 */
export async function saveRule(home: string, rule: ApprovalRule): Promise<string> {
  const path = rulesFile(home);
  await changeFile(home, path, () => {
    const { rules, problem } = readSavedRules(home);
    if (problem !== undefined) {
      throw new CadreError('config_invalid', `${problem}.`, { hint: 'Mend it, or move it away.' });
    }
    const isKnown = rules.some((known) => JSON.stringify(known) === JSON.stringify(rule));
    return isKnown ? undefined : { allow: [...rules, rule] };
  });
  return path;
}
