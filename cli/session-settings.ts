import {
  type AgentSettings,
  type ContentPart,
  filterEnvironment,
  keyVariables,
  mcpKeyVariables,
  type SessionSettings,
} from '../protocol/index.ts';
import { cadreHome } from '../server/home.ts';
import { configuredRules } from './config/approval-rules.ts';
import type { Environment } from './config/environment.ts';
import { serversIn, sessionPlace } from './config/mcp-servers.ts';
import { memoryFile } from './config/memory.ts';
import type { ProviderChoice } from './config/provider.ts';
import type { Config } from './config/schema.ts';
import { readSavedRules } from './trust/saved-rules.ts';

export interface SessionChoices {
  config: Config;
  provider: ProviderChoice;
  model: string;
  /** Named for this run: it goes before that of the role. */
  modelNamed?: boolean;
  role: string;
  cwd: string;
  environment: Environment;
  /** Search attributes that the namespace knows. */
  searchAttributes: string[];
  oneShot: boolean;
  waitAgents: boolean;
  /** Nobody can be asked for approvals. */
  nonInteractive: boolean;
  outputSchema?: Record<string, unknown> | undefined;
}

/**
 * What the root is, from the configuration in force.
 *
 * @throws CadreError `config_invalid` for a dialect that is not there yet
 */
export function agentSettingsOf({
  config,
  provider,
  model,
  modelNamed,
  role,
  cwd,
}: Omit<SessionChoices, 'searchAttributes'>): AgentSettings {
  const { dialect, profile: _profile, ...limits } = config.agents;
  const { temporal } = config;
  const { writable_roots: roots, network } = config.sandbox;
  return {
    role,
    model,
    ...(modelNamed ? { model_named: true as const } : {}),
    provider: provider.name,
    ...(config.reasoning_effort === undefined ? {} : { reasoning_effort: config.reasoning_effort }),
    working_directory: cwd,
    sandbox_mode: config.sandbox_mode,
    ...(network || roots.length > 0 ? { sandbox: config.sandbox } : {}),
    approval_policy: config.approval_policy,
    dialect,
    tool_policy: { allow: [], deny: [] },
    limits,
    model_retry_ms: config.model_retry_ms,
    ...(temporal.task_queue !== undefined && temporal.model_queue === true ? { model_queue: true } : {}),
  };
}

/**
 * What all agents of the session share. Of the environment a local session takes what is not a key; the commands of
 * a queued one get that of their worker.
 */
export function sessionSettingsOf(choices: SessionChoices): SessionSettings {
  const { config, provider, environment, outputSchema } = choices;
  const isQueued = config.temporal.task_queue !== undefined;
  const providers = { ...config.model_providers, [provider.name]: provider.settings };
  const place = sessionPlace(choices.cwd, environment, config);
  const { include, exclude } = config.shell_environment;
  const { key_env: own } = config.encryption ?? {};
  const keys = [
    ...keyVariables(providers),
    ...mcpKeyVariables(config.mcp_servers),
    ...(own === undefined ? [] : [own]),
  ];
  const filter = { include, exclude: [...exclude, ...keys] };
  const home = cadreHome(environment);
  const memory = memoryFile(config, home);
  const rules = [...configuredRules(config, place.home), ...readSavedRules(home).rules];
  return {
    ...(isQueued
      ? {}
      : {
          environment: filterEnvironment(environment, filter),
          ...(Object.keys(config.mcp_servers).length === 0
            ? {}
            : { mcp_servers: serversIn(place, config.mcp_servers) }),
        }),
    model_providers: providers,
    model_aliases: config.model_aliases,
    tools: config.tools,
    search_attributes: choices.searchAttributes,
    one_shot: choices.oneShot,
    wait_agents: choices.waitAgents,
    non_interactive: choices.nonInteractive,
    ...(memory === undefined ? {} : { memory: isQueued ? {} : { path: memory } }),
    rollout: config.rollouts.enabled,
    project_doc_max_bytes: config.project_doc_max_bytes,
    ...(rules.length === 0 ? {} : { approval_rules: rules }),
    ...(outputSchema === undefined ? {} : { output_schema: outputSchema }),
  };
}

/** An image file, and what it was when it was attached. */
export interface AttachedImage {
  path: string;
  sha256: string;
}

/** The task as the model gets it: its text, and images by path and digest. */
export function taskOf(text: string, images: readonly AttachedImage[]): string | ContentPart[] {
  if (images.length === 0) return text;
  return [{ type: 'text', text }, ...images.map((image): ContentPart => ({ type: 'local_image', ...image }))];
}
