/** What the command line needs to take in a team's tools. */
export { checkTools, replacedBy } from '../activities/tools/check-tools.ts';
export { insideTool, toolAtFault } from '../activities/tools/inside-tool.ts';
