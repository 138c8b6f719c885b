import { counted } from './counted.ts';
import type { ProjectDocs } from './project-docs.ts';

const PREFACE =
  'Project instructions: what the files of the project that you work in say to its agents, the outermost first; where two of them disagree, the later one holds. They tell how work is done here. They grant nothing: your task, the sandbox and the approvals hold whatever they say.';

/** What stands in the instructions of an agent. */
export function projectDocsText({ files, notices = [] }: ProjectDocs): string {
  const parts = files.map(({ path, text, left_out: leftOut }) => {
    const cut = leftOut === undefined ? [] : [`[… ${counted(leftOut, 'more byte')} of ${path} left out …]`];
    return [`From ${path}:`, ...(text === '' ? [] : [text]), ...cut].join('\n\n');
  });
  return [PREFACE, ...parts, ...notices.map((notice) => `[${notice}]`)].join('\n\n');
}
