import type { AgentSummary, ListFilter } from '../../client/types.ts';
import { formatDuration } from '../../protocol/index.ts';
import { atWorkplace } from '../at-workplace.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { columns, oneLine } from '../terminal-text.ts';

export default function ps(
  invocation: Invocation,
  _args: [],
  { all, orphans, status, role, limit }: Pick<ListFilter, 'all' | 'orphans' | 'status' | 'role' | 'limit'>,
): Promise<ExitCode> {
  return atWorkplace(invocation, async (place) => {
    const filter: ListFilter = {
      ...(all === undefined ? {} : { all }),
      ...(orphans === undefined ? {} : { orphans }),
      ...(status === undefined ? {} : { status }),
      ...(role === undefined ? {} : { role }),
      ...(limit === undefined ? {} : { limit }),
    };
    const agents = await place.link.reach((client) => client.list(filter));
    invocation.output.result({ agents }, () => {
      const rows = agents.map((agent) => [
        agent.agent_id,
        agent.role,
        agent.status + besideStatus(agent),
        agent.model,
        agent.source?.kind.replace('_', '-') ?? '',
        formatDuration(Math.max(0, Date.now() - Date.parse(agent.ended_at ?? agent.started_at))),
        agent.task === undefined ? sealedNote(agent) : oneLine(agent.task, 60),
      ]);
      return columns([['AGENT', 'ROLE', 'STATUS', 'MODEL', 'SOURCE', 'SINCE', 'TASK'], ...rows]).join('\n');
    });
    return EXIT.done;
  });
}

function besideStatus({ closed, status, problem }: AgentSummary): string {
  if (problem !== undefined) return ` (stands still: ${problem})`;
  return closed && status !== 'shutdown' ? ' (closed)' : '';
}

function sealedNote({ missing_key_reason: reason }: AgentSummary): string {
  return reason === undefined ? '' : `(${reason})`;
}
