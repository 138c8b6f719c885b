import type { Tool } from './define-tool.ts';
import { grepFiles } from './grep-files.ts';
import { listAgents } from './list-agents.ts';
import { listDir } from './list-dir.ts';
import { readFile } from './read-file.ts';
import { shell } from './shell.ts';
import { subagentDescribe, subagentList } from './subagent-catalog.ts';
import { updatePlan } from './update-plan.ts';

/** The ordinary tools that every worker has. */
export const builtinTools: readonly Tool[] = [
  shell,
  readFile,
  listDir,
  grepFiles,
  updatePlan,
  listAgents,
  subagentList,
  subagentDescribe,
];
