import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { CadreClient } from '../../client/index.ts';
import { type AgentId, type ApprovalsView, type Decision, newRootId } from '../../protocol/index.ts';
import { Rollouts } from '../../rollout/rollouts.ts';
import { deepSession } from './deep-session.ts';
import { eventually } from './eventually.ts';
import { Gate } from './gate.ts';
import { ask, end, open, post } from './mailbox-lines.ts';
import {
  call,
  type Line,
  lines,
  type ScriptedTool,
  say,
  spawn,
  spawnAs,
  wait,
  waitForAll,
} from './script.ts';
import type { ScriptedSession } from './scripted-session.ts';
import type { ScriptedWorker } from './scripted-worker.ts';

/** Where a life is played. */
export interface Stage {
  worker: ScriptedWorker;
  cadre: CadreClient;
}

export interface Life {
  /** Plays it to its end and returns the ids of its sessions. */
  play(stage: Stage): Promise<AgentId[]>;
  /** Its agents want a new run after few events. */
  shortRuns?: true;
}

const looks = (count: number): Line[] => Array.from({ length: count }, () => call('look'));
const look: ScriptedTool = () => 'a file';
const guarded: ScriptedTool = ({ approved }) => {
  if (approved) return 'done';
  const needs_approval = { kind: 'command', summary: 'act', reason: 'it acts', key: 'act' } as const;
  return { output: '', success: false, needs_approval };
};

/** Answers the next question that stands at the root. */
async function decide(session: ScriptedSession, decision: Decision): Promise<void> {
  const approval_id = await eventually(async () => {
    const { approvals } = await session.agent().query<ApprovalsView>('approvals');
    expect(approvals).toHaveLength(1);
    return approvals[0]?.approval_id;
  });
  await session.agent().executeUpdate('decide_approval', { args: [{ approval_id, decision }] });
}

