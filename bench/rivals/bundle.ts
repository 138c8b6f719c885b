/** Bundles the workflows ahead, as the plug-in's documentation says: `node bundle.ts FILE`. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { OpenAIProvider } from '@openai/agents-openai';
import { OpenAIAgentsPlugin } from '@temporalio/openai-agents';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

const { code } = await bundleWorkflowCode({
  workflowsPath: fileURLToPath(new URL('workflows.ts', import.meta.url)),
  plugins: [new OpenAIAgentsPlugin({ modelProvider: new OpenAIProvider({ apiKey: 'none' }) })],
  logger: new DefaultLogger('ERROR'),
  // As in its samples: a browser's build of a dependency is the one without Node's modules.
  webpackConfigHook: (config) => ({
    ...config,
    resolve: { ...config.resolve, conditionNames: ['require', 'browser', 'default'] },
  }),
});
writeFileSync(process.argv[2] ?? 'workflow-bundle.js', code);
