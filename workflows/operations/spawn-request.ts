import type { ApprovalPolicy, ContentPart, SandboxMode } from '../../protocol/index.ts';

/** What is asked for when an agent is to be started; what is left out is inherited. */
export interface SpawnRequest {
  callId: string;
  content: ContentPart[];
  role?: string | undefined;
  persona?: string | undefined;
  /** Stands in the id as it is, instead of role and counter. */
  name?: string | undefined;
  model?: string | undefined;
  reasoningEffort?: string | undefined;
  workingDirectory?: string | undefined;
  note?: string | undefined;
  /** Never looser than what is inherited. */
  sandboxMode?: SandboxMode | undefined;
  approvalPolicy?: ApprovalPolicy | undefined;
  /** In place of what its role says. */
  instructions?: string | undefined;
  maxTurns?: number | undefined;
  maxSteps?: number | undefined;
  maxRuntimeMs?: number | undefined;
  forkContext?: boolean | undefined;
  /** Of the tools that its role leaves. */
  allowedTools?: string[] | undefined;
  /** How many levels of agents there may be below it. */
  maxLevelsBelow?: number | undefined;
  /** It is told to hand back its results in sections. */
  resultSections?: boolean;
  /** Its task stands behind its role's text, too. */
  taskInInstructions?: boolean;
  /** It starts no turn, its content waits for its first input, and it is told to keep to its goal. */
  opened?: boolean;
  /** Called with the role's own name, as soon as it is known. */
  onRole?: (role: string) => void;
}
