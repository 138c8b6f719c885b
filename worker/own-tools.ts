/** What the command line needs to take in a team's tools. */
export { checkTools, replacedBy } from '../activities/tools/check-tools.ts';
