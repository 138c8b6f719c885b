import { readFile } from 'node:fs/promises';
import { z } from 'zod';

const ticketsSchema = z.array(
  z.object({ id: z.string(), state: z.enum(['open', 'closed']), title: z.string() }),
);

/** What a team has in its own systems; here it is a file. */
export async function readTickets(path: string): Promise<z.infer<typeof ticketsSchema>> {
  return ticketsSchema.parse(JSON.parse(await readFile(path, 'utf8')));
}
