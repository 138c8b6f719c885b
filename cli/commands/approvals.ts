import pLimit from 'p-limit';
import { type Approval, formatDuration, localQueue, type SessionId } from '../../protocol/index.ts';
import { askSessions, notAskedText, within } from '../ask-sessions.ts';
import { atAgent, atWorkplace } from '../at-workplace.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { isServed } from '../serving/serving.ts';
import { columns, harmless } from '../terminal-text.ts';

const AT_ONCE = 32;
/** Each session that nobody works for takes a worker of its own for a moment, and half a second of a processor. */
const WORKERS_AT_ONCE = 4;
/** Whoever has not answered by then is named; a worker comes in a second or two. */
const ANSWER_MS = 8_000;

const NOTHING = 'nothing waits for an approval';

/** What waits for a person: in one session, below one agent, or in every open session. */
export default function approvals(
  invocation: Invocation,
  [reference]: [string | undefined],
): Promise<ExitCode> {
  const { output } = invocation;
  if (reference !== undefined) {
    return atAgent(invocation, reference, async (place, id) => {
      const found = await place.withAgent(id, 'answer', (agent) => agent.approvals());
      output.result({ approvals: found }, () => approvalLines(found).join('\n'));
      return EXIT.done;
    });
  }
  return atWorkplace(invocation, async (place) => {
    const roots = (await place.link.reach((client) => client.list())).filter(({ depth }) => depth === 0);
    const workers = pLimit(WORKERS_AT_ONCE);
    const ask = async (session: SessionId): Promise<Approval[]> => {
      const pending = () =>
        place.withAgent(session, 'answer', (agent) => within(ANSWER_MS, session, () => agent.approvals()));
      const isQueued = roots.some(({ agent_id: id, queue }) => id === session && queue !== localQueue(id));
      return isQueued || (await isServed(place.session(session))) ? pending() : workers(pending);
    };
    const { answers, notAsked } = await askSessions(
      roots.map(({ agent_id: id }) => id),
      ask,
      AT_ONCE,
    );
    const found = answers.flat();
    const nothing = notAsked.length === 0 ? NOTHING : `${NOTHING} where it could be asked`;
    output.result({ approvals: found, not_asked: notAsked }, () => approvalLines(found, nothing).join('\n'));
    if (notAsked.length > 0 && output.format === 'text') output.warn(notAskedText(notAsked, roots.length));
    return EXIT.done;
  });
}

/** Whole, however long: who approves has to see what. */
function approvalLines(approvals: readonly Approval[], nothing = NOTHING): string[] {
  if (approvals.length === 0) return [nothing];
  const rows = approvals.map(({ approval_id: id, role, kind, tool, requested_at: at }) => [
    id,
    harmless(role),
    harmless(tool ?? kind),
    formatDuration(Date.now() - Date.parse(at)),
  ]);
  const [head = '', ...heads] = columns([['REQUEST', 'ROLE', 'TOOL', 'AGE'], ...rows]);
  return [
    head,
    ...approvals.flatMap(({ summary, reason }, index) => [
      heads[index] ?? '',
      `  ${harmless(summary)}`,
      `  why: ${harmless(reason)}`,
    ]),
  ];
}
