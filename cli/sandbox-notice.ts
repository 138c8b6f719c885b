import type { SandboxMode } from '../protocol/index.ts';
import { type SandboxReport, sandboxReport } from '../worker/preflight.ts';
import type { Output } from './output.ts';

/** Says, once for a session, that its commands cannot be contained here, and how to mend that. */
export async function tellIfUncontained(
  output: Pick<Output, 'warn'>,
  mode: SandboxMode,
  look: () => Promise<SandboxReport> = sandboxReport,
): Promise<void> {
  if (mode === 'danger-full-access') return;
  const { works, detail, hint } = await look();
  if (!works) output.warn(['No sandbox:', `${detail}.`, hint].filter((part) => part !== undefined).join(' '));
}
