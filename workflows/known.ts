import type { AgentId, AgentView, Report, Status } from '../protocol/index.ts';
import { isFinal } from '../protocol/status.ts';
import { fitting, jsonBytes, shortened } from './carried-text.ts';
import { CUT_OFF, NEVER_BEGUN, OUTSIDE } from './standing.ts';

/** How an agent stands, in two words. */
export interface Stand {
  status: Status;
  message: string;
}

/** What an agent knows of another one: a child of its, or one it watches. */
export interface Known extends Stand {
  id: AgentId;
  isChild: boolean;
  role: string;
  callId?: string;
  turn: number;
  closed: boolean;
  /** It was opened, and has nothing to do yet. */
  idle?: true;
  /** What its last turn came to, while it waits for the next one to begin. */
  lastEnd?: Stand;
  /** How it stood before it was closed. */
  beforeClose?: Stand;
  /** It has begun with a copy of its parent's conversation. */
  forked?: true;
  /** It was open until this agent closed, and was closed with it. */
  closedAlong?: boolean;
  /** `seq` of the newest report. */
  seq: number;
  /** Inputs sent to it by this agent that no report of it has confirmed yet. */
  pending: string[];
  /** As it has shown itself last, where others are to see it here. */
  view?: KnownView;
}

/** Whether it was ended from outside. */
export function wasEnded({ status, message }: Stand): boolean {
  return status === 'errored' && message.startsWith(OUTSIDE);
}

/** Why there is no answer. */
export function reasonOf({ status, message }: Stand): string {
  if (status === 'errored' && message !== '') return message;
  return message === '' ? status : `${status}: ${message}`;
}

/** Its message stands beside it, and what it is by now goes before what it was. */
export type KnownView = Omit<AgentView, 'message'>;

/** Views that go into a new run, together, before they lose what is not needed. */
const VIEWS_BYTES = 200_000;

/** An agent as it is known, for people and programs; undefined where nobody has shown it. */
export function shown({ view, status, message, turn, closed, idle }: Known): AgentView | undefined {
  if (view === undefined) return undefined;
  const { queued, waiting_for, current_tool, idle: _, ...rest } = view;
  const isOver = closed || isFinal(status);
  return {
    ...rest,
    status,
    ...(message === '' ? {} : { message: shortened(message) }),
    is_final: isFinal(status),
    closed,
    turn,
    ...(isOver || idle === undefined ? {} : { idle }),
    ...(isOver || queued === undefined ? {} : { queued }),
    ...(isOver || waiting_for === undefined ? {} : { waiting_for }),
    ...(isOver || current_tool === undefined ? {} : { current_tool }),
  };
}

/** The same agent with another standing since then, of which it has said nothing itself. */
export function since(known: Known, now: number): Known {
  if (known.view === undefined) return known;
  const at = new Date(now).toISOString();
  return { ...known, view: { ...known.view, status_since: at, updated_at: at } };
}

/** How an agent stands once it is back that was ended from outside. */
export function cutOff(known: Known): Stand {
  return known.status === 'running' ? { status: 'interrupted', message: CUT_OFF } : atRest(known);
}

/** How an agent stands once it is back that has closed in good order. */
export function standingBefore(before: Known, { ended }: Pick<Report, 'ended'>): Stand {
  if (before.beforeClose !== undefined) return before.beforeClose;
  // A turn that the closing has cut off counts as interrupted.
  if (before.status !== 'running') return atRest(before);
  return { status: 'interrupted', message: ended?.message ?? before.message };
}

/** What it waited for when it was ended does not begin by itself once it is back. */
function atRest({ status, message, lastEnd }: Known): Stand {
  if (isFinal(status)) return { status, message };
  return lastEnd ?? { status: 'interrupted', message: NEVER_BEGUN };
}

/** What its last turn has come to, as far as it is not said by how it stands. */
export function lastEndOf(before: Known | undefined, { view, ended }: Report): Stand | undefined {
  if (view.status !== 'pending_init') return undefined;
  if (ended !== undefined) return { status: ended.status, message: ended.message ?? '' };
  if (before === undefined) return undefined;
  return isFinal(before.status) && !before.closed
    ? { status: before.status, message: before.message }
    : before.lastEnd;
}

/** As all of them fit into the input of a new run. */
export function fittingKnown(known: Known[]): Known[] {
  // What an open agent has said last, a wait is answered with.
  const said = fitting(known, messageOf, withMessage, ({ closed }) => !closed);
  const before = fitting(said, messageBefore, withMessageBefore);
  return fittingViews(fitting(before, messageAtEnd, withMessageAtEnd));
}

const messageOf = ({ message }: Known): string => message;
const withMessage = (known: Known, message: string): Known => ({ ...known, message });
const messageBefore = ({ beforeClose }: Known): string | undefined => beforeClose?.message;
const withMessageBefore = (known: Known, message: string): Known =>
  known.beforeClose === undefined ? known : { ...known, beforeClose: { ...known.beforeClose, message } };
const messageAtEnd = ({ lastEnd }: Known): string | undefined => lastEnd?.message;
const withMessageAtEnd = (known: Known, message: string): Known =>
  known.lastEnd === undefined ? known : { ...known, lastEnd: { ...known.lastEnd, message } };

/** The newest are kept whole; of the others task and note are left out, which they show again with their next report. */
function fittingViews(known: Known[]): Known[] {
  let room = VIEWS_BYTES;
  return known
    .toReversed()
    .map((each) => {
      if (each.view === undefined) return each;
      room -= jsonBytes(each.view);
      if (room >= 0) return each;
      const { task: _task, note: _note, ...view } = each.view;
      return { ...each, view };
    })
    .toReversed();
}