/** Every kind of life that an agent may have, by name. */
export const lives: Record<string, Life> = {
  plain: {
    async play({ worker, cadre }) {
      const refused = { code: 'approval_denied', message: 'it is not to fly' } as const;
      const session = await worker.start({
        tools: { look, act: () => 'made' },
        script: lines({
          root: [
            { reasoning: 'hm', calls: [{ name: 'look' }, { name: 'look' }, { name: 'act' }] },
            { calls: [{ name: 'fly', refused }] },
            say('ok'),
            call('act'),
            say('again'),
            { fail: { code: 'model_refused', message: 'no more' } },
          ],
        }),
      });
      await session.untilFinal();
      await cadre.get(session.id).setNote('look here');
      for (const turn of [2, 3]) {
        await session.send('go on');
        await session.untilFinal('root', turn);
      }
      await cadre.get(session.id).close();
      return [session.id];
    },
  },

  tree: {
    async play({ worker }) {
      const session = await worker.start({
        session: { one_shot: true },
        limits: { max_threads: 2, when_full: 'queue' },
        tools: { look },
        script: lines({
          root: [
            spawn('one', 'two', 'three'),
            waitForAll,
            call('send_input', { id: 'default-1', message: 'more' }),
            wait(['default-1'], { timeout_ms: 20_000 }),
            call('close_agent', { id: 'default-2' }),
            say('ok'),
          ],
          'default-1': [spawn('deeper'), waitForAll, say('done'), call('look'), say('more done')],
          '*': [call('look'), say('done')],
        }),
      });
      await session.result();
      return [session.id];
    },
  },

  interrupt: {
    async play({ worker, cadre }) {
      const session = await deepSession(worker);
      await session.agent().executeUpdate('interrupt', { args: [{ reason: 'enough' }] });
      for (const name of ['default-1/default-1', 'default-1', 'root']) await session.untilFinal(name);
      await cadre.get(session.id).close();
      return [session.id];
    },
  },

  'continue-as-new': {
    shortRuns: true,
    async play({ worker }) {
      const gate = new Gate();
      const session = await worker.start({
        session: { one_shot: true },
        tools: { look },
        script: lines({
          root: [spawn('slow', 'quick'), ...looks(5), waitForAll, ...looks(3), say('ok')],
          'default-1': [...looks(5), () => gate.opened.then(() => say('slow'))],
          'default-2': [say('quick')],
        }),
      });
      await session.until('root', ({ waiting_for }) => waiting_for === 'agents');
      const before = (await worker.runs(session.id)).length;
      // Each note is a few events, so that the open wait has to pass into a new run.
      for (let n = 0; (await worker.runs(session.id)).length < before + 2; n++) {
        await session.agent().executeUpdate('set_note', { args: [{ note: `note ${n}` }] });
      }
      gate.open();
      expect(await session.result()).toMatchObject({ status: 'completed', output: 'ok' });
      return [session.id];
    },
  },

  'continue-as-new-approval': {
    shortRuns: true,
    async play({ worker }) {
      const session = await worker.start({
        session: { one_shot: true },
        tools: { look, act: guarded },
        script: lines({
          root: [spawn('x'), waitForAll, say('ok')],
          'default-1': [...looks(3), call('act'), say('done')],
        }),
      });
      await session.until('default-1', ({ waiting_for }) => waiting_for === 'approval');
      for (let n = 0; (await worker.runs(session.id)).length < 3; n++) {
        await session.agent().executeUpdate('set_note', { args: [{ note: `note ${n}` }] });
      }
      await decide(session, 'approve');
      expect(await session.result()).toMatchObject({ status: 'completed', output: 'ok' });
      return [session.id];
    },
  },

  compaction: {
    async play({ worker, cadre }) {
      const session = await worker.start({
        tools: { look: ({ args }) => `${args.n} ${'x'.repeat(8_000)}` },
        script: ({ summary, step, turn }) => {
          if (summary) return say('in short');
          if (turn > 1) return say(`turn ${turn}`);
          return step < 8 ? { ...call('look', { n: step }), full: step === 5 } : say('seen');
        },
      });
      await session.untilFinal();
      await session.agent().executeUpdate('compact', { args: [{}] });
      await session.send('go on');
      await session.untilFinal('root', 2);
      expect(await session.eventsOf('conversation.compacted')).not.toEqual([]);
      await cadre.get(session.id).close();
      return [session.id];
    },
  },

  approvals: {
    async play({ worker }) {
      const session = await worker.start({
        session: { one_shot: true },
        tools: { act: guarded },
        script: lines({
          root: [call('act'), spawn('x'), waitForAll, say('ok')],
          'default-1': [call('act'), say('done')],
        }),
      });
      await decide(session, 'deny');
      await session.until('default-1', ({ waiting_for }) => waiting_for === 'approval');
      await decide(session, 'approve');
      expect(await session.result()).toMatchObject({ status: 'completed', output: 'ok' });
      return [session.id];
    },
  },

  resume: {
    async play({ worker, cadre }) {
      const session = await worker.start({
        script: lines({
          root: [
            spawn('x'),
            waitForAll,
            call('close_agent', { id: 'default-1' }),
            call('resume_agent', { id: 'default-1' }),
            say('ok'),
            say('back'),
          ],
          'default-1': [spawn('below'), waitForAll, say('done'), say('done again')],
          '*': [say('done')],
        }),
      });
      await session.untilFinal();
      const root = cadre.get(session.id);
      await root.close();
      const { resumed } = await root.resume({ recursive: true, input: 'go on' });
      expect(resumed).toContain(session.idOf('default-1'));
      await session.untilFinal('root', 2);
      await session.send('you too', 'default-1');
      await session.untilFinal('default-1', 2);
      await root.close();
      return [session.id];
    },
  },

  fork: {
    async play({ worker, cadre }) {
      const session = await worker.start({
        tools: { look },
        script: lines({
          root: [
            call('look'),
            call('spawn_agent', { message: 'do this', fork_context: true }),
            waitForAll,
            say('ok'),
            say('in the fork'),
          ],
          '*': [say('x'), say('done')],
        }),
      });
      await session.untilFinal();
      const id = newRootId(Date.now() + 1, Math.random);
      worker.playAs(id, session.id);
      const fork = await cadre.get(session.id).fork({ id });
      await fork.send('go on');
      await fork.wait();
      await fork.close();
      await cadre.get(session.id).close();
      return [session.id, id];
    },
  },

  limits: {
    async play({ worker }) {
      const session = await worker.start({
        session: { one_shot: true },
        limits: { max_steps: 4, max_tokens: 10_000, max_child_tokens: 5 * 15, max_agents: 3, max_threads: 1 },
        tools: { look },
        script: (seen) => {
          if (seen.final) return say(`half of it, after ${seen.step}`);
          if (seen.agent !== 'root' || seen.step > 1) return call('look');
          return seen.step === 0 ? spawn('one', 'two') : waitForAll(seen);
        },
      });
      expect(await session.result()).toMatchObject({ status: 'errored', code: 'limit_steps' });
      return [session.id];
    },
  },

  'wake-parent': {
    async play({ worker, cadre }) {
      const gate = new Gate();
      const session = await worker.start({
        limits: { wake_parent: true },
        script: lines({
          root: [spawn('x'), say('ok'), say('I see')],
          'default-1': [() => gate.opened.then(() => say('done'))],
        }),
      });
      await session.untilFinal();
      gate.open();
      await session.untilFinal('root', 2);
      await cadre.get(session.id).close();
      return [session.id];
    },
  },

  'ended-from-outside': {
    async play({ worker, cadre }) {
      const session = await deepSession(worker);
      await session.agent('default-1/default-1').terminate('by a person');
      await session.untilFinal('default-1');
      await session.untilFinal();
      await cadre.get(session.id).close();
      return [session.id];
    },
  },

  rollout: {
    async play({ worker }) {
      const stateDir = mkdtempSync(join(tmpdir(), 'cadre-test-'));
      try {
        const session = await worker.start({
          session: { one_shot: true, rollout: true },
          rollouts: new Rollouts({ stateDir }),
          script: lines({ root: [spawnAs('poet'), waitForAll, say('ok')], '*': [say('done')] }),
        });
        await session.result();
        return [session.id];
      } finally {
        rmSync(stateDir, { recursive: true, force: true });
      }
    },
  },

  named: {
    shortRuns: true,
    async play({ worker }) {
      const run = (task: string) => ({ name: 'subagent_run', args: { name: 'default', task } });
      const session = await worker.start({
        session: { one_shot: true },
        tools: { look },
        script: lines({
          root: [{ calls: [run('one'), run('two')] }, ...looks(8), { calls: [run('three')] }, say('ok')],
          '*': [...looks(12), say('done')],
        }),
      });
      await session.result();
      return [session.id];
    },
  },

  sessions: {
    shortRuns: true,
    async play({ worker }) {
      const report = 'SUMMARY: done\nCHANGES: None.\nEVIDENCE: a.ts:1\nRISKS: None.\nBLOCKERS: None.';
      const session = await worker.start({
        session: { one_shot: true },
        tools: { look },
        script: lines({
          root: [
            call('agent_open', { prompt: 'map', name: 'mapper' }),
            call('agent_open', { prompt: 'go on', name: 'other', fork_context: true, max_depth: 0 }),
            ...looks(8),
            call('agent_eval', { name: 'mapper' }),
            call('agent_eval', { name: 'mapper', message: 'more' }),
            call('agent_close', { name: 'mapper' }),
            call('agent_eval', { name: 'other', message: 'stop that', interrupt: true }),
            say('ok'),
          ],
          mapper: [...looks(12), say(report), ...looks(12), say('no sections')],
          other: [...looks(4), say(report), say('stopped')],
        }),
      });
      await session.result();
      return [session.id];
    },
  },

  mail: {
    shortRuns: true,
    async play({ worker }) {
      const session = await worker.start({
        session: { one_shot: true },
        tools: { look },
        script: lines({
          root: [
            open('answer'),
            post('one'),
            ...looks(8),
            ask('two'),
            post('three'),
            ...looks(8),
            call('subagent_mailbox', { only_unread: true }),
            call('subagent_read', { mail_id: 'mail-1' }),
            ask('four'),
            end(),
            say('ok'),
          ],
          'default-1': [...looks(6), say('1'), ...looks(6), say('2'), ...looks(6), say('3'), say('4')],
        }),
      });
      await session.result();
      return [session.id];
    },
  },
};
