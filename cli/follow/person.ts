import type { AgentEvent, AgentView, SessionId } from '../../protocol/index.ts';
import type { Config } from '../config/schema.ts';
import type { Invocation } from '../invocation.ts';
import { isAtTerminal } from '../is-at-terminal.ts';
import { saveRule } from '../trust/saved-rules.ts';
import type { Workplace } from '../workplace.ts';
import { ApprovalPrompt } from './approval-prompt.ts';
import { isForeground } from './is-foreground.ts';
import type { LiveTree } from './live-tree.ts';
import { Notifier, wantsNotifications } from './notifications.ts';
import { TerminalInput } from './terminal-input.ts';

export interface PersonOptions {
  session: SessionId;
  live: LiveTree | undefined;
  notifications: Config['notifications'];
  /** Whether questions may be put to the person. */
  asks: boolean;
  /** Whether everything that is seen is news; else what the first look brings happened before. */
  fresh: boolean;
}

/** The person at the terminal, who is asked for approvals and told of agents that have ended their turn. */
export class Person {
  readonly #output: Invocation['output'];
  readonly #input: TerminalInput | undefined;
  readonly #prompt: ApprovalPrompt | undefined;
  readonly #notifier: Notifier | undefined;
  #caughtUp: boolean;

  constructor({ output, environment }: Invocation, place: Workplace, options: PersonOptions) {
    const { session, live, notifications } = options;
    this.#output = output;
    this.#caughtUp = options.fresh;
    const hasKeys = isAtTerminal() && !process.stdin.readableEnded && isForeground();
    const notifies = live !== undefined && wantsNotifications(notifications);
    const watchesFocus = hasKeys && notifies && notifications.when === 'unfocused';
    const input = hasKeys ? new TerminalInput(process.stdin, output.stderr, watchesFocus) : undefined;
    if (watchesFocus) input?.acquire();
    if (notifies) {
      const isFocused = () => input?.isFocused ?? true;
      this.#notifier = new Notifier({ config: notifications, environment, screen: output.stderr, isFocused });
    }
    if (input !== undefined && options.asks) {
      this.#prompt = new ApprovalPrompt({
        output,
        input,
        screen: live,
        pending: () => place.link.reach((client) => client.get(session).approvals()),
        decide: (id, decision) => place.link.reach((client) => client.decide(id, decision)),
        save: (rule) => saveRule(place.home, rule),
      });
    }
    if (watchesFocus) this.#input = input;
  }

  /** Told of every event. */
  hears(event: AgentEvent, view: AgentView): void {
    if (this.#caughtUp) this.#notifier?.take(event, view);
  }

  /** Told of the session each time it was looked at. */
  sees(agents: readonly AgentView[]): void {
    this.#caughtUp = true;
    this.#prompt?.look(agents).catch((error: unknown) => this.#output.debug(String(error)));
  }

  /** Whether somebody has to look at the session for the person. */
  get isThere(): boolean {
    return this.#prompt !== undefined || this.#notifier !== undefined;
  }

  /** The person and the session part, because it has ended or is left running. */
  parts(session: 'ended' | 'left'): void {
    this.#prompt?.end(session);
    this.#input?.release();
  }
}
