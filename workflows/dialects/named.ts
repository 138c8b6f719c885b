import type { SubagentRunArguments } from '../../protocol/index.ts';
import { runToEnd } from '../operations/run-to-end.ts';
import type { Dialect } from './dialect.ts';
import { Failed } from './failed.ts';
import { inWordsOf } from './own-words.ts';

/** There is no tool to look at what goes on, or to end it. */
const inOwnWords = inWordsOf({
  hints: {
    limit_threads: 'Give fewer of them in one answer, or try again when others have ended.',
    outcome_unknown: 'Look at what is there before you try again.',
  },
});

/** The named vocabulary: its other tools only read roles. */
export const named: Dialect = {
  tools: {
    subagent_run: async (agent, callId, raw) => {
      const { name, task, model } = raw as SubagentRunArguments;
      const end = await runToEnd(agent, { callId, role: name, task, model });
      const about = { agent_name: end.role, task };
      if (end.success) return { ...about, success: true, output: end.output };
      throw new Failed({ ...about, success: false, output: '', error: end.error });
    },
  },
  sideBySide: ['subagent_run'],
  refusal: (error) => {
    const own = inOwnWords(error);
    return { ...own, message: `Sub-agent execution failed: ${own.message}` };
  },
};
