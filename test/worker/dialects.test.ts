import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { lastOutput } from '../workflows/script.ts';
import { withRealWorker, withRole } from './real-worker.ts';

const start = withRealWorker();
const SESSIONS = ['agent_open', 'agent_eval', 'agent_close'];
const NAMED = ['subagent_list', 'subagent_describe', 'subagent_run'];

test('two roles of one session speak different dialects', async () => {
  withRole({ name: 'namer', description: 'Names.', body: 'You run others.', dialect: 'named' });
  withRole({ name: 'caller', description: 'Calls.', body: 'You are run.', dialect: 'collab' });
  const call = (name: string, args: object) => ({ calls: [{ name, arguments: args }] });
  const session = await start({
    settings: { working_directory: tmpdir() },
    cast: {
      root: [
        call('spawn_agent', { message: 'a', agent_type: 'namer' }),
        call('wait', { ids: ['namer-1'] }),
        { text: 'ok' },
      ],
      'namer-1': [
        call('spawn_agent', { message: 'x' }),
        call('subagent_run', { name: 'caller', task: 'b' }),
        { text: 'done' },
      ],
      'namer-1/caller-1': [call('subagent_run', { name: 'namer', task: 'c' }), { text: 'called' }],
    },
  });
  expect(await session.root.wait()).toMatchObject({ status: 'completed' });
  const tools = (name: string) => session.requests(name)[0]?.tools ?? [];
  expect(tools('root')).toContain('spawn_agent');
  expect(tools('root')).not.toEqual(expect.arrayContaining(NAMED));
  expect(tools('namer-1')).toEqual(expect.arrayContaining(NAMED));
  expect(tools('namer-1')).not.toContain('spawn_agent');
  expect(tools('namer-1/caller-1')).toContain('spawn_agent');
  const namer = await session.items('namer-1');
  expect(lastOutput(namer, 'spawn_agent')).toMatchObject({ error: { code: 'unknown_tool' } });
  expect(lastOutput(namer, 'subagent_run')).toEqual({
    agent_name: 'caller',
    task: 'b',
    success: true,
    output: 'called',
  });
  const caller = await session.items('namer-1/caller-1');
  expect(lastOutput(caller, 'subagent_run')).toMatchObject({ error: { code: 'unknown_tool' } });
  // The body, a blank line, and the task, which nobody else is told so.
  expect(session.requests('namer-1/caller-1')[0]?.instructions).toMatch(/\n\nYou are run\.\n\nTask: b$/);
  expect(session.requests('namer-1')[0]?.instructions).toMatch(/\n\nYou run others\.$/);
});

test('sessions are opened beside agents of another dialect; how one hands back is said by who has opened it', async () => {
  withRole({ name: 'opener', description: 'Opens.', body: 'You open sessions.', dialect: 'sessions' });
  withRole({ name: 'caller', description: 'Calls.', body: 'You are called.', dialect: 'collab' });
  const call = (name: string, args: object) => ({ calls: [{ name, arguments: args }] });
  const report = 'SUMMARY: seen\nCHANGES: None.\nEVIDENCE: a:1\nRISKS: None.\nBLOCKERS: None.';
  const session = await start({
    settings: { working_directory: tmpdir() },
    cast: {
      root: [
        call('spawn_agent', { message: 'a', agent_type: 'opener' }),
        call('wait', { ids: ['opener-1'] }),
        { text: 'ok' },
      ],
      'opener-1': [
        call('spawn_agent', { message: 'x' }),
        call('agent_open', {
          prompt: 'b',
          type: 'Caller',
          name: 'one',
          allowed_tools: ['spawn_agent', 'wait', 'WebFetch'],
        }),
        call('agent_eval', { name: 'one' }),
        call('agent_close', { name: 'one' }),
        { text: 'done' },
      ],
      'opener-1/one': [
        call('spawn_agent', { message: 'c' }),
        call('wait', { ids: ['opener-1/one/default-1'] }),
        { text: report },
      ],
      'opener-1/one/default-1': [{ text: 'below' }],
    },
  });
  expect(await session.root.wait()).toMatchObject({ status: 'completed' });
  const tools = (name: string) => session.requests(name)[0]?.tools ?? [];
  expect(tools('root')).not.toEqual(expect.arrayContaining(SESSIONS));
  expect(tools('opener-1')).toEqual(expect.arrayContaining(SESSIONS));
  expect(tools('opener-1')).not.toContain('spawn_agent');
  expect([...tools('opener-1/one')].sort()).toEqual(['spawn_agent', 'wait']);
  const warnings: unknown[] = [];
  for await (const event of session.agent('opener-1').events({ follow: false })) {
    if (event.type === 'warning') warnings.push(event.text);
  }
  expect(warnings).toEqual([expect.stringMatching(/\/opener-1\/one: .*no tool here: "WebFetch"$/)]);
  const opener = await session.items('opener-1');
  expect(lastOutput(opener, 'agent_open')).toMatchObject({
    notices: [expect.stringContaining('"WebFetch"')],
  });
  expect(lastOutput(opener, 'spawn_agent')).toMatchObject({ error: { code: 'unknown_tool' } });
  expect(lastOutput(opener, 'agent_eval')).toMatchObject({ type: 'caller', contract: 'ok', message: report });
  expect(lastOutput(opener, 'agent_close')).toMatchObject({ status: 'completed', closed: true });
  const asked = (name: string) => session.requests(name)[0]?.instructions?.includes('SUMMARY:');
  expect(['opener-1', 'opener-1/one', 'opener-1/one/default-1'].map(asked)).toEqual([false, true, false]);
});

