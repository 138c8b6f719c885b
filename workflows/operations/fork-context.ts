import { workflowInfo } from '@temporalio/workflow';
import type { AgentId, AgentSettings, Presented, Restore } from '../../protocol/index.ts';
import { settledLength } from '../../protocol/items.ts';
import { projectDocsText } from '../../protocol/project-docs-text.ts';
import { SECTIONS_ASKED } from '../../protocol/result-sections.ts';
import type { AgentState } from '../agent-state.ts';

/** A fork of a fork is shown what the first one was shown. */
export function presentedBy({ settings, identity }: AgentState): Presented {
  return settings.presented ?? { agent_id: identity.agent_id, depth: identity.depth, settings };
}

/**
 * The conversation up to the answer that spawns, and what has changed for whoever goes on from it: how things stand,
 * then its role, of which what it is shown before says nothing.
 *
 * @param role what it is for, and its text where that comes with Cadre
 */
export function forkOf(
  agent: AgentState,
  id: AgentId,
  settings: AgentSettings,
  { description, text }: { description: string; text?: string },
): Restore {
  const open = agent.children.open.map((child) => `${child.id} (${child.status})`);
  const plan = agent.standing.plan.map((step) => `${step.status}: ${step.step}`);
  const lines = [
    `From here on you are ${id}, a sub-agent of ${agent.id}; what is above is the conversation of ${agent.id}.`,
    `Working directory: ${settings.working_directory}. Sandbox: ${settings.sandbox_mode}.`,
    `Plan of ${agent.id}: ${plan.length === 0 ? 'none' : plan.join('; ')}.`,
    `Open agents of ${agent.id}: ${open.length === 0 ? 'none' : open.join(', ')}.`,
    `Your role: ${settings.role}${description === '' ? '' : ` (${description})`}. Tools that it lacks are refused when you call them.`,
    ...roleText(settings, text),
    ...docsText(agent.settings, settings),
    ...(settings.result_sections === true ? ['', SECTIONS_ASKED, ''] : []),
    'Your task follows; do nothing but that.',
  ];
  return {
    kind: 'fork',
    agent_id: agent.id,
    run_id: workflowInfo().runId,
    to: settledLength(agent.conversation.items),
    notice: lines.join('\n'),
  };
}

/** What stands in its place is inherited, and was told above. */
function roleText(settings: AgentSettings, ofBuiltin: string | undefined): string[] {
  const { instructions, role_text: ofFile } = settings;
  const body = instructions === undefined ? (ofFile?.body ?? ofBuiltin) : undefined;
  const texts = [body, ofFile?.persona].filter((text) => text !== undefined);
  return texts.flatMap((text) => ['', text.trim(), '']);
}

/** In another folder another project may speak; what it says in the same one was told above. */
function docsText(
  above: AgentSettings,
  { working_directory: folder, project_docs: docs }: AgentSettings,
): string[] {
  if (docs === undefined || folder === above.working_directory) return [];
  return ['', projectDocsText(docs), ''];
}
