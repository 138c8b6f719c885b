import { join } from 'node:path';
import type { ApprovalRule } from '../../protocol/index.ts';
import type { Config } from './schema.ts';

/** The rules of the configuration, with what a shorter spelling means. */
export function configuredRules({ approvals }: Config, home: string): ApprovalRule[] {
  return approvals.allow.map((written) => {
    const rule = typeof written === 'string' ? { command: written } : written;
    const { folder } = rule;
    return folder?.startsWith('~/') ? { ...rule, folder: join(home, folder.slice(2)) } : rule;
  });
}
