import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  mailboxDialect,
  parsePayload,
  subagentEndArguments,
  subagentMailboxArguments,
  subagentOpenArguments,
  subagentReadArguments,
  subagentReplyArguments,
} from '../../protocol/index.ts';

const goal = 'look';
const reply = { subagent_id: 'default-1', message: 'go on' };

describe('the arguments of the mailbox dialect', () => {
  test.each([
    ['subagent_open without a goal', subagentOpenArguments, {}],
    ['subagent_open with a blank goal', subagentOpenArguments, { goal: ' \n' }],
    ['subagent_open with a blank system_prompt', subagentOpenArguments, { goal, system_prompt: ' ' }],
    ['subagent_open with an unknown sandbox', subagentOpenArguments, { goal, sandbox_mode: 'none' }],
    ['subagent_open with an unknown policy', subagentOpenArguments, { goal, approval_policy: 'always' }],
    ['subagent_open with no turns at all', subagentOpenArguments, { goal, max_turns: 0 }],
    ['subagent_open with part of a turn', subagentOpenArguments, { goal, max_turns: 1.5 }],
    ['subagent_open for no time', subagentOpenArguments, { goal, max_runtime_ms: 0 }],
    ['subagent_open with an unknown argument', subagentOpenArguments, { goal, agent_type: 'worker' }],
    ['subagent_reply to nobody', subagentReplyArguments, { message: 'x' }],
    ['subagent_reply to an empty id', subagentReplyArguments, { ...reply, subagent_id: '' }],
    ['subagent_reply without a message', subagentReplyArguments, { subagent_id: 'x' }],
    ['subagent_reply with a blank message', subagentReplyArguments, { ...reply, message: ' ' }],
    ['subagent_reply in an unknown mode', subagentReplyArguments, { ...reply, mode: 'async' }],
    ['subagent_reply for no time', subagentReplyArguments, { ...reply, timeout_ms: 0 }],
    ['subagent_reply for less than no time', subagentReplyArguments, { ...reply, timeout_ms: -1 }],
    ['subagent_reply with one image that is no list', subagentReplyArguments, { ...reply, images: 'a.png' }],
    [
      'subagent_reply with too many images',
      subagentReplyArguments,
      { ...reply, images: Array(51).fill('a') },
    ],
    ['subagent_reply with an unknown argument', subagentReplyArguments, { ...reply, interrupt: true }],
    ['subagent_mailbox of no mail', subagentMailboxArguments, { limit: 0 }],
    ['subagent_mailbox of too many', subagentMailboxArguments, { limit: 201 }],
    ['subagent_mailbox with an unknown argument', subagentMailboxArguments, { unread: true }],
    ['subagent_read of nothing', subagentReadArguments, {}],
    ['subagent_read of an id that is no text', subagentReadArguments, { mail_id: 7 }],
    ['subagent_end of nobody', subagentEndArguments, {}],
    ['subagent_end with an empty path', subagentEndArguments, { subagent_id: 'x', archive_to: '' }],
    [
      'subagent_end with a place for what is not kept',
      subagentEndArguments,
      { subagent_id: 'x', persist: false, archive_to: 'kept.jsonl' },
    ],
  ])('refuse %s', (_name, schema, args) => {
    expect(schema.safeParse(args).success).toBe(false);
  });

  test.each([
    ['the goal, in bytes', subagentOpenArguments, {}, 'goal', 1_000_000],
    ['the system prompt', subagentOpenArguments, { goal }, 'system_prompt', 50_000],
    ['a model', subagentOpenArguments, { goal }, 'model', 200],
    ['a folder', subagentOpenArguments, { goal }, 'cwd', 4_096],
    ['a message, in bytes', subagentReplyArguments, { subagent_id: 'x' }, 'message', 1_000_000],
    ['whom it is for', subagentReplyArguments, { message: 'x' }, 'subagent_id', 1_000],
    ['whose mail', subagentMailboxArguments, {}, 'subagent_id', 1_000],
    ['which mail', subagentReadArguments, {}, 'mail_id', 100],
    ['whom to end', subagentEndArguments, {}, 'subagent_id', 1_000],
    ['where to', subagentEndArguments, { subagent_id: 'x' }, 'archive_to', 4_096],
  ])('refuse %s that is too long', (_name, schema, args, field, most) => {
    const parsed = (length: number) =>
      parsePayload<unknown>(schema, { ...args, [field]: 'x'.repeat(length) });
    expect(parsed(most).ok).toBe(true);
    expect(parsed(most + 1)).toMatchObject({ ok: false, reason: expect.stringContaining('too l') });
  });

  test('have their defaults', () => {
    expect(subagentReplyArguments.parse(reply)).toMatchObject({ mode: 'blocking' });
    expect(subagentMailboxArguments.parse({})).toEqual({ only_unread: false, limit: 20 });
    expect(subagentReadArguments.parse({ mail_id: 'mail-1' })).toEqual({ mail_id: 'mail-1', peek: false });
    expect(subagentEndArguments.parse({ subagent_id: 'x' })).toEqual({ subagent_id: 'x', persist: true });
  });

  test('make a message and its images one input', () => {
    const images = ['shot.png', 'https://example.org/a.png', 'data:image/png;base64,AA=='];
    expect(subagentReplyArguments.parse({ ...reply, images }).items).toEqual([
      { type: 'text', text: 'go on' },
      { type: 'local_image', path: 'shot.png' },
      { type: 'image', image_url: images[1] },
      { type: 'image', image_url: images[2] },
    ]);
  });
});

test('an image by an address that nobody can fetch is refused with its place and the scheme', () => {
  const images = ['a:b.png', 'ftp://x/y.png'];
  expect(parsePayload<unknown>(subagentReplyArguments, { ...reply, images })).toMatchObject({
    ok: false,
    reason: expect.stringMatching(/^images\.1: the scheme ftp: is not taken/),
  });
});

test('models see which arguments are required, and the descriptions that matter', () => {
  const shown = Object.fromEntries(
    mailboxDialect.operations.map(({ name, description, parameters }) => {
      const { required = [], properties = {} } = z.toJSONSchema(parameters, { io: 'input' });
      return [name, { description, required, names: Object.keys(properties) }];
    }),
  );
  const required = Object.fromEntries(Object.entries(shown).map(([name, tool]) => [name, tool.required]));
  expect(required).toEqual({
    subagent_open: ['goal'],
    subagent_reply: ['subagent_id', 'message'],
    subagent_mailbox: [],
    subagent_read: ['mail_id'],
    subagent_end: ['subagent_id'],
  });
  expect(shown.subagent_reply?.names).toEqual(['subagent_id', 'message', 'mode', 'timeout_ms', 'images']);
  expect(shown.subagent_open?.description).toMatch(/several.*update_plan/);
});
