import { type Decided, type Decision, nameOf } from '../../protocol/index.ts';
import { harmless } from '../terminal-text.ts';

const SAID: Readonly<Record<Decision, string>> = {
  approve: 'approved once',
  approve_for_session: 'approved for the session',
  deny: 'denied',
  abort: 'denied, and its turn is stopped',
};

/** What was decided, how far it goes, what it is about and whose: `approved once: rm -r build (worker-1, shell)`. */
export function decisionText({ decision, summary, asking_id: asking, tool }: DecidedShown): string {
  const who = tool === undefined ? nameOf(asking) : `${nameOf(asking)}, ${harmless(tool)}`;
  return `${SAID[decision]}: ${harmless(summary)} (${who})`;
}

type DecidedShown = Pick<Decided, 'decision' | 'summary' | 'asking_id' | 'tool'>;
