import { z } from 'zod';

/** From the strictest on. */
export const SANDBOX_MODES = ['read-only', 'workspace-write', 'danger-full-access'] as const;
export const sandboxModeSchema = z.enum(SANDBOX_MODES);
export type SandboxMode = z.infer<typeof sandboxModeSchema>;
