export { shellLine } from '../activities/policy/command-words.ts';
export { withoutFillableCode } from '../activities/sandbox/code-variables.ts';
export { isWithin } from '../activities/sandbox/is-within.ts';
export { fillableFolders, outsidePath } from '../activities/sandbox/outside-path.ts';
export { realPath } from '../activities/sandbox/real-paths.ts';
/** Whose files a project's own are, and whether the person trusts them: quick to load. */
export { projectRoot, realProjectRoot, repositoryRoot } from '../activities/trust/project-root.ts';
export {
  isTrusted,
  readTrusted,
  type TrustedFolder,
  trustFile,
} from '../activities/trust/trusted-folders.ts';
