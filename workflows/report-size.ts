import type { Report } from '../protocol/index.ts';
import { cutMiddle } from './cut-middle.ts';

/** What an agent has said, as its parent is told and keeps it: more than is ever shown of it at once. */
export const TO_PARENT = 400_000;
/** The same at the root, which keeps it for every agent of the session, and passes it on. */
const AT_ROOT = 64_000;
/** All that goes out to those who wait for one agent, in one task. */
const TO_WATCHERS = 1_000_000;
/** All that one who looks agents up is told of them. */
const IN_LOOKUP = 200_000;
/** A cut has to leave something to read. */
const LEAST = 200;

/** A report with its texts cut in the middle where they are longer than what its receiver keeps. */
export function boundedReport(report: Report, receiver: 'parent' | 'root'): Report {
  return withTexts(report, receiver === 'parent' ? TO_PARENT : AT_ROOT);
}

/** The same for so many that wait for the agent. */
export function reportForWatchers(report: Report, watchers: number): Report {
  return withTexts(report, shareOf(TO_WATCHERS, watchers));
}

/** The same in an answer that tells of so many agents. */
export function reportForLookup(report: Report, agents: number): Report {
  return withTexts(report, shareOf(IN_LOOKUP, agents));
}

function shareOf(together: number, count: number): number {
  return Math.max(LEAST, Math.min(AT_ROOT, Math.floor(together / Math.max(1, count))));
}

function withTexts(report: Report, most: number): Report {
  const { view, ended } = report;
  const message = view.message === undefined ? {} : { message: cutMiddle(view.message, most) };
  const said = ended?.message === undefined ? {} : { message: cutMiddle(ended.message, most) };
  return {
    ...report,
    view: { ...view, ...message },
    ...(ended === undefined ? {} : { ended: { ...ended, ...said } }),
  };
}
