import type { z } from 'zod';

/** Whoever reads more has read enough: a list of thousands may be wrong in each of its places. */
const MOST_ISSUES = 8;
/** Of one issue, which may name all keys that are too many. */
const MOST_CHARACTERS = 400;
/** How deep it is told what each choice of a union demands. */
const MOST_CHOICES_WITHIN = 2;

/** What zod says where nobody has said more. */
const UNSAID = 'Invalid input';

/** The issues of a zod error in one line: path and reason, and of a union what each of its choices demands. */
export function explain(error: z.ZodError): string {
  return explained(error.issues, MOST_CHOICES_WITHIN);
}

function explained(issues: readonly z.core.$ZodIssue[], within: number): string {
  const all = issues.flatMap(ofChoiceMeant);
  const told = all.slice(0, MOST_ISSUES).map((issue) => {
    const reason = cut(reasonOf(issue, within));
    return issue.path.length === 0 ? reason : `${cut(issue.path.join('.'))}: ${reason}`;
  });
  const more = all.length - told.length;
  return [...told, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}

/** Of a union, where only one choice is of the kind that was given, what that one says. */
function ofChoiceMeant(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union' || issue.message !== UNSAID) return [issue];
  const meant = issue.errors.filter((choice) => kindOf(choice) === undefined);
  if (meant.length !== 1 || issue.errors.length === 1) return [issue];
  return (meant[0] ?? []).map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
}

/** Which kind of value a choice wants, where the one that was given is of another. */
function kindOf([first]: readonly z.core.$ZodIssue[]): string | undefined {
  return first?.code === 'invalid_type' && first.path.length === 0 ? first.expected : undefined;
}

function reasonOf(issue: z.core.$ZodIssue, within: number): string {
  // A message of a schema's own says what its author has to say.
  if (issue.code !== 'invalid_union' || issue.message !== UNSAID) return issue.message;
  if (issue.errors.length === 0 || within === 0) return issue.message;
  const kinds = issue.errors.map(kindOf);
  if (!kinds.includes(undefined)) return ofKinds(issue.errors, kinds);
  const choices = issue.errors
    .slice(0, MOST_ISSUES)
    .map((issues) => explained(issues.slice(0, 1), within - 1));
  const more = issue.errors.length > choices.length ? ', or another' : '';
  const demands = [...new Set(choices)].map((choice) => choice.replace('Invalid input: ', ''));
  return `${issue.message} (${demands.join(', or ')}${more})`;
}

function ofKinds(choices: readonly z.core.$ZodIssue[][], kinds: readonly (string | undefined)[]): string {
  const [message = UNSAID, first = ''] = [choices[0]?.[0]?.message, kinds[0]];
  return message.replace(first, [...new Set(kinds)].join(' or '));
}

function cut(text: string): string {
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS)}…`;
}
