import type { Limits } from './limits.ts';
import type { AgentSettingsInput, Dialect } from './settings.ts';

/** What a dialect presumes for a session whose root speaks it; whatever a person sets wins over it. */
export const DIALECT_LIMITS: Readonly<Partial<Record<Dialect, Partial<Limits>>>> = {
  named: { max_depth: 1 },
  mailbox: { max_depth: 1 },
  sessions: { max_threads: 10 },
};

/** Of sessions whose root speaks the dialect sessions, as its document has it. */
export const SESSIONS_THREADS_MAX = 20;

/** The settings of a root with what its dialect presumes. */
export function withDialectLimits(settings: AgentSettingsInput): AgentSettingsInput {
  const presumed = DIALECT_LIMITS[settings.dialect ?? 'collab'];
  return presumed === undefined ? settings : { ...settings, limits: { ...presumed, ...settings.limits } };
}

/** Why a session may not have so many agents at work; undefined where it may. */
export function threadsProblem(dialect: Dialect, threads: number): string | undefined {
  if (dialect !== 'sessions' || threads <= SESSIONS_THREADS_MAX) return undefined;
  return `limits.max_threads: ${threads} is too many with the dialect sessions: ${SESSIONS_THREADS_MAX} at most`;
}
