import type { Config } from './config/schema.ts';
import type { Finding } from './finding.ts';

/** Whether commands can be contained here, and whether the settings leave them a way around. */
export async function sandboxFinding(config?: Config): Promise<Finding> {
  const { sandboxReport } = await import('../worker/preflight.ts');
  const { works, detail, hint } = await sandboxReport();
  const mended = hint === undefined ? {} : { hint };
  if (!works) return { what: 'sandbox', state: 'warn', detail, ...mended };
  if (config?.sandbox.network !== true || config.sandbox_mode !== 'workspace-write')
    return { what: 'sandbox', state: 'ok', detail, ...mended };
  return {
    what: 'sandbox',
    state: 'warn',
    detail: `${detail}; with sandbox.network, commands reach Temporal on this machine, and by that can allow what they ask for`,
    hint: 'Leave it off for agents that read what strangers write; see docs/sandbox.md.',
  };
}
