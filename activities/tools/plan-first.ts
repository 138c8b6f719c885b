import { type AgentContext, DIALECT_TOOLS, type ErrorBody } from '../../protocol/index.ts';

const PLAN = 'update_plan';

/** The tools of every dialect that hand out work. */
const DELEGATES: ReadonlySet<string> = new Set(
  Object.values(DIALECT_TOOLS).flatMap(({ operations }) =>
    operations.filter((tool) => tool.delegates === true).map(({ name }) => name),
  ),
);

/** An agent that has no way to plan is not asked to. */
export function canPlanAndDelegate(offered: ReadonlySet<string>): boolean {
  return offered.has(PLAN) && [...DELEGATES].some((name) => offered.has(name));
}

/** Why a call has to wait for the plan; undefined where it has not to. */
export function planMissing(
  name: string,
  { plan_due: isDue }: Pick<AgentContext, 'plan_due'>,
  offered: ReadonlySet<string>,
): ErrorBody | undefined {
  if (isDue !== true || !DELEGATES.has(name) || !offered.has(PLAN)) return undefined;
  return {
    code: 'plan_missing',
    message: `${name} was not run: there is no plan yet, and this session wants one before work is handed out (agents.plan_first).`,
    hint: `Write down who is to do what with ${PLAN}, by itself; then call ${name} again.`,
    retryable: true,
  };
}
