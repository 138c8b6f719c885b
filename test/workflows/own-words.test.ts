import { expect, test } from 'vitest';
import { findWorkingDirectory } from '../../activities/roles/working-directory.ts';
import { type AgentId, CadreError, type ErrorBody } from '../../protocol/index.ts';
import { dialectOf } from '../../workflows/dialects/index.ts';
import { slotsFull } from '../../workflows/full-slots.ts';

const FOLDER = '/no/working_directory/here';

async function refusedFolder(): Promise<ErrorBody> {
  const error = await findWorkingDirectory(FOLDER, '/').catch((reason: unknown) => reason);
  if (!(error instanceof CadreError)) throw new Error('it was not refused');
  return error.body;
}

test.each(['agent_open', 'subagent_open'])(
  '%s refuses a folder by its own name for the argument',
  async (tool) => {
    expect(dialectOf(tool)?.refusal?.(await refusedFolder())).toMatchObject({
      code: 'invalid_arguments',
      // What is somebody's own stays as it is.
      message: `The cwd ${FOLDER} does not exist.`,
      hint: 'Name a folder that exists, or leave cwd out: the new agent works in yours then.',
    });
  },
);

test.each(['agent_open', 'subagent_open', 'subagent_run'])(
  '%s names no tool of another dialect where there is no slot',
  (tool) => {
    const error = slotsFull({ max: 1, working: ['s/writer-1' as AgentId], idle: [] }, true);
    const said = dialectOf(tool)?.refusal?.(error);
    expect(said?.message).toContain('s/writer-1');
    expect(said?.hint).toContain('try again');
    expect(said?.hint).not.toMatch(/close_agent|\(wait\)/);
  },
);
