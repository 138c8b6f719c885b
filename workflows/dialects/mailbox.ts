import { counted } from '../../protocol/counted.ts';
import type {
  SubagentEndArguments,
  SubagentMailboxArguments,
  SubagentOpenArguments,
  SubagentReadArguments,
  SubagentReplyArguments,
} from '../../protocol/index.ts';
import { type MailItem, usageOf } from '../mailbox.ts';
import { end } from '../operations/end.ts';
import { listMail, readMail } from '../operations/mail.ts';
import { message, reply } from '../operations/reply.ts';
import { type SpawnResult, spawn } from '../operations/spawn.ts';
import type { Dialect, DialectTool } from './dialect.ts';
import { Failed } from './failed.ts';
import { inWordsOf } from './own-words.ts';

const GOAL_SHOWN = 120;

const tools: Record<string, DialectTool> = {
  subagent_open: async (agent, callId, raw) => {
    const args = raw as SubagentOpenArguments;
    const opened = await spawn(agent, {
      callId,
      content: [{ type: 'text', text: args.goal }],
      opened: true,
      instructions: args.system_prompt,
      model: args.model,
      workingDirectory: args.cwd,
      sandboxMode: args.sandbox_mode,
      approvalPolicy: args.approval_policy,
      maxTurns: args.max_turns,
      maxRuntimeMs: args.max_runtime_ms,
    });
    return {
      subagent_id: opened.id,
      // An agent is its conversation: both go by one id.
      conversation_id: opened.id,
      rollout_path: opened.rolloutPath ?? null,
      description: describe(args.goal, opened),
    };
  },

  subagent_reply: async (agent, callId, raw) => {
    const args = raw as SubagentReplyArguments;
    const request = { callId, to: args.subagent_id, content: args.items };
    if (args.mode === 'nonblocking') return { accepted: true, mail_id: await message(agent, request) };
    const { mailId, ...replied } = await reply(agent, { ...request, timeoutMs: args.timeout_ms });
    const { answer } = replied;
    if (answer === undefined) {
      const { because } = replied;
      return { reply: null, token_usage: null, done: false, mail_id: mailId, [because]: true };
    }
    const about = { token_usage: usageOf(answer), done: true, mail_id: mailId };
    if (answer.status === 'completed') return { reply: answer.body, ...about };
    throw new Failed({ reply: null, ...about, error: answer.body });
  },

  subagent_mailbox: async (agent, _callId, raw) => {
    const args = raw as SubagentMailboxArguments;
    const { subagent_id: subagent, only_unread: onlyUnread, limit } = args;
    const items = await listMail(agent, { subagent, onlyUnread, limit });
    const { dropped } = agent.mailbox;
    return { items: items.map(headOf), ...(dropped === 0 ? {} : { dropped }) };
  },

  subagent_read: async (agent, _callId, raw) => {
    const { mail_id: mailId, peek } = raw as SubagentReadArguments;
    const mail = readMail(agent, mailId, peek);
    const { subagent_id, subject, body } = mail;
    return { subagent_id, subject, body, token_usage: usageOf(mail), at: timeOf(mail) };
  },

  subagent_end: async (agent, callId, raw) => {
    const args = raw as SubagentEndArguments;
    const { subagent_id: id, persist, archive_to: archiveTo } = args;
    const { id: ended, archivedPath = null, error } = await end(agent, { callId, id, persist, archiveTo });
    const result = { conversation_id: ended, archived_path: archivedPath };
    if (error === undefined) return result;
    throw new Failed({ ...result, error });
  },
};

/** The mailbox vocabulary. */
export const mailbox: Dialect = {
  tools,
  sideBySide: ['subagent_open', 'subagent_reply'],
  refusal: inWordsOf({
    hints: {
      agent_closed: 'Open another one (subagent_open).',
      limit_threads:
        'Wait for an answer (a blocking subagent_reply), or end one (subagent_end), and try again.',
      outcome_unknown: 'What comes of it is in the mailbox (subagent_mailbox).',
    },
    words: {
      spawn_agent: 'subagent_open',
      list_active_agents: 'subagent_mailbox',
      working_directory: 'cwd',
    },
  }),
};

function headOf(mail: MailItem) {
  const { mail_id, subagent_id, subject, unread, turns_completed } = mail;
  return { mail_id, subagent_id, subject, at: timeOf(mail), unread, turns_completed };
}

function timeOf({ at }: MailItem): string {
  return new Date(at).toISOString();
}

/** What it was opened for, and what has become of the call and of what is inherited. */
function describe(goal: string, { settings }: SpawnResult): string {
  const {
    model,
    sandbox_mode: sandbox,
    approval_policy: approvals,
    working_directory: folder,
    limits,
  } = settings;
  const line = goal.trim().replaceAll(/\s+/g, ' ');
  const bounds = [
    ...(limits.max_turns === undefined ? [] : [`at most ${counted(limits.max_turns, 'turn')}`]),
    ...(limits.max_runtime_ms === undefined ? [] : [`closed after ${limits.max_runtime_ms} ms idle`]),
  ];
  const about = [`model ${model}`, `sandbox ${sandbox}`, `approvals ${approvals}`, `in ${folder}`, ...bounds];
  return `${line.length <= GOAL_SHOWN ? line : `${line.slice(0, GOAL_SHOWN - 1)}…`} (${about.join(', ')})`;
}
