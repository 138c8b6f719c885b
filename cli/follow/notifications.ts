import { type AgentEvent, type AgentView, formatAnnouncement } from '../../protocol/index.ts';
import type { Environment } from '../config/environment.ts';
import type { Config } from '../config/schema.ts';
import type { OutputStream } from '../output.ts';
import { oneLine } from '../terminal-text.ts';

/** The type of a notification that a sub-agent has ended its turn, as `notifications.types` names it. */
const SUB_AGENT_COMPLETE = 'sub-agent-complete';
const SHOWN = 200;
const BEL = '\u0007';

export interface NotifierOptions {
  config: Config['notifications'];
  environment: Environment;
  /** The terminal. */
  screen: OutputStream;
  isFocused(): boolean;
}

/** Rings the terminal when a sub-agent has ended its turn. */
export class Notifier {
  readonly #options: NotifierOptions;
  readonly #durations = new Map<string, number>();

  constructor(options: NotifierOptions) {
    this.#options = options;
  }

  /** Told of every event of an agent, in order; `view` is the agent's newest. */
  take(event: AgentEvent, view: AgentView): void {
    if ('duration_ms' in event && event.type !== 'tool.end') {
      this.#durations.set(event.agent_id, event.duration_ms);
      return;
    }
    // A closing is no news: it follows what was told already, or somebody asked for it.
    const news = event.type === 'agent.status' && event.is_final && event.status !== 'shutdown';
    if (!news || event.receiver_id !== event.agent_id || view.depth === 0) return;
    if (this.#options.config.when !== 'always' && this.#options.isFocused()) return;
    this.#ring(
      formatAnnouncement({
        role: view.role,
        agentId: event.agent_id,
        callId: undefined,
        status: event.status,
        durationMs: this.#durations.get(event.agent_id) ?? 0,
        message: event.text,
      }),
    );
  }

  #ring(text: string): void {
    const { config, environment, screen } = this.#options;
    const how = config.method === 'auto' ? methodOf(environment) : config.method;
    screen.write(how === 'osc9' ? `\u001b]9;${oneLine(text, SHOWN)}${BEL}` : BEL);
  }
}

/** Whether anybody has asked to be told of sub-agents: see docs/decisions/012-keys-are-left-alone.md. */
export function wantsNotifications({ types, when }: Config['notifications']): boolean {
  return when !== undefined && types.includes(SUB_AGENT_COMPLETE);
}

/** How a terminal is told: those that show a text get one, any other beeps. */
export function methodOf(environment: Environment): 'bel' | 'osc9' {
  const { TERM_PROGRAM: program = '', TERM: term = '' } = environment;
  // A multiplexer passes the bell on, and swallows the rest.
  if (environment.TMUX || environment.STY) return 'bel';
  if (['iTerm.app', 'WezTerm', 'ghostty'].includes(program)) return 'osc9';
  if (environment.WT_SESSION || environment.KITTY_WINDOW_ID) return 'osc9';
  return /^xterm-(kitty|ghostty)/.test(term) ? 'osc9' : 'bel';
}
