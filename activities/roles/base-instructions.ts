import { type AgentContext, DIALECT_TOOLS, type SandboxMode } from '../../protocol/index.ts';
import { canPlanAndDelegate } from '../tools/plan-first.ts';

const SANDBOX: Readonly<Record<Exclude<SandboxMode, 'workspace-write'>, string>> = {
  'read-only': 'Commands may read everything and change nothing; there is no network.',
  'danger-full-access': 'Commands are not contained: they may change anything the person could. Be careful.',
};

function sandboxText({ sandbox_mode: mode, sandbox }: AgentContext['settings']): string {
  if (mode !== 'workspace-write') return SANDBOX[mode];
  const roots = (sandbox?.writable_roots ?? []).map((root) => `, in ${root}`).join('');
  const network = sandbox?.network ? 'the network can be reached' : 'there is no network';
  return `Commands may read everything, and write below the working directory${roots} and in /tmp; .git, .cadre, .codex, .claude and .agents there stay read-only, and ${network}.`;
}

const APPROVALS =
  'What needs a person’s approval waits until one decides, or is refused where nobody can be asked; a refusal says why. Do not try to get around it: find another way, or report what stopped you.';

const READERS = ['read_file', 'list_dir', 'grep_files'];

/** Holds for an agent only where it has the tools that it names. */
interface Saying {
  says: string;
  of?: readonly string[];
}

/** How tools are used. */
const TOOLS: readonly Saying[] = [
  {
    says: 'Use tools instead of guessing. Independent reads go into one answer as several calls; they run side by side.',
  },
  {
    says: 'read_file, list_dir and grep_files are quicker than the same by shell.',
    of: [...READERS, 'shell'],
  },
  {
    says: 'A command of shell gets no input and ends with its call: nothing stays in the background. What takes long or has to be typed to goes by exec_command, and write_stdin looks at it again; end what you need no longer.',
    of: ['shell', 'exec_command', 'write_stdin'],
  },
  {
    says: 'apply_patch is how files are changed: what it cannot do whole it does not do at all.',
    of: ['apply_patch'],
  },
  {
    says: "A failed call tells what went wrong; change something before you try again. Long outputs are cut in the middle, so ask for the part you need. When a tool's outcome is said to be unknown, look at what is there before you repeat anything with effects.",
  },
  {
    says: 'view_image shows you an image file; do not try to read one as text.',
    of: ['view_image'],
  },
  {
    says: 'What a cut left out stands behind the handle that it names: handle_read shows parts of it, so that nothing has to be run again.',
    of: ['handle_read'],
  },
  {
    says: 'What later sessions should know and could not find out by looking goes into the memory by remember, a short note each.',
    of: ['remember'],
  },
  {
    says: 'For work of several steps keep a plan with update_plan, and keep it true.',
    of: ['update_plan'],
  },
];

/** How the tools of the dialects are used, for who has those that they speak of. */
const GUIDANCE = Object.values(DIALECT_TOOLS).map(({ operations, readers, guidance }) => ({
  says: guidance.text,
  of: guidance.of ?? [...operations.map(({ name }) => name), ...readers],
}));

const PLAN_FIRST =
  'Before you hand out work for the first time, write down with update_plan who is to do what, in a step of its own: until there is a plan, nothing can be handed out.';

const STYLE =
  'Your last message is the answer. Write it for someone who saw nothing of the work: the result first, then what it rests on and what is left open; short, in plain words, with file names as `path:line`. Say honestly what failed or was not checked. Never answer with an empty message.';

/**
 * What every agent is told, whatever its role. Holds nothing that changes between the calls of one agent, and names no
 * tool that it does not have.
 */
export function baseInstructions(agent: AgentContext, offered: ReadonlySet<string>): string {
  const { settings, depth } = agent;
  const place =
    depth === 0
      ? 'You are the root of your session: a person gave you the task and reads your answer.'
      : 'Another agent started you: it gave you the task and waits for your answer.';
  const tools = sayings(TOOLS, offered);
  return [
    `You are an agent of Cadre, which runs agents side by side and brings them safely through crashes: after an interruption you go on where you were. ${place} Your id is ${agent.agent_id}.`,
    `Working directory: ${settings.working_directory}\nSandbox: ${settings.sandbox_mode}. ${sandboxText(settings)}\n${APPROVALS}`,
    ...(offered.size > 0 ? [tools.join(' ')] : []),
    ...sayings(GUIDANCE, offered),
    ...(settings.limits.plan_first && canPlanAndDelegate(offered) ? [PLAN_FIRST] : []),
    STYLE,
  ].join('\n\n');
}

function sayings(all: readonly Saying[], offered: ReadonlySet<string>): string[] {
  return all.filter(({ of = [] }) => of.every((name) => offered.has(name))).map(({ says }) => says);
}
