/** Stands for another worker: a command of its runs in the folder until it is killed. */
import { holdPlaceholders } from '../../../activities/sandbox/placeholders.ts';

const [folder] = process.argv.slice(2) as [string];
await holdPlaceholders(folder);
console.log('held');
setInterval(() => {}, 60_000);
