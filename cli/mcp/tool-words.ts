/** Commands whose place a tool takes here, and the argument that names an agent, a session or a question. */
const TOOLS: Readonly<Record<string, { name: string; id?: 'id' | 'ids' | 'approval_id' }>> = {
  run: { name: 'cadre_run' },
  status: { name: 'cadre_status', id: 'id' },
  send: { name: 'cadre_send', id: 'id' },
  wait: { name: 'cadre_wait', id: 'ids' },
  attach: { name: 'cadre_wait', id: 'ids' },
  interrupt: { name: 'cadre_interrupt', id: 'id' },
  close: { name: 'cadre_close', id: 'id' },
  ps: { name: 'cadre_list' },
  approvals: { name: 'cadre_approvals', id: 'id' },
  approve: { name: 'cadre_approve', id: 'approval_id' },
  deny: { name: 'cadre_deny', id: 'approval_id' },
};
const COMMAND = new RegExp(
  `(\`?)\\bcadre (${Object.keys(TOOLS).join('|')})\\b(?! ?/)((?: (?:--[a-z-]+|[A-Z]{2,}\\b…?|[0-9a-z/#-]*\\d[0-9a-z/#-]*))*)\\1`,
  'g',
);
const OTHER = /\bcadre [a-z-]+/;
/** Options that a hint may advise, as arguments of the tools. */
const OPTION = /--(model|detach|for-session)\b/g;

/**
 * Advice for somebody at a terminal, in the words of whoever has Cadre's tools instead. Commands that no tool stands for stay,
 * and are said to be commands.
 */
export function inToolWords(advice: string): string {
  const text = advice
    .replace(COMMAND, (_, _quote, command: string, args: string) => toolCall(command, args))
    .replace(OPTION, (_, option: string) => `\`${option.replace('-', '_')}\``);
  return OTHER.test(text) ? `${text} (Commands of cadre are for a terminal.)` : text;
}

function toolCall(command: string, args: string): string {
  const { name, id } = TOOLS[command] as (typeof TOOLS)[string];
  const given = args.split(' ').find((arg) => /\d/.test(arg));
  if (args.includes('--all')) return `${name} with all: true`;
  if (id === undefined || given === undefined) return name;
  return `${name} with ${id}: ${JSON.stringify(id === 'ids' ? [given] : given)}`;
}
