/** Stands for another worker: a command of its runs in the folder until it is killed. */
import { join } from 'node:path';
import { holdPlaceholders } from '../../../activities/sandbox/placeholders.ts';
import { PROTECTED_NAMES } from '../../../activities/sandbox/protected-paths.ts';

const [folder] = process.argv.slice(2) as [string];
await holdPlaceholders(PROTECTED_NAMES.map((name) => join(folder, name)));
console.log('held');
setInterval(() => {}, 60_000);
