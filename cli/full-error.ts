import type { ErrorBody, ErrorCode } from '../protocol/errors.ts';

/** What to do about an error that came without advice of its own. */
const HINTS: Readonly<Record<ErrorCode, string>> = {
  usage: '`cadre COMMAND --help` tells what a command takes.',
  config_invalid: '`cadre config` prints each setting and where it comes from.',
  key_missing: 'Add the key to what [encryption] of the configuration names: docs/encryption.md.',
  home_unwritable: 'Set CADRE_HOME to a folder that can be written.',
  agent_not_found: '`cadre ps --all` lists what there is.',
  agent_ambiguous: 'Give more of the path, or the whole id.',
  agent_closed: '`cadre resume ID` brings it back.',
  ended_from_outside: '`cadre resume ID --recursive` brings it back, with what was open below it.',
  agent_not_resumable: '`cadre events ID` tells what happened to it.',
  handle_not_found: 'Stored outputs lie in CADRE_HOME, below handles.',
  command_session_not_found: 'The hint names those that are open.',
  rollout_invalid: 'Export the session again, where it still is: cadre export ID -o FILE',
  rollout_exists: '`cadre import FILE --replace` puts the file in its place.',
  limit_depth: 'agents.max_depth sets how deep a session may go.',
  limit_threads: 'Wait for an agent or close one; agents.max_threads sets how many may work at once.',
  limit_agents: 'agents.max_agents sets how many a session may start.',
  limit_turns: 'agents.max_turns sets how many turns an agent may take.',
  limit_steps: 'agents.max_steps sets how many steps a turn may take.',
  limit_wall: 'agents.max_wall_ms sets how long a turn may take.',
  limit_runtime: 'agents.max_runtime_ms sets how long an agent may be idle.',
  limit_tokens: 'agents.max_tokens sets how many tokens a session may use.',
  limit_operations: 'Ask again when some of what clients have asked for has ended.',
  limit_command_sessions: 'End a command that goes on: write_stdin with its session_id.',
  approval_unavailable: 'Run it on a terminal, or with --detach and `cadre approve`.',
  approval_denied: 'It was not allowed; ask for something else, or ask again.',
  approval_not_found: '`cadre approvals` lists those that are open.',
  role_not_found: '`cadre agents` lists the roles.',
  invalid_arguments: 'Mend what the message names, and try again.',
  mail_not_found: 'The hint names the mail that there is.',
  plan_missing: 'Make a plan first, or switch agents.plan_first off.',
  unknown_tool: '`cadre agents show ROLE` tells which tools a role has.',
  tool_not_allowed: '`cadre agents show ROLE` tells which tools a role has.',
  tool_failed: 'The message says what the tool has answered.',
  outcome_unknown: '`cadre events ID` tells what happened.',
  unknown_model: 'Choose one that the provider offers and agents.allowed_models allows.',
  unknown_role: '`cadre agents` lists the roles.',
  models_updating: 'Try again in a moment.',
  not_permitted: 'The root of the session may; `cadre tree ID` names it.',
  model_unreachable: 'Try again later; `cadre doctor` tells whether the model is set up.',
  model_refused: '`cadre doctor` tells which provider and key are used.',
  context_full: 'Start another agent with less, or use a model that takes more.',
  model_answer_empty: 'Ask again: cadre send ID TEXT',
  model_answer_unreadable: 'Check that the address of the provider is that of a model (base_url).',
  script_failed: 'Mend the script; docs/scripts.md describes its format.',
  temporal_unreachable: '`cadre doctor` tells which server is used, and what is wrong with it.',
  server_unavailable: '`cadre doctor` tells what keeps the server from starting.',
  no_worker:
    '`cadre attach ID` works for a local session, `cadre worker --queue NAME` for those of a queue; then try again.',
  timeout: '`cadre attach ID` follows it again.',
  interrupted: '`cadre send ID TEXT` gives it other input.',
  internal: 'Run it again with --verbose, and report what it prints.',
};

/** What may be different the next time, where an error does not say it itself. */
const MAY_PASS: ReadonlySet<ErrorCode> = new Set([
  'limit_threads',
  'limit_operations',
  'models_updating',
  'model_unreachable',
  'model_answer_unreadable',
  'temporal_unreachable',
  'server_unavailable',
  'no_worker',
  'timeout',
]);

/** An error as commands print it: with advice, and whether to try again. What else it holds stays. */
export function fullError<E extends ErrorBody>(error: E): E & Required<ErrorBody> {
  const { code, hint = '', retryable = MAY_PASS.has(code) } = error;
  // A newer worker may know more codes than this command line.
  return { ...error, hint: hint.trim() === '' ? (HINTS[code] ?? HINTS.internal) : hint, retryable };
}
