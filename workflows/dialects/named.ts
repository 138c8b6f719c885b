import type { SubagentRunArguments } from '../../protocol/index.ts';
import { runToEnd } from '../operations/run-to-end.ts';
import type { Dialect } from './dialect.ts';
import { Failed } from './failed.ts';

/** The named vocabulary: its other tools only read roles. */
export const named: Dialect = {
  tools: {
    subagent_run: async (agent, callId, raw) => {
      const { name, task, model } = raw as SubagentRunArguments;
      const end = await runToEnd(agent, { callId, role: name, task, model });
      const about = { agent_name: name, task };
      if (end.success) return { ...about, success: true, output: end.output };
      throw new Failed({ ...about, success: false, output: '', error: end.error });
    },
  },
  sideBySide: ['subagent_run'],
  refusal: (error) => ({ ...error, message: `Sub-agent execution failed: ${error.message}` }),
};
