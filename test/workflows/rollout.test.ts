import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RolloutBody, unreplayable } from '../../protocol/index.ts';
import { AgentRuns, type AskRun } from '../../rollout/agent-runs.ts';
import { collect } from '../../rollout/collect.ts';
import type { Rollout } from '../../rollout/rollout.ts';
import { Rollouts } from '../../rollout/rollouts.ts';
import { eventually } from './eventually.ts';
import { call, lines, say, spawn, waitForAll } from './script.ts';
import type { ScriptedSession } from './scripted-session.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();
let stateDir = '';
let rollouts: Rollouts;
beforeAll(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'cadre-test-'));
  rollouts = new Rollouts({ stateDir });
});
afterAll(() => rmSync(stateDir, { recursive: true, force: true }));

const script = lines({
  root: [spawn('one', 'two'), waitForAll, say('ok')],
  'default-1': [spawn('below'), waitForAll, say('done')],
  '*': [say('done')],
});
const session = { one_shot: true, rollout: true };

async function rolloutOf({ id }: ScriptedSession): Promise<Rollout> {
  const found = await rollouts.find(id);
  if (found === undefined) throw new Error(`there is no rollout of ${id}`);
  return found;
}

async function bodyOf(rollout: Rollout): Promise<RolloutBody[]> {
  const lines: RolloutBody[] = [];
  for await (const line of rollout.body()) lines.push(line);
  return lines;
}

