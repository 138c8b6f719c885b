import pLimit from 'p-limit';
import { type AgentId, type Approval, CadreError, formatDuration } from '../../protocol/index.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { columns, harmless } from '../terminal-text.ts';
import { atAgent, atWorkplace, type Workplace } from '../workplace.ts';

/** For each session that nobody works for, this process does for a moment. */
const AT_ONCE = 4;

/** What waits for a person: in one session, below one agent, or in every open session. */
export default function approvals(
  invocation: Invocation,
  [reference]: [string | undefined],
): Promise<ExitCode> {
  const print = (found: Approval[]): ExitCode => {
    invocation.output.result({ approvals: found }, () => approvalLines(found).join('\n'));
    return EXIT.done;
  };
  if (reference !== undefined) {
    return atAgent(invocation, reference, async (place, id) => print(await pending(place, id)));
  }
  return atWorkplace(invocation, async (place) => {
    const agents = await place.link.reach((client) => client.list());
    const limit = pLimit(AT_ONCE);
    const found = agents
      .filter((agent) => agent.depth === 0)
      .map(({ agent_id: id }) =>
        limit(() =>
          pending(place, id).catch((error: unknown) => {
            if (!(error instanceof CadreError)) throw error;
            // It has closed meanwhile, or nobody can answer for it.
            if (error.code !== 'agent_not_found') invocation.output.warn(`${id}: ${error.message}`);
            return [];
          }),
        ),
      );
    return print((await Promise.all(found)).flat());
  });
}

function pending(place: Workplace, id: AgentId): Promise<Approval[]> {
  return place.withAgent(id, 'answer', (agent) => agent.approvals());
}

/** Whole, however long: who approves has to see what. */
function approvalLines(approvals: readonly Approval[]): string[] {
  if (approvals.length === 0) return ['nothing waits for an approval'];
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