test('the mailbox dialect lives beside another one of the same session', async () => {
  withRole({ name: 'poster', description: 'Posts.', body: 'You post.', dialect: 'mailbox' });
  const call = (name: string, args: object) => ({ calls: [{ name, arguments: args }] });
  const session = await start({
    settings: { working_directory: tmpdir() },
    cast: {
      root: [
        call('spawn_agent', { message: 'a', agent_type: 'poster' }),
        call('wait', { ids: ['poster-1'] }),
        { text: 'ok' },
      ],
      'poster-1': [
        call('spawn_agent', { message: 'x' }),
        call('subagent_open', { goal: 'the goal' }),
        call('subagent_reply', { subagent_id: 'default-1', message: 'b' }),
        call('subagent_end', { subagent_id: 'default-1' }),
        { text: 'done' },
      ],
      'poster-1/default-1': [{ text: 'answered' }],
    },
  });
  expect(await session.root.wait()).toMatchObject({ status: 'completed' });
  const tools = (name: string) => session.requests(name)[0]?.tools ?? [];
  const MAILBOX = ['subagent_open', 'subagent_reply', 'subagent_mailbox', 'subagent_read', 'subagent_end'];
  expect(tools('poster-1')).toEqual(expect.arrayContaining(MAILBOX));
  for (const name of ['spawn_agent', ...NAMED]) expect(tools('poster-1')).not.toContain(name);
  for (const name of MAILBOX) expect(tools('root')).not.toContain(name);
  const poster = await session.items('poster-1');
  expect(lastOutput(poster, 'spawn_agent')).toMatchObject({ error: { code: 'unknown_tool' } });
  expect(lastOutput(poster, 'subagent_reply')).toMatchObject({
    reply: 'answered',
    done: true,
    token_usage: { total_tokens: expect.any(Number) },
  });
  // A session that leaves no rollout leaves no archive, unless the call says where.
  expect(lastOutput(poster, 'subagent_end')).toMatchObject({ archived_path: null });
  expect(session.requests('poster-1/default-1')[0]?.instructions).toContain('You are a helper with one goal');
  expect(session.requests('poster-1')[0]?.instructions).toMatch(/\n\nYou post\.$/);
});

test('a forked agent speaks the dialect of its parent, whose tools it is shown', async () => {
  withRole({ name: 'boss', description: 'Leads.', body: 'You lead.', dialect: 'named' });
  const call = (name: string, args: object) => ({ calls: [{ name, arguments: args }] });
  const session = await start({
    settings: { working_directory: tmpdir() },
    cast: {
      root: [
        call('spawn_agent', { message: 'the task of the boss', agent_type: 'boss', fork_context: true }),
        call('wait', { ids: ['boss-1'] }),
        { text: 'ok' },
      ],
      'boss-1': [
        call('spawn_agent', { message: 'x' }),
        call('wait', { ids: ['boss-1/default-1'] }),
        { text: 'led' },
      ],
      'boss-1/default-1': [{ text: 'done' }],
    },
  });
  expect(await session.root.wait()).toMatchObject({ status: 'completed' });
  const [asRoot, asBoss] = ['root', 'boss-1'].map((name) => session.requests(name)[0]?.tools);
  expect(asBoss).toEqual(asRoot);
  expect(lastOutput(await session.items('boss-1'), 'spawn_agent')).toMatchObject({
    agent_id: expect.stringContaining('/boss-1/default-1'),
  });
});
