import { isAbsolute, join } from 'node:path';
import { z } from 'zod';
import { readOrdinaryFile, UnfitFile } from '../ordinary-file.ts';
import { realProjectRoot } from './project-root.ts';

const trustedFolderSchema = z.strictObject({
  path: z.string().refine((path) => isAbsolute(path) && !path.includes('\0'), 'it has to be absolute'),
  /** Of the settings that the person has seen there; null where there were none. */
  config_sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
  trusted_at: z.iso.datetime(),
});
/** A folder that the person trusts: the root of a repository, links resolved. */
export type TrustedFolder = z.infer<typeof trustedFolderSchema>;

const trustFileSchema = z.strictObject({ folders: z.array(trustedFolderSchema) });

/** Of a file that cannot be read nothing counts. */
export type TrustList = { folders: readonly TrustedFolder[]; problem?: string };

/** @param home CADRE_HOME */
export function trustFile(home: string): string {
  return join(home, 'trusted.json');
}

/** The folders that this person trusts, as the file says now. */
export function readTrusted(home: string): TrustList {
  const path = trustFile(home);
  try {
    const parsed = trustFileSchema.safeParse(JSON.parse(readOrdinaryFile(path).bytes.toString()));
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    return broken(path, `${issue?.path.join('.') || 'the whole'}: ${issue?.message}`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return { folders: [] };
    return broken(path, error instanceof UnfitFile ? `it ${message}` : message);
  }
}

function broken(path: string, reason: string): TrustList {
  return { folders: [], problem: `${path} is broken, so no folder is trusted (${reason})` };
}

/** Whether the person trusts the project that a folder belongs to. That above it, or below it, says nothing. */
export function isTrusted(home: string, folder: string): boolean {
  const root = realProjectRoot(folder);
  return root !== undefined && readTrusted(home).folders.some(({ path }) => path === root);
}
