import { counted, type ProjectDocs } from '../protocol/index.ts';
import { harmless } from './terminal-text.ts';

/** What agents are not told of the files of their project, for the person. */
export function docNotices({ files, notices = [] }: ProjectDocs): string[] {
  const cut = files.flatMap(({ path, left_out: leftOut }) =>
    leftOut === undefined
      ? []
      : [`${path}: agents are not told its last ${counted(leftOut, 'byte')} (project_doc_max_bytes)`],
  );
  return [...cut, ...notices].map(harmless);
}
