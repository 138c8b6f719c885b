import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, inject, onTestFinished, vi } from 'vitest';
import { builtinRoles } from '../../activities/roles/builtin-roles.ts';
import type { Role } from '../../activities/roles/role.ts';
import { type Agent, CadreClient } from '../../client/index.ts';
import {
  type AgentId,
  type AgentSettingsInput,
  type Decision,
  hostQueue,
  type Item,
  type SessionSettingsInput,
} from '../../protocol/index.ts';
import { type CadreWorker, createWorker, type WorkerOptions } from '../../worker/index.ts';
import { type Answer, startModelServer } from '../support/model-server.ts';
import type { SeenRequest } from '../support/wire-requests.ts';

/** What one agent answers, request by request. */
export type Lines = (Answer | ((request: SeenRequest) => Answer | Promise<Answer>))[];

export interface RealStart {
  /** By the part of the id after that of the root; `root` speaks for that. */
  cast: Record<string, Lines>;
  settings: Partial<AgentSettingsInput> & { working_directory: string };
  session?: SessionSettingsInput;
  models?: string[];
  /** It lives on this host of the worker's queue. */
  host?: string;
  wire?: 'responses' | 'chat';
}

/** A session whose model alone is scripted, behind HTTP; all else is what runs for everybody. */
export interface RealSession {
  root: Agent;
  /** The queue of the worker, whatever host the session lives on. */
  queue: string;
  agent(name: string): Agent;
  /** What the model was asked as that agent, as it came over the wire. */
  requests(name: string): SeenRequest[];
  items(name?: string): Promise<Item[]>;
  decide(approvalId: string, decision: Decision, reason?: string): Promise<unknown>;
}

const MODEL = 'test-model';
const nameOf = (id: string) => (id.includes('/') ? id.slice(id.indexOf('/') + 1) : 'root');

/** One worker as people run it for all tests of a file. */
export function withRealWorker(
  choices: Partial<WorkerOptions> = {},
): (options: RealStart) => Promise<RealSession> {
  vi.setConfig({ testTimeout: 90_000 });
  const queue = `test-${randomUUID()}`;
  let worker: CadreWorker;
  let cadre: CadreClient;
  beforeAll(async () => {
    const address = inject('temporalAddress');
    const usual = { address, queue, stateDir: '/nowhere', environment: {}, graceMs: 1_000 };
    worker = await createWorker({ ...usual, ...choices });
    cadre = await CadreClient.connect({ address });
    // From source the workflows are bundled for each of its queues, which takes a busy machine its time.
  }, 180_000);
  afterAll(async () => {
    await worker.stop();
    await cadre.close();
  });

  return async ({ cast, settings, session = {}, models = [], host, wire = 'responses' }) => {
    const answerer = (request: SeenRequest): Answer | Promise<Answer> => {
      const line = cast[nameOf(request.agent.id)]?.[request.answers];
      if (line === undefined) throw new Error(`${request.agent.id} has no line ${request.answers}`);
      return typeof line === 'function' ? line(request) : line;
    };
    const server = await startModelServer(answerer, { models: [MODEL, ...models], wires: [wire] });
    onTestFinished(() => server.close());
    const root = await cadre.start({
      task: 'the task',
      queue: host === undefined ? queue : hostQueue(queue, host),
      settings: { model: MODEL, provider: 'local', model_retry_ms: 2_000, ...settings },
      session: { model_providers: { local: { base_url: server.url } }, rollout: false, ...session },
    });
    const agent = (name: string) => (name === 'root' ? root : cadre.get(`${root.id}/${name}` as AgentId));
    return {
      root,
      queue,
      agent,
      requests: (name) => server.requests.filter((request) => nameOf(request.agent.id) === name),
      decide: (approvalId, decision, reason) => cadre.decide(approvalId, decision, reason),
      items: async (name = 'root') => (await agent(name).items()).items,
    };
  };
}

/** A role beside the built-in ones, for this test. */
export function withRole(role: Role): void {
  const roles = builtinRoles() as Map<string, Role>;
  roles.set(role.name, role);
  onTestFinished(() => void roles.delete(role.name));
}
