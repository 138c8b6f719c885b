import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { checkedSchema } from '../../client/output-schema.ts';
import { CadreError } from '../../protocol/index.ts';
import { readOrdinaryFile, UnfitFile } from '../../worker/ordinary-file.ts';
import { leaveWorkplace } from '../at-workplace.ts';
import { attachedImage } from '../attached-image.ts';
import { holdOnClosedOutput } from '../closed-output.ts';
import type { Flag } from '../config/load.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { follow } from '../follow/follow.ts';
import { report } from '../follow/report.ts';
import { requireLines } from '../follow/require-lines.ts';
import type { Invocation } from '../invocation.ts';
import { isAtTerminal } from '../is-at-terminal.ts';
import { OPENED_BY_SHELL } from '../opened-by-shell.ts';
import { readText } from '../read-text.ts';
import { startBackgroundWorker } from '../serving/background.ts';
import { tellIfUnserved } from '../serving/tell-if-unserved.ts';
import { startSession } from '../start-session.ts';
import { workerOptionsOf } from '../worker-options.ts';

export interface RunOptions {
  agent?: string;
  model?: string;
  cwd?: string;
  sandbox?: string;
  approval?: string;
  host?: string;
  image?: string[];
  output?: string;
  outputSchema?: string;
  maxSteps?: number;
  maxTokens?: number;
  timeout?: number;
  detach?: boolean;
  waitAgents: boolean;
  nonInteractive?: boolean;
  stream?: boolean;
}

/** Starts a one-shot root, follows its tree, prints its answer. */
export default async function run(
  invocation: Invocation,
  [text]: [string | undefined],
  options: RunOptions,
): Promise<ExitCode> {
  const startedAt = Date.now();
  const { output } = invocation;
  if (options.stream === true) requireLines(output);
  const outputSchema =
    options.outputSchema === undefined ? undefined : await readSchema(options.outputSchema);
  if (options.output !== undefined) checkWritable(resolve(options.output));
  const images = await Promise.all((options.image ?? []).map((path) => attachedImage(path, '--image')));
  // What is detached is answered later, by `cadre approve`; what prints JSON cannot ask meanwhile.
  const canAsk = options.detach === true || output.format === 'text';
  const asks = isAtTerminal() && canAsk && options.nonInteractive !== true;
  const { agent, cwd, host, waitAgents } = options;
  const { id, place, config, serving, isQueued, web } = await startSession(invocation, {
    task: () => readText(text, 'The task'),
    images,
    agent,
    cwd,
    host,
    outputSchema,
    waitAgents,
    flags: flagsOf(options),
    source: { kind: asks ? 'cli' : 'exec' },
    nonInteractive: !asks,
    // Whose output is not read any more before the session is followed is left with it, not without.
    begins: () => void holdOnClosedOutput(),
    served: options.detach !== true,
  });
  try {
    if (options.detach === true) {
      if (isQueued) await tellIfUnserved(invocation, place, id);
      else await startBackgroundWorker(id, place.files, workerOptionsOf(invocation.options)).serving();
      output.result({ session_id: id, ...(web === undefined ? {} : { web }) }, id);
      return EXIT.done;
    }
    const followed = await follow(invocation, place, {
      session: id,
      serving,
      timeoutMs: options.timeout,
      workerOptions: workerOptionsOf(invocation.options),
      notifications: config.notifications,
      asks,
      fresh: true,
      stream: options.stream === true,
    });
    const unwritten =
      followed.kind === 'ended' && options.output !== undefined
        ? await writeAnswer(resolve(options.output), followed.result.output)
        : undefined;
    return report(invocation, id, followed, startedAt, unwritten);
  } finally {
    await serving?.stop();
    leaveWorkplace(invocation, place);
  }
}

function flagsOf(options: RunOptions): Flag[] {
  return [
    { path: ['model'], value: options.model, where: '--model' },
    { path: ['sandbox_mode'], value: options.sandbox, where: '--sandbox' },
    { path: ['approval_policy'], value: options.approval, where: '--approval' },
    { path: ['agents', 'max_steps'], value: options.maxSteps, where: '--max-steps' },
    { path: ['agents', 'max_tokens'], value: options.maxTokens, where: '--max-tokens' },
  ];
}

/** Found out before the work, not after it. */
function checkWritable(path: string): void {
  const place = kindOf(path) === undefined ? dirname(path) : path;
  try {
    accessSync(place, constants.W_OK);
    if (kindOf(path) !== 'folder') return;
  } catch {
    // Told below.
  }
  throw unwritable(path);
}

/** @returns what to report where it has become impossible meanwhile: the answer is printed all the same */
async function writeAnswer(path: string, answer: string): Promise<CadreError | undefined> {
  try {
    await writeFile(path, `${answer.trimEnd()}\n`);
    return undefined;
  } catch (error) {
    return unwritable(path, error);
  }
}

function unwritable(path: string, cause?: unknown): CadreError {
  return new CadreError('usage', `--output: ${path} cannot be written.`, {
    hint: 'Name a file in a folder that exists and is yours.',
    cause,
  });
}

function kindOf(path: string): 'folder' | 'file' | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.isDirectory() ? 'folder' : stats?.isFile() ? 'file' : undefined;
}

async function readSchema(path: string): Promise<Record<string, unknown>> {
  let schema: unknown;
  try {
    schema = JSON.parse(schemaText(path));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CadreError('usage', `--output-schema ${path}: ${reason}`, {
      hint: 'Name a file with a JSON schema.',
    });
  }
  return checkedSchema(schema, `--output-schema ${path}`, 'usage');
}

function schemaText(path: string): string {
  if (OPENED_BY_SHELL.test(path)) return readFileSync(path, 'utf8');
  try {
    return readOrdinaryFile(path).bytes.toString();
  } catch (error) {
    throw error instanceof UnfitFile ? new Error(`it ${error.message}`) : error;
  }
}
