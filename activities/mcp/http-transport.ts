import {
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import { CadreError, type McpServerSettings } from '../../protocol/index.ts';
import { STREAM_ENDED } from './connection-lost.ts';
import { FloodGuard } from './flood-guard.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * A server that is reached by streamable HTTP.
 *
 * @throws CadreError `config_invalid` for a variable that is not set
 */
export function httpTransport(
  settings: McpServerSettings & { url: string },
  environment: Environment,
): StreamableHTTPClientTransport {
  return new AnsweringTransport(new URL(settings.url), {
    requestInit: { headers: headersOf(settings, environment) },
    fetch: boundedFetch(new FloodGuard()),
  });
}

/**
 * Says of each request when its answer cannot come any more: the SDK tries to take up a stream that broke off, and where
 * it cannot, it lets whoever has asked wait until their time is up.
 */
class AnsweringTransport extends StreamableHTTPClientTransport {
  override send(message: JSONRPCMessage, options: TransportSendOptions = {}): Promise<void> {
    if (!('method' in message && 'id' in message)) return super.send(message, options);
    const { id } = message;
    const error = {
      code: 0,
      message: 'the connection broke off before the answer was complete',
      data: STREAM_ENDED,
    };
    const onRequestStreamEnd = (): void => {
      options.onRequestStreamEnd?.();
      // Of what has been answered nobody hears it.
      this.onmessage?.({ jsonrpc: '2.0', id, error });
    };
    return super.send(message, { ...options, onRequestStreamEnd });
  }
}

/** What it is told of whoever asks: by variables, which stand in no configuration and no history. */
function headersOf(settings: McpServerSettings, environment: Environment): Record<string, string> {
  const { bearer_token_env_var: token, env_http_headers: named = {} } = settings;
  const headers = Object.entries(named).map(([header, name]) => [header, variable(name, environment)]);
  if (token !== undefined) headers.push(['Authorization', `Bearer ${variable(token, environment)}`]);
  return Object.fromEntries(headers);
}

function variable(name: string, environment: Environment): string {
  const value = environment[name]?.trim();
  if (value) return value;
  throw new CadreError('config_invalid', `the variable ${name}, which its settings name, is not set`, {
    hint: `Set ${name} where Cadre runs.`,
  });
}

/** Answers are read into memory: one that never ends is broken off. */
function boundedFetch(guard: FloodGuard) {
  return async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const counted = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        try {
          guard.take(chunk.byteLength);
          controller.enqueue(chunk);
        } catch (error) {
          controller.error(error);
        }
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(counted), { status, statusText, headers });
  };
}
