import {
  type AgentSettings,
  CadreError,
  type ProjectDocs,
  REHEARSAL_PROVIDER,
  type RoleAnswer,
  type RoleRequest,
  type SessionId,
  type SessionSettings,
} from '../../protocol/index.ts';
import type { SessionStore } from '../session-store.ts';
import { allowedByCall } from './allowed-by-call.ts';
import { askedStrictness } from './asked-strictness.ts';
import { DEFAULT_ROLE } from './builtin-roles.ts';
import { chooseEffort } from './choose-effort.ts';
import { memoryFor } from './memory.ts';
import { readProjectDocs } from './project-docs.ts';
import type { Persona, Role } from './role.ts';
import { type KnownRole, readRole } from './role-catalog.ts';
import { tighten } from './tighten.ts';
import { directoryApproval, findWorkingDirectory } from './working-directory.ts';

/** Short names of Claude Code, which its agent files use. */
const CLAUDE_MODELS = /^(sonnet|opus|haiku|fable|opusplan)$/;

export interface RoleDeps {
  sessions: SessionStore;
  /** Default: the roles of the files that the parent's folder and the home have, and those that come with Cadre. */
  roleNamed?: (name: string) => Role;
  /** The names of the tools that this worker has beside those of Cadre. */
  ownTools?: ReadonlySet<string>;
  /** The memory file of this worker, for sessions that do not bring one of their own. */
  memory?: string | undefined;
  /** Where the session does not say: the home of whoever runs this. */
  home?: string;
  /** Whether the person who runs this trusts the project of a folder (default: none). */
  trusts?: (folder: string) => boolean;
  /** Where the rollout of a session goes; undefined where none is written. */
  rolloutPath?: (session: SessionId) => string | undefined;
  /** The models that a provider has; undefined when it takes any, or does not tell. */
  listModels(provider: string, session: SessionSettings): Promise<readonly string[] | undefined>;
}

/**
 * The `resolve_role` activity: the settings of an agent to be started, in the order call, persona, role, inherited. A
 * child may only tighten what it inherits. Nothing is replaced silently: what cannot be had is refused, with what can.
 */
export function createResolveRole(deps: RoleDeps): (request: RoleRequest) => Promise<RoleAnswer> {
  return async (request) => {
    try {
      return await resolveRole(request, deps);
    } catch (error) {
      if (error instanceof CadreError) return { ok: false, error: error.body };
      throw error;
    }
  };
}

async function resolveRole(request: RoleRequest, deps: RoleDeps): Promise<RoleAnswer> {
  const { inherited } = request;
  const session = await deps.sessions.get(request.session_id);
  const known = await knownRole(request.role ?? DEFAULT_ROLE, inherited, session, deps);
  const { role } = known;
  const persona = personaOf(role, request.persona);
  const allowed = allowedByCall(known, request.allowed_tools, deps.ownTools);
  const folder = await findWorkingDirectory(request.working_directory, inherited.working_directory);
  const own = request.model ?? (inherited.model_named ? inherited.model : undefined);
  const model = await chooseModel(request, [own, persona?.model, role.model], session, deps);
  const named = [request.reasoning_effort, persona?.reasoning_effort, role.reasoning_effort];
  const effort = chooseEffort(inherited, named, model, session);

  const {
    instructions,
    persona: _,
    role_text: __,
    model_named: ___,
    memory: ____,
    project_docs: _____,
    ...rest
  } = tightened(inherited, known, persona, allowed?.names);
  const memory = await memoryFor(session, deps.memory);
  const docs = await docsFor(request, folder, session);
  const settings: AgentSettings = {
    ...rest,
    ...askedStrictness(rest, request),
    role: role.name,
    model,
    working_directory: folder,
    ...(persona === undefined ? {} : { persona: persona.name }),
    ...(effort === undefined ? {} : { reasoning_effort: effort }),
    ...(role.dialect === undefined ? {} : { dialect: role.dialect }),
    ...(instructions !== undefined && keepsInstructions(role, request) ? { instructions } : {}),
    ...(memory === undefined ? {} : { memory }),
    ...(docs === undefined ? {} : { project_docs: docs }),
    ...(known.origin === 'built-in' ? {} : { role_text: textOf(known, persona) }),
  };
  const place = session.rollout === true ? deps.rolloutPath?.(request.session_id) : undefined;
  return (
    refuseFolder(request, settings, session) ?? {
      ok: true,
      settings,
      description: persona?.description ?? role.description,
      ...(request.with_text === true && known.origin === 'built-in'
        ? { text: wholeText(role, persona) }
        : {}),
      ...(place === undefined ? {} : { rollout_path: place }),
      ...(allowed === undefined || allowed.notices.length === 0 ? {} : { notices: allowed.notices }),
    }
  );
}

/** What the project says; nothing where the parent, who is told the same, hands it on. */
async function docsFor(
  { inherited, has_project_docs: handsOn }: RoleRequest,
  folder: string,
  { project_doc_max_bytes: most = 0 }: SessionSettings,
): Promise<ProjectDocs | undefined> {
  if (handsOn === true && folder === inherited.working_directory) return undefined;
  return readProjectDocs(folder, most);
}

