/** Writes many files as a patch does, in a process that can be killed: FOLDER, STATE, then as many as COUNT. */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { writeFiles } from '../../../activities/patch/write-files.ts';

const [, , folder = '', state = '', count = ''] = process.argv;
const at = (name: string) => join(folder, name);
const writes = Array.from({ length: Number(count) }, (_, i) => [
  { path: at(`changed-${i}`), before: lstatSync(at(`changed-${i}`)), content: 'new' },
  { path: at(`gone-${i}`), before: lstatSync(at(`gone-${i}`)), content: undefined },
  { path: at(`come/deep-${i}/file`), before: undefined, content: 'new' },
]).flat();
process.stdout.write('begins\n');
await writeFiles(writes, state, new AbortController().signal);
process.stdout.write('ends\n');
