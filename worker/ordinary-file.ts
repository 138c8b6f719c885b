/** For texts that may be anybody's: quick to load. */
export { readOrdinaryFile, UnfitFile } from '../activities/ordinary-file.ts';