async function knownRole(
  name: string,
  { working_directory: folder, dialect }: AgentSettings,
  session: SessionSettings,
  { roleNamed, home, trusts = () => false }: RoleDeps,
): Promise<KnownRole> {
  if (roleNamed !== undefined) {
    return { role: roleNamed(name), origin: 'built-in', path: '', aliases: [] };
  }
  const places = { folder, home: session.environment?.HOME ?? home, dialect, trusted: trusts(folder) };
  return readRole(places, name);
}

/** By what the role hides, by the role, and by the call. */
function tightened(
  inherited: AgentSettings,
  { within, role }: KnownRole,
  persona: Persona | undefined,
  allowed: string[] | undefined,
): AgentSettings {
  const bounded = within === undefined ? inherited : { ...inherited, ...tighten(inherited, within) };
  const settings = { ...bounded, ...tighten(bounded, role, persona) };
  if (allowed === undefined) return settings;
  const { allow } = settings.tool_policy;
  return { ...settings, tool_policy: { ...settings.tool_policy, allow: [...allow, allowed] } };
}

function textOf({ role, path }: KnownRole, persona: Persona | undefined): AgentSettings['role_text'] {
  return { path, body: role.body, ...(persona?.prompt === undefined ? {} : { persona: persona.prompt }) };
}

function wholeText(role: Role, persona: Persona | undefined): string {
  return [role.body, persona?.prompt].filter((text) => text !== undefined).join('\n\n');
}

/** Last of all, so that nobody is asked about an agent that cannot be started anyway. */
function refuseFolder(
  { inherited, approved }: RoleRequest,
  settings: AgentSettings,
  session: SessionSettings,
): RoleAnswer | undefined {
  if (settings.working_directory === inherited.working_directory || approved === true) return undefined;
  const needed = directoryApproval(settings.working_directory, inherited.working_directory, settings);
  const refusal = needed.refusal({
    nonInteractive: session.non_interactive,
    policy: inherited.approval_policy,
  });
  if (refusal !== undefined) return { ok: false, error: refusal.body };
  return { ok: false, error: needed.body, needs_approval: needed.need };
}

/** The text of another role replaces what the parent was told; the default one leaves it, and so does a root's own. */
function keepsInstructions(role: Role, request: RoleRequest): boolean {
  const own = request.inherited.role;
  return role.name === DEFAULT_ROLE || role.name === own || request.role === own;
}

function personaOf(role: Role, name: string | undefined): Persona | undefined {
  if (name === undefined) return undefined;
  const personas = role.agent_names ?? [];
  const found = personas.find((persona) => persona.name === name);
  if (found !== undefined) return found;
  const accepted = personas.length === 0 ? 'none' : personas.map((persona) => persona.name).join(', ');
  throw new CadreError('unknown_role', `The role ${role.name} has no agent_name ${JSON.stringify(name)}.`, {
    hint: `Accepted: ${accepted}.`,
  });
}

/** The first model that is named, its alias resolved and checked; else the inherited one, as it is. */
async function chooseModel(
  { inherited }: RoleRequest,
  named: readonly (string | undefined)[],
  session: SessionSettings,
  deps: RoleDeps,
): Promise<string> {
  const wanted = named.find((name) => name !== undefined) ?? 'inherit';
  if (wanted === 'inherit') return inherited.model;
  const aliases = session.model_aliases;
  const model = Object.hasOwn(aliases, wanted) ? (aliases[wanted] as string) : wanted;
  const allowed = inherited.limits.allowed_models;
  if (allowed !== undefined && !allowed.includes(model) && !allowed.includes(wanted)) {
    throw unknownModel(model, 'is not among the allowed models', allowed);
  }
  if (model === inherited.model) return model;
  const models = await modelsOf(inherited.provider, session, deps);
  if (models === undefined || models.includes(model)) return model;
  throw unknownModel(
    model,
    `is not known to the provider ${inherited.provider}`,
    models,
    CLAUDE_MODELS.test(model),
  );
}

async function modelsOf(
  provider: string,
  session: SessionSettings,
  deps: RoleDeps,
): Promise<readonly string[] | undefined> {
  const configured = session.model_providers[provider];
  // The rehearsal plays any model.
  if (provider === REHEARSAL_PROVIDER) return undefined;
  if (configured?.models !== undefined) return configured.models;
  try {
    return await deps.listModels(provider, session);
  } catch (error) {
    if (error instanceof CadreError && !error.retryable) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new CadreError('models_updating', `The models of ${provider} could not be listed: ${reason}`, {
      hint: 'Try again in a moment, or leave model out to use your own.',
      retryable: true,
      cause: error,
    });
  }
}

function unknownModel(
  model: string,
  problem: string,
  accepted: readonly string[],
  isShort = false,
): CadreError {
  const mapping = isShort
    ? ` Or say in the configuration what it means: [model_aliases] ${model} = "…".`
    : '';
  return new CadreError('unknown_model', `The model ${JSON.stringify(model)} ${problem}.`, {
    hint: `Accepted: ${accepted.join(', ') || 'none'}.${mapping}`,
  });
}
