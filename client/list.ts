import { type Client, type WorkflowExecutionInfo, WorkflowNotFoundError } from '@temporalio/client';
import {
  defineSearchAttributeKey,
  SearchAttributeType,
  type TypedSearchAttributes,
} from '@temporalio/common';
import {
  type AgentId,
  depthOf,
  missingAbove,
  nameOf,
  orphansOf,
  parentOf,
  type Source,
  STATUSES,
  type Status,
  sealedReason,
  sessionOf,
  WORKFLOW_TYPE,
} from '../protocol/index.ts';
import { isStillThere, STILL_RUNS } from '../protocol/lives.ts';
import type { AgentSummary, ListFilter } from './types.ts';

/** The list of agents, from search attributes and memo; what the namespace does not index is told from the id. */
export async function listAgents(client: Client, filter: ListFilter): Promise<AgentSummary[]> {
  if (filter.orphans === true) return listOrphans(client, filter);
  const agents: AgentSummary[] = [];
  // The newest come first: further runs of an agent are lives that it has left behind.
  const seen = new Set<string>();
  for await (const execution of client.workflow.list({ query: queryOf(filter) })) {
    if (seen.has(execution.workflowId)) continue;
    seen.add(execution.workflowId);
    const summary = summaryOf(execution);
    if (matches(summary, filter)) agents.push(summary);
    if (agents.length >= (filter.limit ?? Number.POSITIVE_INFINITY)) break;
  }
  return agents;
}

/** Those that run on though somebody above them has ended: to see that takes the whole list. */
async function listOrphans(client: Client, filter: ListFilter): Promise<AgentSummary[]> {
  const { session } = filter;
  const running = await listAgents(client, session === undefined ? {} : { session });
  const ids = running.map(({ agent_id: id }) => id);
  const ended: AgentId[] = [];
  for (const id of missingAbove(ids)) if (await hasEnded(client, id)) ended.push(id);
  const orphans = new Set(orphansOf(ids, ended));
  return running
    .filter((summary) => orphans.has(summary.agent_id) && matches(summary, filter))
    .slice(0, filter.limit);
}

/** The list is a moment behind. */
async function hasEnded(client: Client, id: AgentId): Promise<boolean> {
  try {
    return !isStillThere((await client.workflow.getHandle(id).describe()).status.name);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return true;
    throw error;
  }
}

function matches({ status, role }: AgentSummary, filter: ListFilter): boolean {
  return (filter.status ?? status) === status && (filter.role ?? role) === role;
}

function queryOf({ all, session }: ListFilter): string {
  const terms = [`WorkflowType = "${WORKFLOW_TYPE}"`];
  if (all !== true) terms.push(STILL_RUNS);
  if (session !== undefined) terms.push(`WorkflowId STARTS_WITH "${session}"`);
  // A run that was continued as new is not the agent's last one.
  terms.push('ExecutionStatus != "ContinuedAsNew"');
  return terms.join(' AND ');
}

function summaryOf(execution: WorkflowExecutionInfo): AgentSummary {
  const id = execution.workflowId as AgentId;
  const attributes = execution.typedSearchAttributes;
  const memo = execution.memo ?? {};
  const parent = parentOf(id);
  const status = listedStatus(execution);
  const { task, note, started_at: started } = memo;
  const sealed = sealedReason(task);
  const problem = problemOf(attributes);
  const source = sourceOf(id, memo.source);
  return {
    agent_id: id,
    session_id: sessionOf(id),
    ...(parent === undefined ? {} : { parent_id: parent }),
    status,
    closed: !isStillThere(execution.status.name),
    depth: depthOf(id),
    role: keyword(attributes, 'CadreRole') ?? (parent === undefined ? 'default' : roleInName(id)),
    model: keyword(attributes, 'CadreModel') ?? '',
    ...(typeof task === 'string' ? { task } : {}),
    ...(sealed === undefined ? {} : { missing_key: sealed.key_id, missing_key_reason: sealed.reason }),
    ...(typeof note === 'string' ? { note } : {}),
    ...(source === undefined ? {} : { source }),
    ...(problem === undefined ? {} : { problem }),
    // Those of before have only the start of their run.
    started_at: typeof started === 'string' ? started : execution.startTime.toISOString(),
    ...(execution.closeTime === undefined ? {} : { ended_at: execution.closeTime.toISOString() }),
    queue: execution.taskQueue,
  };
}

const ROOT_SOURCES = ['cli', 'exec', 'api', 'mcp', 'app-server'] as const;

/** A root's stands in its memo; that of any other follows from its id. */
function sourceOf(id: AgentId, kind: unknown): Source | undefined {
  const parent = parentOf(id);
  if (parent !== undefined) return { kind: 'sub_agent', parent_id: parent, depth: depthOf(id) };
  const known = ROOT_SOURCES.find((each) => each === kind);
  return known === undefined ? undefined : { kind: known };
}

const PROBLEMS = defineSearchAttributeKey('TemporalReportedProblems', SearchAttributeType.KEYWORD_LIST);
const CAUSE = 'cause=WorkflowTaskFailedCause';

/** What the server writes after a few failures in a row, and takes away when a workflow task has been carried out. */
function problemOf(attributes: TypedSearchAttributes): string | undefined {
  const cause = attributes.get(PROBLEMS)?.find((each) => each.startsWith(CAUSE));
  return cause?.slice(CAUSE.length);
}

/** As the newest execution has shown it; one that was ended from outside could show nothing of that. */
export function listedStatus({
  status,
  typedSearchAttributes,
}: Pick<WorkflowExecutionInfo, 'status' | 'typedSearchAttributes'>): Status {
  return statusOf(status.name, keyword(typedSearchAttributes, 'CadreStatus'));
}

function keyword(attributes: TypedSearchAttributes, name: string): string | undefined {
  return attributes.get(defineSearchAttributeKey(name, SearchAttributeType.KEYWORD));
}

function statusOf(execution: string, attribute: string | undefined): Status {
  const known = STATUSES.find((status) => status === attribute);
  switch (execution) {
    case 'RUNNING':
    case 'PAUSED':
      return known ?? 'running';
    case 'COMPLETED':
      return known ?? 'shutdown';
    default:
      return 'errored';
  }
}

function roleInName(id: AgentId): string {
  return nameOf(id).replace(/-\d+$/, '');
}
