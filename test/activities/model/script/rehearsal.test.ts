import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CommandSessions } from '../../../../activities/commands/command-sessions.ts';
import { REHEARSAL_SCRIPT } from '../../../../activities/model/script/rehearsal.ts';
import { parseScript } from '../../../../activities/model/script/script.ts';
import { ScriptProvider } from '../../../../activities/model/script/script-provider.ts';
import { judgeCommand } from '../../../../activities/policy/harmless.ts';
import type { Tool } from '../../../../activities/tools/define-tool.ts';
import { grepFiles } from '../../../../activities/tools/grep-files.ts';
import { listDir } from '../../../../activities/tools/list-dir.ts';
import { readFile } from '../../../../activities/tools/read-file.ts';
import { shell } from '../../../../activities/tools/shell.ts';
import { updatePlan } from '../../../../activities/tools/update-plan.ts';
import {
  CadreError,
  collabTools,
  type Item,
  refusalOutput,
  textMessage,
} from '../../../../protocol/index.ts';
import { noTranscripts } from '../../tools/tool-context.ts';
import { AGENT, agentContext, modelCall } from '../conversations.ts';

const TOOLS: Record<string, Tool> = Object.fromEntries(
  [shell, listDir, grepFiles, readFile, updatePlan].map((tool) => [tool.name, tool]),
);

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rehearsal-'));
  mkdirSync(join(folder, 'work'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Plays an agent as the workflow would: real tools, and children that run to their end within `wait`. */
async function perform(role: string, task: string, refuseSpawn = false): Promise<string> {
  const provider = new ScriptProvider(REHEARSAL_SCRIPT);
  const items: Item[] = [textMessage(task)];
  const reports: Record<string, unknown> = {};
  for (;;) {
    const call = modelCall(items, { agent: { id: AGENT, role } });
    const reply = await provider.complete(call, { signal: new AbortController().signal, onDelta: () => {} });
    items.push(...reply.items);
    const calls = reply.items.filter((item) => item.type === 'tool_call');
    if (calls.length === 0)
      return reply.items.flatMap((item) => ('text' in item ? [item.text] : [])).join('\n');
    for (const { call_id, name, arguments: text } of calls) {
      const args = JSON.parse(text);
      let output: string;
      if (name === 'spawn_agent') {
        collabTools.find((tool) => tool.name === name)?.parameters.parse(args);
        const agent_id = `a0k3v9x2m4qd7/${args.agent_type}-${Object.keys(reports).length + 1}`;
        if (!refuseSpawn) reports[agent_id] = { completed: await perform(args.agent_type, args.message) };
        output = refuseSpawn
          ? refusalOutput({ code: 'limit_depth', message: 'Agent depth limit reached.' })
          : JSON.stringify({ agent_id });
      } else if (name === 'wait') {
        collabTools.find((tool) => tool.name === name)?.parameters.parse(args);
        output = JSON.stringify({ status: reports, timed_out: false });
      } else if (name === 'close_agent') {
        output = JSON.stringify({ status: reports[args.id] ?? 'not_found', closed: [args.id] });
      } else {
        output = await runTool(TOOLS[name] as Tool, args);
      }
      items.push({ type: 'tool_output', call_id, output, success: true });
    }
  }
}

async function runTool(tool: Tool, args: unknown): Promise<string> {
  const directory = join(folder, 'work');
  try {
    const result = await tool.run(tool.parameters.parse(args), {
      agent: agentContext({ working_directory: directory, sandbox_mode: 'read-only' }),
      callId: 'c',
      environment: { PATH: process.env.PATH ?? '', HOME: folder },
      signal: new AbortController().signal,
      approved: false,
      commands: new CommandSessions(),
      nonInteractive: true,
      seesImages: true,
      stateDir: join(folder, 'state'),
      readTranscript: noTranscripts,
      resolve: (path) => resolve(directory, path),
    });
    return typeof result === 'string' ? result : result.output;
  } catch (error) {
    if (error instanceof CadreError) return refusalOutput(error.body);
    return refusalOutput({ code: 'tool_failed', message: String(error) });
  }
}

test('the survey of a repository holds its files, its history, its notes and its README', async () => {
  const work = join(folder, 'work');
  writeFileSync(join(work, 'README.md'), '# The thing\n\nIt does things.\n');
  writeFileSync(join(work, 'one.ts'), '// TODO: write it\n');
  writeFileSync(join(work, 'two.ts'), 'x'.repeat(9_000));
  const git = (...args: string[]) =>
    execFileSync(
      'git',
      ['-c', 'user.name=Ada', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false', ...args],
      {
        cwd: work,
        stdio: 'ignore',
      },
    );
  git('init');
  git('add', '.');
  git('commit', '-m', 'Begin the thing');
  writeFileSync(join(work, 'new.md'), 'new\n');

  const report = await perform('default', 'survey this folder');
  expect(report).toMatch(/Files \(without .git and node_modules\): 4\b/);
  expect(report).toMatch(/2 \.ts/);
  expect(report).toContain('two.ts');
  expect(report).toContain('Ada: Begin the thing');
  expect(report).toContain('Not committed: 1 files');
  expect(report).toContain('1 lines, for example');
  expect(report).toContain('one.ts:1:// TODO: write it');
  expect(report).toContain('It does things.');
  expect(report).toContain('No model has read your task: survey this folder');
  expect(report).not.toMatch(/\{\{|\{%|\[object|undefined/);
});

test('the survey of an empty folder that is no repository says so', async () => {
  const report = await perform('worker', 'what is this?');
  expect(report).toMatch(/Files .*: 0\b/);
  expect(report).toContain('(no file has one)');
  expect(report).toContain('none to be seen');
  expect(report).toContain('none found');
  expect(report).toContain('There is no README to read.');
  expect(report).not.toMatch(/\{\{|\{%|\[object|undefined/);
});

test('without sub-agents the rehearsal still ends, and says why', async () => {
  const report = await perform('default', 'survey', true);
  expect(report).toContain('No explorer could be started: (Agent depth limit reached.)');
});

test('a later message is answered, too', async () => {
  const provider = new ScriptProvider(REHEARSAL_SCRIPT);
  const items: Item[] = [textMessage('survey')];
  for (let n = 0; n < 7; n++)
    items.push({ type: 'assistant_message', text: '…' }, { type: 'notice', text: '…' });
  items.push(textMessage('and now?'));
  const options = { signal: new AbortController().signal, onDelta: () => {} };
  const { items: made } = await provider.complete(modelCall(items), options);
  expect(made).toEqual([{ type: 'assistant_message', text: expect.stringContaining('rehearsal is over') }]);
});

test('every command of the rehearsal is known to be harmless, so that it runs without a sandbox', () => {
  const script = parseScript(readFileSync(REHEARSAL_SCRIPT, 'utf8'), REHEARSAL_SCRIPT);
  const commands = script.agents
    .flatMap((agent) => agent.steps ?? [])
    .flatMap((step) => step.calls)
    .flatMap((call) =>
      call.tool === 'shell' && typeof call.arguments === 'object' ? [call.arguments.command] : [],
    );
  expect(commands.length).toBeGreaterThan(4);
  for (const command of commands)
    expect(judgeCommand(String(command), folder)).toMatchObject({ harmless: true });
});
