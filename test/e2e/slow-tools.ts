/** A team's own tools that take their time: each notes in a file that it has begun, and that it was told to stop. */
import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineTool, type ToolContext } from 'cadre/tools';
import { z } from 'zod';

const parameters = z.strictObject({ log: z.string() });
const timeoutMs = () => 600_000;

async function begin(log: string, { resolve, signal }: ToolContext): Promise<never> {
  appendFileSync(resolve(log), 'x\n');
  try {
    return (await sleep(600_000, undefined, { signal })) as never;
  } catch (error) {
    appendFileSync(resolve(log), 'stopped\n');
    throw error;
  }
}

export const slowWrite = defineTool({
  name: 'slow_write',
  description: 'Adds a line to a file, and goes on.',
  effects: 'some',
  parameters,
  timeoutMs,
  run: ({ log }, context) => begin(log, context),
});

export const slowRead = defineTool({
  name: 'slow_read',
  description: 'Takes long when it is called for the first time.',
  effects: 'none',
  parameters,
  timeoutMs,
  run: async ({ log }, context) => (existsSync(context.resolve(log)) ? 'read at last' : begin(log, context)),
});

/** It does not look at its signal: it is left behind. */
export const deafWrite = defineTool({
  name: 'deaf_write',
  description: 'Adds a line to a file, and goes on whatever happens.',
  effects: 'some',
  parameters,
  timeoutMs,
  run: async ({ log }, context) => {
    appendFileSync(context.resolve(log), 'x\n');
    return (await sleep(600_000, undefined, { ref: false })) as never;
  },
});
