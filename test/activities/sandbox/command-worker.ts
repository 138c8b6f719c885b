/** Stands for another worker: runs one command in a folder, until that ends or it is killed. FOLDER, CADRE_HOME, COMMAND. */
import { shell } from '../../../activities/tools/shell.ts';
import { contextIn } from '../tools/tool-context.ts';

const [folder = '', stateDir = '', command = ''] = process.argv.slice(2);
const parsed = shell.parameters.parse({ command, timeout_ms: 60_000 });
const result = await shell.run(parsed, { ...contextIn(folder), stateDir });
console.log(typeof result === 'string' ? result : result.output);
