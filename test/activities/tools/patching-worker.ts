/** Stands for another worker, with two agents that patch the same two files. FOLDER, NAME, then how many patches each. */
import { applyPatch } from '../../../activities/tools/apply-patch.ts';
import { contextIn } from './tool-context.ts';

const [folder = '', name = '', count = ''] = process.argv.slice(2);
await Promise.all(
  ['a', 'b'].map(async (agent) => {
    for (let i = 0; i < Number(count); i++) {
      const change = (file: string) => [`*** Update File: ${file}`, '@@', ' begin', `+${name}${agent}${i}`];
      const lines = ['*** Begin Patch', ...change('one'), ...change('two'), '*** End Patch'];
      await applyPatch.run({ input: lines.join('\n') }, contextIn(folder));
    }
  }),
);
