import { fileURLToPath } from 'node:url';

/** The built-in script; it stands beside this file, in the sources and in dist/ alike. */
export const REHEARSAL_SCRIPT = fileURLToPath(new URL('./rehearsal.yaml', import.meta.url));
