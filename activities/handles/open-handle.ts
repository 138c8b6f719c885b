import { type AgentId, CadreError, isAgentId, type SessionId, sessionOf } from '../../protocol/index.ts';
import { transcriptAgent } from '../../protocol/transcript-handle.ts';
import { handlePath } from '../../rollout/handle-files.ts';
import { fileContent, type HandleContent, jsonLinesContent } from './handle-content.ts';
import type { ReadTranscript } from './transcripts.ts';

/** Where handles lead to. */
export interface HandlePlaces {
  /** CADRE_HOME. */
  stateDir: string;
  session: SessionId;
  readTranscript: ReadTranscript;
}

const TRANSCRIPT = /^transcript:/;

/**
 * Opens what a handle names: a stored output, or the conversation of an agent of the same session, an item a line.
 *
 * @throws CadreError `handle_not_found`, or `invalid_arguments` for what is no handle
 */
export async function openHandle(handle: string, places: HandlePlaces): Promise<HandleContent> {
  if (TRANSCRIPT.test(handle)) return transcript(handle, places);
  const path = handlePath(places.stateDir, handle);
  if (path === undefined) {
    throw new CadreError('invalid_arguments', `${JSON.stringify(handle.slice(0, 100))} is no handle.`, {
      hint: 'A handle is h_ and 32 digits, whole, as the cut in an output names it; or transcript: and the id of an agent.',
    });
  }
  try {
    return await fileContent(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new CadreError('handle_not_found', `Nothing is stored as ${handle} on this machine.`, {
      hint: 'It was removed, never stored, or lies in the CADRE_HOME of another worker of the queue. Run what made the output again, so that it shows the part you need.',
      cause: error,
    });
  }
}

async function transcript(handle: string, { session, readTranscript }: HandlePlaces): Promise<HandleContent> {
  const id = agentOf(handle, session);
  const lines: Buffer[] = [];
  try {
    for await (const item of readTranscript(id)) lines.push(Buffer.from(`${JSON.stringify(item)}\n`));
  } catch (error) {
    if (error instanceof CadreError && error.code === 'agent_not_found') throw unknown(handle, error);
    throw error;
  }
  return jsonLinesContent(Buffer.concat(lines));
}

/** A full id, or the part of it after that of the root. */
function agentOf(handle: string, session: SessionId): AgentId {
  const short = `${session}/${handle.replace(TRANSCRIPT, '')}`;
  const id = transcriptAgent(handle) ?? (isAgentId(short) ? short : undefined);
  // Of another session it is not even said whether it is there.
  if (id === undefined || sessionOf(id) !== session) throw unknown(handle);
  return id;
}

function unknown(handle: string, cause?: unknown): CadreError {
  return new CadreError(
    'handle_not_found',
    `There is no agent of this session for ${JSON.stringify(handle.slice(0, 200))}.`,
    {
      hint: 'Name an agent of your own session by its whole id: transcript:<id>.',
      ...(cause === undefined ? {} : { cause }),
    },
  );
}
