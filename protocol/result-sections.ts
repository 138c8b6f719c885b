/** The parts in which an agent of the sessions dialect hands back its result, in their order. */
export const RESULT_SECTIONS = ['summary', 'changes', 'evidence', 'risks', 'blockers'] as const;
export type ResultSection = (typeof RESULT_SECTIONS)[number];

/** `ok`: all five have a text; `partial`: some have; `missing`: none. */
export const CONTRACTS = ['ok', 'partial', 'missing'] as const;
export type Contract = (typeof CONTRACTS)[number];

export interface ReadSections {
  contract: Contract;
  /** Those that have a text, as it was written. */
  sections: Partial<Record<ResultSection, string>>;
}

/** What an agent is told that is to hand back its result in sections. */
export const SECTIONS_ASKED = `Your last message is read by an agent, part by part. End it with these five parts, in this order; each begins on a line of its own with its name in capitals and a colon, and is never left out: where there is nothing to say, write "None.".
SUMMARY: one paragraph that says what you did and what came of it
CHANGES: each file that you have changed, with a line about it; "None." if you only read
EVIDENCE: what you found and what shows it, a bullet each, with the place as path:line-range
RISKS: what may go wrong, and what whoever reads this should check again
BLOCKERS: what stopped you; "None." if nothing did`;

/** A heading is a short line, or stands at the beginning of one: the rest of a long line is not looked at. */
const HEADING_MAX = 200;
/** Block quote, Markdown heading, number or bullet, then what opens an emphasis or a bracket, and the name. */
const OPENING =
  /^\s*(?:>\s*)?(?:(#{1,6})\s*|([-*+•]|\d{1,2}[.)])\s+)?([*_`]{0,3}[[【]?)(summary|changes|evidence|risks|blockers)(?![\p{L}\p{N}_-])/iu;
/** What closes it, a remark in parentheses, and the colon or dash; what closes may come behind that. */
const CLOSING = /^([*_`\]】]{0,4})(?:\s*\([^()]*\))?(?:\s*([:：]|[-–—](?=\s|$)))?([*_`\]】]{0,4})(?:\s+|$)?/u;
const FENCE = /^\s*(?:```|~~~)/;
/** Blank, or a rule between two parts. */
const EMPTY = /^\s*(?:[-=_*]{3,}\s*)?$/;

interface Heading {
  section: ResultSection;
  /** What stands behind it on its line. */
  rest: string;
}

interface Part {
  section: ResultSection;
  lines: string[];
}

/**
 * Reads the sections of a result. Markdown headings, bold, numbers, other cases of letters and a missing colon are
 * taken for what they mean; text before the first section belongs to none. Where there are several sets of sections, as
 * where one is quoted, the fullest counts, the last of those that are alike. Never throws.
 */
export function readSections(text: string): ReadSections {
  const lines = text.split(/\r\n|\n|\r/);
  const outside = fullest(partsOf(lines, false));
  // All of it may stand in a fence; else what is fenced in is quoted.
  const sections = Object.keys(outside).length > 0 ? outside : fullest(partsOf(lines, true));
  const count = Object.keys(sections).length;
  const contract = count === RESULT_SECTIONS.length ? 'ok' : count > 0 ? 'partial' : 'missing';
  return { contract, sections };
}

/** @param opensFences whether headings within fences count, which then are no text */
function partsOf(lines: readonly string[], opensFences: boolean): Part[] {
  const parts: Part[] = [];
  let fenced = false;
  for (const line of lines) {
    const isFence = FENCE.test(line.slice(0, HEADING_MAX));
    if (isFence) fenced = !fenced;
    if (isFence && opensFences) continue;
    const heading = fenced && !opensFences ? undefined : headingOf(line);
    if (heading !== undefined) parts.push({ section: heading.section, lines: [heading.rest] });
    else parts.at(-1)?.lines.push(line);
  }
  return parts;
}

function headingOf(line: string): Heading | undefined {
  const start = line.slice(0, HEADING_MAX);
  const opening = OPENING.exec(start);
  if (opening === null) return undefined;
  const [opened, hashes, bullet, emphasis = '', name = ''] = opening;
  const [closed = '', before = '', sign, after = ''] = CLOSING.exec(start.slice(opened.length)) ?? [];
  const text = line.slice(opened.length + closed.length);
  if (closed === '' && text !== '') return undefined;
  const isLoud = name === name.toUpperCase();
  const isAlone = text === '';
  const isMarked = emphasis !== '' && before + after !== '' && (sign !== undefined || isAlone);
  const isLabel = hashes !== undefined || isAlone || sign === ':' || sign === '：';
  // In running text a name may stand in front as well; in a list the more so.
  const isHeading = isLoud || isMarked || (bullet === undefined && isLabel);
  if (!isHeading) return undefined;
  const open = emphasis.replace(/[[【]/u, '');
  const wraps = open !== '' && before + after === '' && text.endsWith(open);
  const rest = wraps ? text.slice(0, -open.length) : text;
  return { section: name.toLowerCase() as ResultSection, rest };
}

/** A set begins with each summary; what comes before the first is one as well. */
function fullest(parts: readonly Part[]): ReadSections['sections'] {
  let best: ReadSections['sections'] = {};
  let set: Part[] = [];
  const settle = (): void => {
    const sections = joined(set);
    if (Object.keys(sections).length >= Object.keys(best).length) best = sections;
    set = [];
  };
  for (const part of parts) {
    if (part.section === 'summary') settle();
    set.push(part);
  }
  settle();
  return best;
}

function joined(parts: readonly Part[]): ReadSections['sections'] {
  const sections: ReadSections['sections'] = {};
  for (const section of RESULT_SECTIONS) {
    const texts = parts.filter((part) => part.section === section).map(({ lines }) => trimmed(lines));
    const text = texts.filter((text) => text !== '').join('\n');
    if (text !== '') sections[section] = text;
  }
  return sections;
}

function trimmed(lines: readonly string[]): string {
  const first = lines.findIndex((line) => !EMPTY.test(line));
  const last = lines.findLastIndex((line) => !EMPTY.test(line));
  return first < 0
    ? ''
    : lines
        .slice(first, last + 1)
        .join('\n')
        .trim();
}
