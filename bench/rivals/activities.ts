import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The tool for work, as an activity: reads a file of one folder. */
export function createActivities(folder: string) {
  return {
    async read_file({ path }: { path: string }): Promise<string> {
      return readFile(join(folder, path), 'utf8');
    },
  };
}

export type Activities = ReturnType<typeof createActivities>;
