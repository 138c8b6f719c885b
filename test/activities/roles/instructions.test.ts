import { expect, test } from 'vitest';
import { instructionsFor } from '../../../activities/roles/instructions.ts';
import { agentSettingsSchema } from '../../../protocol/index.ts';
import { agentIn } from '../tools/tool-context.ts';

test('the instructions name place, sandbox and role, and are the same for every call', async () => {
  const agent = agentIn({ working_directory: '/work/project', role: 'explorer', sandbox_mode: 'read-only' });
  const text = await instructionsFor(agent);
  expect(text).toContain('Working directory: /work/project');
  expect(text).toContain('Sandbox: read-only.');
  expect(text).toContain('You find things out. You change nothing');
  expect(await instructionsFor({ ...agent, turn: 7, step: 9 })).toBe(text);
});

test('own instructions stand in for the text of the role', async () => {
  const text = await instructionsFor(
    agentIn({ working_directory: '/', role: 'worker', instructions: 'Speak French.' }),
  );
  expect(text.endsWith('\n\nSpeak French.')).toBe(true);
  expect(text).not.toContain('You carry out one piece');
});

test('where nothing can be handed out, nothing is said about it', async () => {
  const limits = agentSettingsSchema.shape.limits.parse({ max_depth: 1 });
  expect(await instructionsFor(agentIn({ working_directory: '/', limits }, 0))).toContain('spawn_agent');
  expect(await instructionsFor(agentIn({ working_directory: '/', limits }, 1))).not.toContain('spawn_agent');
});

test('a role that is gone leaves what every agent is told', async () => {
  expect(await instructionsFor(agentIn({ working_directory: '/', role: 'gone' }))).toContain(
    'You are an agent of Cadre',
  );
});
