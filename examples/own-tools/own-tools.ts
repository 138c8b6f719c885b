import { appendFile } from 'node:fs/promises';
import { ApprovalNeeded, defineTool } from 'cadre/tools';
import { z } from 'zod';
import { readTickets } from './tickets.ts';

/** Only reads: it may run beside others, and again after a crash. */
export const findTickets = defineTool({
  name: 'find_tickets',
  description: 'Finds support tickets by words in their titles. Answers one a line: id, state, title.',
  effects: 'none',
  parameters: z.strictObject({
    words: z.string().min(1).describe('Words that the title has to contain'),
    state: z.enum(['open', 'closed']).optional().describe('Default: both'),
  }),
  summary: ({ words }) => words,
  async run({ words, state }, context) {
    const tickets = await readTickets(context.resolve('tickets.json'));
    const found = tickets.filter(
      (ticket) =>
        (state === undefined || ticket.state === state) &&
        words.split(/\s+/).every((word) => ticket.title.toLowerCase().includes(word.toLowerCase())),
    );
    return found.length === 0
      ? 'None.'
      : found.map(({ id, state, title }) => `${id} ${state} ${title}`).join('\n');
  },
});

/** Has effects: it runs at most once, and a person allows it first. */
export const closeTicket = defineTool({
  name: 'close_ticket',
  description: 'Closes a support ticket, with an answer that the customer reads.',
  effects: 'some',
  parameters: z.strictObject({
    id: z.string().regex(/^T-\d+$/),
    answer: z.string().min(1).describe('For the customer'),
  }),
  timeoutMs: () => 10_000,
  summary: ({ id }) => id,
  async run({ id, answer }, context) {
    const tickets = await readTickets(context.resolve('tickets.json'));
    if (!tickets.some((ticket) => ticket.id === id)) return { output: `There is no ${id}.`, success: false };
    if (!context.approved) {
      throw new ApprovalNeeded({
        kind: 'command',
        summary: `close ${id}: ${answer}`,
        reason: 'the customer is told',
        key: id,
      });
    }
    await appendFile(context.resolve('closed.log'), `${id} ${answer}\n`);
    return `${id} is closed.`;
  },
});
