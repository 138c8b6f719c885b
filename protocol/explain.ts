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

/** What is wrong with each choice of a union, unless the schema's author says in words what it wants. */
function choicesOf(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[][] {
  return issue.code === 'invalid_union' && issue.message === UNSAID ? issue.errors : [];
}

/** Of a union, where only one choice is of the kind that was given, what that one says. */
function ofChoiceMeant(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  const choices = choicesOf(issue);
  const meant = choices.filter((choice) => kindOf(choice) === undefined);
  if (meant.length !== 1 || choices.length === 1) return [issue];
  return (meant[0] ?? []).map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
}

/** Which kind of value a choice wants, where the one that was given is of another. */
function kindOf([first]: readonly z.core.$ZodIssue[]): string | undefined {
  return first?.code === 'invalid_type' && first.path.length === 0 ? first.expected : undefined;
}

function reasonOf(issue: z.core.$ZodIssue, within: number): string {
  const choices = choicesOf(issue);
  if (choices.length === 0 || within === 0) return issue.message;
  const kinds = choices.map(kindOf);
  if (!kinds.includes(undefined)) return ofKinds(choices, kinds);
  const told = choices.slice(0, MOST_ISSUES).map((issues) => explained(issues.slice(0, 1), within - 1));
  const more = choices.length > told.length ? ', or another' : '';
  const demands = [...new Set(told)].map((choice) => choice.replace('Invalid input: ', ''));
  return `${issue.message} (${demands.join(', or ')}${more})`;
}

function ofKinds(choices: readonly z.core.$ZodIssue[][], kinds: readonly (string | undefined)[]): string {
  const [message = UNSAID, first = ''] = [choices[0]?.[0]?.message, kinds[0]];
  return message.replace(first, [...new Set(kinds)].join(' or '));
}

function cut(text: string): string {
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS)}…`;
}
