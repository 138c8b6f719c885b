/** Run as a program: makes sure that the server of the given CADRE_HOME runs, and prints its record. */
import { ensureServer } from '../../server/index.ts';

const [home = ''] = process.argv.slice(2);
console.log(JSON.stringify(await ensureServer({ home })));
