/** Agents by Temporal's own plug-in for the OpenAI Agents SDK, set up as its documentation says. */
import { setTracingDisabled } from '@openai/agents-core';
import { OpenAIProvider } from '@openai/agents-openai';
import { Client, Connection, WorkflowFailedError } from '@temporalio/client';
import { OpenAIAgentsPlugin } from '@temporalio/openai-agents';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import type { OpenRival, RivalOptions } from '../rival.ts';
import { createActivities } from './activities.ts';
import type { delegator, reader, Setup } from './workflows.ts';

// Its tracing prints each span where no exporter is set, at a cost that is not the plug-in's.
setTracingDisabled(true);
Runtime.install({
  shutdownSignals: [],
  logger: new DefaultLogger('ERROR', () => {}),
  telemetryOptions: { logging: { forward: {}, filter: 'WARN' } },
});

export const openRival: OpenRival = async (options) => {
  const plugin = pluginOf(options);
  const connection = await NativeConnection.connect({ address: options.address });
  const clientConnection = await Connection.connect({ address: options.address });
  const client = new Client({ connection: clientConnection, plugins: [plugin] });
  const setup: Setup = { localTools: options.tools === 'local', below: options.below };
  return {
    async run(workflow, id, onStarted) {
      const worker = await Worker.create({
        connection,
        taskQueue: id,
        workflowBundle: { codePath: options.bundle },
        activities: createActivities(options.folder),
        plugins: [plugin],
      });
      return worker.runUntil(async () => {
        const started = performance.now();
        const handle = await client.workflow.start<typeof reader | typeof delegator>(workflow, {
          taskQueue: id,
          workflowId: id,
          args: [setup, 'bench'],
        });
        onStarted((reason) => handle.terminate(reason));
        const status = await handle.result().then(() => 'completed', failure);
        return { id, ms: performance.now() - started, status };
      });
    },
    async close() {
      await clientConnection.close();
      await connection.close();
    },
  };
};

function pluginOf({ modelUrl, model }: RivalOptions): OpenAIAgentsPlugin {
  return new OpenAIAgentsPlugin({
    modelProvider: new OpenAIProvider({ apiKey: 'none', baseURL: modelUrl }),
    modelParams: { startToCloseTimeout: '1 minute', useLocalActivity: model === 'local' },
  });
}

function failure(error: unknown): string {
  const cause = error instanceof WorkflowFailedError ? error.cause : error;
  return cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
}
