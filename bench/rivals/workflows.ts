import { Agent, type Tool, tool } from '@openai/agents-core';
import { activityAsTool, agentAsTool, TemporalOpenAIRunner } from '@temporalio/openai-agents/workflow';
import { executeChild, proxyLocalActivities } from '@temporalio/workflow';
import type { Activities } from './activities.ts';

/** What differs between the ways of using the plug-in. */
export interface Setup {
  /** The tool for work is a local activity, too. */
  localTools: boolean;
  /** Agents below are nested in the same workflow, or child workflows. */
  below: 'nested' | 'workflows';
}

const local = proxyLocalActivities<Activities>({ startToCloseTimeout: '1 minute' });
const parameters = {
  type: 'object' as const,
  properties: { path: { type: 'string' } },
  required: ['path'],
  additionalProperties: false as const,
};
const definition = { name: 'read_file', description: 'Reads a text file.' };
/** As many steps as the model asks for; no tracing, as in the worker. */
const runOptions = { maxTurns: Number.MAX_SAFE_INTEGER, runConfig: { tracingDisabled: true } };

/** One agent that reads files. */
export async function reader(setup: Setup, prompt: string): Promise<string> {
  const result = await new TemporalOpenAIRunner().run(readerAgent(setup), prompt, runOptions);
  return result.finalOutput ?? '';
}

/** One agent that has others read files. */
export async function delegator(setup: Setup, prompt: string): Promise<string> {
  const agent = new Agent({
    name: 'Delegator',
    instructions: 'You let others work.',
    model: 'test-model',
    tools: [delegate(setup)],
  });
  const result = await new TemporalOpenAIRunner().run(agent, prompt, runOptions);
  return result.finalOutput ?? '';
}

function readerAgent({ localTools }: Setup) {
  const readFile: Tool = localTools
    ? tool({
        ...definition,
        parameters,
        execute: (args) => local.read_file(args as { path: string }),
      })
    : activityAsTool<Activities['read_file']>(
        { ...definition, parameters },
        { startToCloseTimeout: '1 minute' },
      );
  return new Agent({
    name: 'Reader',
    instructions: 'You read files.',
    model: 'test-model',
    tools: [readFile],
  });
}

function delegate(setup: Setup): Tool {
  const toolName = 'delegate';
  const toolDescription = 'Has an agent do a task.';
  if (setup.below === 'nested') {
    return agentAsTool(readerAgent(setup), { toolName, toolDescription });
  }
  return tool({
    name: toolName,
    description: toolDescription,
    parameters: {
      type: 'object' as const,
      properties: { input: { type: 'string' } },
      required: ['input'],
      additionalProperties: false as const,
    },
    execute: (args) => executeChild(reader, { args: [setup, (args as { input: string }).input] }),
  });
}