describe.concurrent('a session that closes', () => {
  // First, since it takes the longest.
  test('ends also where the worker that was to write its rollout says nothing any more, with a warning', async () => {
    const stuck = await worker().start({
      script: lines({ root: [say('ok')] }),
      session,
      rollouts,
      beforeRollout: () => Context.current().cancelled,
    });
    expect(await stuck.result()).toMatchObject({ status: 'completed', output: 'ok' });
    expect((await stuck.eventsOf('warning')).map(({ text }) => text)).toEqual([
      expect.stringContaining('the rollout of the session was not written: '),
    ]);
    expect(rollouts.pathOf(stuck.id)).toBeUndefined();
  });

  test('leaves a rollout that has every agent, with all of its conversation and all that happened to it', async () => {
    const closed = await worker().start({ script, session, rollouts });
    await closed.result();
    const rollout = await rolloutOf(closed);
    const names = ['root', 'default-1', 'default-2', 'default-1/default-1'];
    expect(rollout.agents).toEqual(names.map((name) => closed.idOf(name)));
    expect(rollout.header.queue).toBe(worker().queue);
    for (const name of names) {
      const lines = (await bodyOf(rollout)).flatMap((line) =>
        line.type === 'item' && line.agent_id === closed.idOf(name) ? [line.item] : [],
      );
      expect(lines).toEqual(await closed.items(name));
      const events = [];
      for await (const event of rollout.events(closed.idOf(name))) events.push(event);
      expect(events).toEqual(await closed.events(name));
      expect(rollout.agent(closed.idOf(name))).toMatchObject({
        closed: true,
        status: (await closed.status(name)).status,
      });
    }
    expect(statSync(rollout.path).mode & 0o777).toBe(0o600);
  });

  test('leaves also the items that a summary has replaced', async () => {
    const closed = await worker().start({
      session,
      rollouts,
      tools: { look: ({ args }) => `${args.n} ${'x'.repeat(8_000)}` },
      script: (seen) => {
        if (seen.summary) return say('in short');
        return seen.step < 6 ? { ...call('look', { n: seen.step }), full: seen.step === 5 } : say('ok');
      },
    });
    await closed.result();
    const body = await bodyOf(await rolloutOf(closed));
    const shown = body.flatMap((line) => (line.type === 'item' ? [line.item] : []));
    expect(shown).toEqual(await closed.items());
    expect(shown.some(({ type }) => type === 'summary')).toBe(true);
    const outputs = body.flatMap((line) =>
      (line.type === 'item' || line.type === 'replaced') && line.item.type === 'tool_output'
        ? [Number(line.item.output.split(' ')[0])]
        : [],
    );
    expect(outputs.sort()).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test('leaves none where it was not to, or the worker has no place for it', async () => {
    const unasked = await worker().start({
      script: lines({ root: [say('ok')] }),
      session: { one_shot: true },
      rollouts,
    });
    const placeless = await worker().start({ script: lines({ root: [say('ok')] }), session });
    for (const each of [unasked, placeless]) {
      expect(await each.result()).toMatchObject({ status: 'completed' });
      expect(rollouts.pathOf(each.id)).toBeUndefined();
      expect(await each.eventsOf('warning')).toEqual([]);
    }
  });

  test('leaves one beside an earlier one that is broken, which may hold what nothing else does', async () => {
    const broken = new Rollouts({ stateDir: mkdtempSync(join(stateDir, 'broken-')) });
    const closed = await worker().start({
      script: lines({ root: [say('ok')] }),
      session: { ...session, one_shot: false },
      rollouts: broken,
    });
    await closed.untilFinal();
    const path = broken.placeFor(closed.id, worker().queue);
    mkdirSync(dirname(path));
    writeFileSync(path, 'half of what it', { mode: 0o600 });
    await closed.agent().executeUpdate('shutdown', { args: [{}] });
    await closed.result();
    expect((await broken.find(closed.id))?.agents).toEqual([closed.id]);
    const [aside = ''] = readdirSync(dirname(path)).filter((name) => name.endsWith('.broken'));
    expect(readFileSync(join(dirname(path), aside), 'utf8')).toBe('half of what it');
    expect(statSync(join(dirname(path), aside)).mode & 0o777).toBe(0o600);
    await broken.remove(closed.id);
    expect(readdirSync(dirname(path))).toEqual([]);
  });

  test('ends as it would also where the rollout cannot be written, and says why', async () => {
    const closed = await worker().start({
      script: lines({ root: [say('ok')] }),
      session,
      rollouts,
      beforeRollout: () => {
        throw ApplicationFailure.nonRetryable('the disk is full', 'home_unwritable');
      },
    });
    expect(await closed.result()).toMatchObject({ status: 'completed', output: 'ok', closed: [closed.id] });
    expect((await closed.eventsOf('warning')).map(({ text }) => text)).toEqual([
      'the rollout of the session was not written: the disk is full',
    ]);
  });

  test('writes it again where the first try failed, and input that comes meanwhile is refused', async () => {
    let tries = 0;
    const closed = await worker().start({
      script: lines({ root: [say('ok')] }),
      session,
      rollouts,
      beforeRollout: async () => {
        if (++tries > 1) return;
        await closed.send('too late');
        throw new Error('once');
      },
    });
    await closed.result();
    expect(tries).toBe(2);
    expect((await rolloutOf(closed)).agents).toEqual([closed.id]);
    expect(await closed.eventsOf('input.rejected')).toHaveLength(1);
  });

  test('names the agents of which nothing is left', { timeout: 240_000 }, async ({ onTestFinished }) => {
    const closed = await worker().start({
      script: lines({
        root: [spawn('one'), waitForAll, call('close_agent', { id: 'default-1' }), say('ok')],
        '*': [say('done')],
      }),
      session: { rollout: true },
      rollouts,
    });
    // Whatever becomes of this try: there is nothing left to replay.
    onTestFinished(() => worker().forget(closed.id));
    await closed.untilFinal();
    const { workflowService, options } = worker().client;
    await workflowService.deleteWorkflowExecution({
      namespace: options.namespace,
      workflowExecution: { workflowId: closed.idOf('default-1') },
    });
    // The server takes its time to forget what has just closed, on a busy machine a minute and more.
    await eventually(() => expect(closed.agent('default-1').describe()).rejects.toThrow(), 150_000);
    await closed.agent().signal('shutdown');
    await closed.result();
    expect(await bodyOf(await rolloutOf(closed))).toContainEqual({
      type: 'missing',
      agent_id: closed.idOf('default-1'),
      reason: expect.stringContaining('keeps it no longer'),
    });
  });
});

describe('agents that nobody can replay', () => {
  /** What a session leaves where the code of the worker fails at some of its agents. */
  async function left({ id }: ScriptedSession, unread: readonly string[], earlier?: Rollout) {
    const { client } = worker();
    const runs = new AgentRuns(
      client,
      async <Answer>(...[agent, run, query, payload]: Parameters<AskRun>) => {
        if (unread.includes(agent)) throw unreplayable(agent, '[TMPRL1100] Nondeterminism error', undefined);
        return client.workflow.getHandle(agent, run).query<Answer, [unknown]>(query, payload);
      },
    );
    const lines: RolloutBody[] = [];
    for await (const line of collect({ session: id, runs, stateDir, earlier })) lines.push(line);
    return lines;
  }

  test('are named as missing, or taken from an earlier rollout of the same life; a root that has none is an error', async () => {
    const closed = await worker().start({ script, session, rollouts });
    await closed.result();
    const whole = await bodyOf(await rolloutOf(closed));
    const child = closed.idOf('default-1');

    const without = await left(closed, [child]);
    expect(without).toContainEqual({
      type: 'missing',
      agent_id: child,
      reason: expect.stringContaining('another version'),
    });
    expect(without.filter((line) => line.type === 'agent')).toHaveLength(3);
    await expect(left(closed, [closed.id])).rejects.toMatchObject({ code: 'no_worker' });

    expect(await left(closed, [closed.id, child], await rolloutOf(closed))).toEqual(whole);
  });
});

test('sessions leave nothing but whole files', async () => {
  const names = readdirSync(join(stateDir, 'rollouts'));
  for (const name of names.filter((name) => name.endsWith('.jsonl'))) {
    expect(readFileSync(join(stateDir, 'rollouts', name), 'utf8')).toMatch(/\{"type":"end".*\}\n$/);
  }
});
