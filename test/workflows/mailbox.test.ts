import { expect, test } from 'vitest';
import { noUsage } from '../../protocol/index.ts';
import { type Answer, AWAITED_MAX, Mailbox } from '../../workflows/mailbox.ts';
import { agentId } from './agent-views.ts';

const ONE = agentId('default-1');
const TWO = agentId('default-2');
const said = (body: string, turn = 1): Answer => ({ status: 'completed', body, turns_completed: turn });
const any = () => true;

function ask(mailbox: Mailbox, child = ONE, text = 'a question'): { mail: string; input: string } {
  const mail = mailbox.nextId();
  const input = `input of ${mail}`;
  mailbox.expect(mail, child, input, text);
  return { mail, input };
}

test('an answer becomes the mail of each message that the turn took, and of no other', () => {
  const mailbox = new Mailbox();
  const first = ask(mailbox, ONE, 'look\nthere');
  const second = ask(mailbox);
  const other = ask(mailbox, TWO);
  const usage = { ...noUsage, total_tokens: 7 };
  mailbox.answer(ONE, (id) => id === first.input, { ...said('found'), token_usage: usage }, 1_000);
  expect(mailbox.get(first.mail)).toEqual({
    mail_id: first.mail,
    subagent_id: ONE,
    subject: 'Answer to: look',
    body: 'found',
    at: 1_000,
    unread: true,
    status: 'completed',
    turns_completed: 1,
    token_usage: usage,
  });
  expect(mailbox.awaited.map(({ mail_id }) => mail_id)).toEqual([second.mail, other.mail]);
  expect([first.mail, second.mail, other.mail].map((id) => mailbox.isAwaited(id))).toEqual([
    false,
    true,
    true,
  ]);
});

test('lists the newest first, of one sub-agent or unread only', () => {
  const mailbox = new Mailbox();
  const mails = [ask(mailbox, ONE), ask(mailbox, TWO), ask(mailbox, ONE)];
  for (const { input } of mails) {
    for (const child of [ONE, TWO]) mailbox.answer(child, (id) => id === input, said('x'), 1);
  }
  const ids = (filter?: Parameters<Mailbox['list']>[0]) => mailbox.list(filter).map(({ mail_id }) => mail_id);
  expect(ids()).toEqual(['mail-3', 'mail-2', 'mail-1']);
  mailbox.markRead('mail-3');
  expect(ids({ onlyUnread: true })).toEqual(['mail-2', 'mail-1']);
  expect(ids({ subagent: ONE })).toEqual(['mail-3', 'mail-1']);
  expect(ids({ subagent: ONE, onlyUnread: true })).toEqual(['mail-1']);
});

test('keeps the newest bodies whole, cuts the oldest, and says where the whole is', () => {
  const mailbox = new Mailbox();
  for (let turn = 1; turn <= 5; turn++) {
    ask(mailbox);
    mailbox.answer(ONE, any, said('x'.repeat(100_000), turn), turn);
    expect(mailbox.bytes).toBeLessThan(310_000);
  }
  expect(mailbox.get('mail-5')?.body).toHaveLength(100_000);
  expect(mailbox.get('mail-1')?.body.length).toBeLessThan(2_100);
  expect(mailbox.get('mail-1')?.body).toContain(`stored as transcript:${ONE}`);
  expect(mailbox.dropped).toBe(0);
});

test('one body that is longer than all may be is cut, too', () => {
  const mailbox = new Mailbox();
  ask(mailbox);
  mailbox.answer(ONE, any, said('\u0001'.repeat(390_000)), 1);
  expect(mailbox.bytes).toBeLessThan(201_000);
  expect(mailbox.get('mail-1')?.body).toContain('left out');
});

test('of too many mails those make way that were read, then the oldest', () => {
  const mailbox = new Mailbox();
  for (let count = 1; count <= 202; count++) {
    ask(mailbox);
    mailbox.answer(ONE, any, said('x'), count);
    if (count === 100) mailbox.markRead('mail-50');
  }
  expect(mailbox.dropped).toBe(2);
  expect(mailbox.get('mail-50')).toBeUndefined();
  expect(mailbox.get('mail-1')).toBeUndefined();
  expect(mailbox.get('mail-2')).toBeDefined();
  expect(mailbox.list()).toHaveLength(200);
});

test('a message that did not go out is awaited no more; so many may be at the same time', () => {
  const mailbox = new Mailbox();
  const { mail, input } = ask(mailbox);
  mailbox.forget(input);
  expect(mailbox.isAwaited(mail)).toBe(false);
  for (let count = 0; count < AWAITED_MAX; count++) ask(mailbox);
  expect(mailbox.isFull).toBe(true);
});

test('all of it goes through a carry, and no id comes twice', () => {
  const mailbox = new Mailbox();
  ask(mailbox);
  mailbox.answer(ONE, any, said('x'), 1);
  ask(mailbox);
  const next = new Mailbox(JSON.parse(JSON.stringify(mailbox.carry)));
  expect(next.carry).toEqual(mailbox.carry);
  expect(next.nextId()).toBe('mail-3');
  next.markRead('mail-1');
  expect(mailbox.get('mail-1')?.unread).toBe(true);
  expect(new Mailbox().isEmpty).toBe(true);
  expect(next.isEmpty).toBe(false);
});

test('after a resume what was awaited has failed', () => {
  const mailbox = new Mailbox();
  const { mail } = ask(mailbox);
  mailbox.giveUp(5);
  expect(mailbox.awaited).toEqual([]);
  expect(mailbox.get(mail)).toMatchObject({ status: 'interrupted', unread: true });
});

test('messages to one sub-agent go out one after the other, also behind one that fails', async () => {
  const mailbox = new Mailbox();
  const sent: string[] = [];
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const first = mailbox.inOrder(ONE, async () => {
    await gate;
    sent.push('first');
    throw new Error('refused');
  });
  const second = mailbox.inOrder(ONE, async () => void sent.push('second'));
  await mailbox.inOrder(TWO, async () => void sent.push('other'));
  open();
  await expect(first).rejects.toThrow('refused');
  await second;
  expect(sent).toEqual(['other', 'first', 'second']);
});
