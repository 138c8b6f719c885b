import { readFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { parseRole } from '../../../activities/roles/parse-role.ts';
import { tighten } from '../../../activities/roles/tighten.ts';
import { builtinTools } from '../../../activities/tools/builtin-tools.ts';
import { defineTool } from '../../../activities/tools/define-tool.ts';
import { offeredTools } from '../../../activities/tools/offered.ts';
import { agentIn, sessionWith } from '../tools/tool-context.ts';

/** Every kind of tool that there is, or will be: with those of servers, and of a team's own. */
const KINDS = {
  none: [
    'read_file',
    'list_dir',
    'grep_files',
    'view_image',
    'web_search',
    'update_plan',
    'mcp__slack__read',
  ],
  some: ['shell', 'apply_patch', 'deploy', 'mcp__github__get_issue', 'mcp__github__close_issue'].concat([
    'mcp__jira__get_issue',
    'mcp__jira__delete_issue',
  ]),
} as const;
const tools = (['none', 'some'] as const).flatMap((effects) =>
  KINDS[effects].map(
    (name) =>
      builtinTools.find((tool) => tool.name === name) ??
      defineTool({ name, description: name, effects, parameters: z.strictObject({}), run: async () => '' }),
  ),
);
const READING = [...KINDS.none];
const WORKING = [...KINDS.none, ...KINDS.some];
const without = (list: readonly string[], ...names: string[]) => list.filter((name) => !names.includes(name));

interface Expected {
  /** What an agent of the role is offered, the tools for sub-agents shown as `spawn_agent` alone. */
  tools: string[];
  sandbox?: 'read-only' | 'workspace-write';
  approval?: string;
  says?: Record<string, unknown>;
  /** What the person is told, without the path: line and text. */
  notices?: string[];
}
const AGENTS = 'spawn_agent';
const ALL: Expected = { tools: [...WORKING, AGENTS] };
const noCounterpart = (what: string) => `${JSON.stringify(what)} has no counterpart; it allows nothing`;
const someCalls = (what: string) =>
  `${JSON.stringify(what)} allows a tool for some calls only, which has no counterpart; it allows nothing`;
const allCalls = (what: string) =>
  `${JSON.stringify(what)} denies some calls of a tool, which has no counterpart; all of them are denied`;
const asking = (mode: string) =>
  `permissionMode ${mode} has no counterpart here: the approval policy of the session holds`;

const FILES: Record<string, Expected> = {
  'claude/code-reviewer.md': {
    tools: ['read_file', 'list_dir', 'grep_files', 'view_image', 'shell'],
    says: { model: 'inherit' },
  },
  'claude/debugger.md': {
    tools: ['read_file', 'list_dir', 'grep_files', 'view_image', 'shell', 'apply_patch'],
  },
  'claude/everything.md': ALL,
  'claude/block-list.md': {
    tools: ['read_file', 'view_image', 'web_search', 'apply_patch'],
    says: { model: 'opus' },
    notices: ['9: color has no counterpart here: agents have no colours'],
  },
  'claude/flow-list.md': { tools: ['read_file', 'grep_files', 'view_image', 'update_plan'] },
  'claude/no-writes.md': { tools: [...without(WORKING, 'apply_patch'), AGENTS] },
  'claude/no-shell.md': { tools: [...without(WORKING, 'shell'), AGENTS] },
  'claude/both-lists.md': {
    tools: ['read_file', 'view_image', 'shell'],
    notices: [`4: ${noCounterpart('WebFetch')}`],
  },
  'claude/planner.md': {
    tools: [...READING, 'shell', AGENTS],
    sandbox: 'read-only',
    says: { max_steps: 12, reasoning_effort: 'high' },
  },
  'claude/accepts-edits.md': {
    tools: ['read_file', 'view_image', 'apply_patch'],
    notices: [`5: ${asking('acceptEdits')}`],
  },
  'claude/bypasses.md': { ...ALL, notices: [`4: ${asking('bypassPermissions')}`] },
  'claude/asks-nobody.md': { tools: ['read_file', 'view_image', 'shell'], approval: 'never' },
  'claude/new-mode.md': {
    tools: [...READING, 'shell', AGENTS],
    sandbox: 'read-only',
    notices: ['4: permissionMode "lockdown" is not known; the role only reads, to be safe'],
  },
  'claude/git-only.md': {
    tools: ['read_file', 'view_image'],
    notices: [`4: ${someCalls('Bash(git log:*)')}`, `4: ${someCalls('Bash(git diff:*)')}`],
  },
  'claude/no-rm.md': {
    tools: [...without(WORKING, 'shell', 'read_file', 'view_image'), AGENTS],
    notices: [`4: ${allCalls('Bash(rm:*)')}`, `4: ${allCalls('Read(./secrets/**)')}`],
  },
  'claude/whole-bash.md': { tools: ['read_file', 'view_image', 'shell'] },
  'claude/coordinator.md': {
    tools: ['read_file', 'view_image', 'shell'],
    notices: [`4: ${someCalls('Agent(worker, researcher)')}`],
  },
  'claude/delegates.md': { tools: ['read_file', 'view_image', AGENTS] },
  'claude/alone.md': { tools: WORKING },
  'claude/db-reader.md': {
    tools: ['read_file', 'view_image'],
    notices: [
      '6: hooks have no counterpart here: PostToolUse',
      '6: the hook before Bash is not run here, so what it guards is taken away',
    ],
  },
  'claude/guarded.md': {
    tools: [],
    notices: ['5: the hook before every tool is not run here, so what it guards is taken away'],
  },
  'claude/full-house.md': {
    tools: ['read_file', 'list_dir', 'grep_files', 'view_image'],
    says: { model: 'haiku', max_steps: 3 },
    notices: [
      `4: ${noCounterpart('LSP')}`,
      `6: ${asking('default')}`,
      '9: skills has no counterpart here: no skills are loaded',
      '11: mcpServers has no counterpart here: no servers are started for it',
      '12: memory has no counterpart here: it has no memory of its own',
      '13: background has no counterpart here: every agent runs in the background',
      '14: isolation has no counterpart here: it works in the folder of the agent that starts it',
      '15: color has no counterpart here: agents have no colours',
      '16: initialPrompt has no counterpart here: its task is all it is given',
    ],
  },
  'claude/servers.md': {
    tools: ['read_file', 'view_image', 'mcp__slack__read', 'mcp__github__get_issue', 'mcp__jira__get_issue'],
  },
  'claude/helper-name.md': {
    tools: ['read_file', 'view_image'],
    notices: [
      '2: the name "Another Name" is ignored, the file name counts',
      '10: "Frobnicate" is no tool that comes with Cadre; it allows one only where your workers have it',
    ],
  },
  'claude/windows.md': { tools: ['read_file', 'view_image', 'shell'], says: { body: 'One line.\nAnother.' } },
  'claude/skill-like.md': {
    tools: ['read_file', 'grep_files', 'view_image'],
    notices: ['4: "allowed-tools" is read as allow_list'],
  },
  'codex/reviewer.toml': {
    tools: [...READING, 'shell', AGENTS],
    sandbox: 'read-only',
    says: {
      model: 'gpt-5.3-codex',
      reasoning_effort: 'high',
      body: 'Review like an owner.\nLead with what breaks.',
    },
    notices: ['10: nickname_candidates has no counterpart here: agents are called by role and number'],
  },
  'codex/minimal.toml': { ...ALL, says: { body: 'Answer the question.' } },
  'codex/offline.toml': {
    tools: [...without(WORKING, 'web_search', 'view_image'), AGENTS],
    notices: ['1: the name "offline-worker" is ignored, the file name counts'],
  },
  'codex/docs-researcher.toml': {
    ...ALL,
    sandbox: 'workspace-write',
    notices: [
      '9: mcp_servers has no counterpart here: no servers are started for it',
      '12: skills has no counterpart here: no skills are loaded',
      '16: sandbox_workspace_write has no counterpart here: commands write below the working directory, and have no network',
    ],
  },
  'codex/cautious.toml': { ...ALL, approval: 'untrusted' },
  'codex/from-markdown.md': {
    tools: ['web_search', 'shell', 'apply_patch'],
  },
  'cadre/critic.md': {
    tools: ['read_file', 'list_dir', 'grep_files'],
    sandbox: 'read-only',
    says: {
      max_turns: 4,
      max_steps: 30,
      dialect: 'mailbox',
      agent_names: [
        {
          name: 'kind',
          description: 'Begins with what is good.',
          prompt: 'Begin with what is good.',
          reasoning_effort: 'low',
        },
      ],
    },
  },
  'cadre/silent.md': { tools: [] },
  'cadre/fenced.md': { tools: ['shell'], says: { body: 'Run it.' } },
};

test.each(Object.entries(FILES))('%s loads, with its tools and what has no counterpart', (file, expected) => {
  const path = join(import.meta.dirname, 'files', file);
  const { role, warnings } = parseRole(basename(file, extname(file)), readFileSync(path, 'utf8'), path);
  const agent = agentIn({ working_directory: '/', sandbox_mode: 'danger-full-access' });
  const settings = { ...agent.settings, ...tighten(agent.settings, role) };
  const offered = offeredTools({ ...agent, settings }, sessionWith({ tools: { web_search: true } }), tools);
  const names = offered
    .map(({ name }) => name)
    .filter((name) => name === AGENTS || WORKING.includes(name as never));
  expect(names).toEqual(expected.tools);
  expect(settings.sandbox_mode).toBe(expected.sandbox ?? 'danger-full-access');
  expect(settings.approval_policy).toBe(expected.approval ?? 'on-request');
  expect(role).toMatchObject({ description: expect.stringMatching(/./), body: expect.stringMatching(/./) });
  expect(role).toMatchObject(expected.says ?? {});
  expect(warnings).toEqual((expected.notices ?? []).map((notice) => `${path}:${notice}`));
});
