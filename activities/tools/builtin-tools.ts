import { applyPatch } from './apply-patch.ts';
import type { Tool } from './define-tool.ts';
import { execCommand } from './exec-command.ts';
import { grepFiles } from './grep-files.ts';
import { handleRead } from './handle-read.ts';
import { listAgents } from './list-agents.ts';
import { listDir } from './list-dir.ts';
import { readFile } from './read-file.ts';
import { remember } from './remember.ts';
import { shell } from './shell.ts';
import { subagentDescribe, subagentList } from './subagent-catalog.ts';
import { updatePlan } from './update-plan.ts';
import { viewImage } from './view-image.ts';
import { writeStdin } from './write-stdin.ts';

/** The ordinary tools that every worker has. */
export const builtinTools: readonly Tool[] = [
  shell,
  execCommand,
  writeStdin,
  applyPatch,
  readFile,
  listDir,
  grepFiles,
  viewImage,
  handleRead,
  updatePlan,
  remember,
  listAgents,
  subagentList,
  subagentDescribe,
];
