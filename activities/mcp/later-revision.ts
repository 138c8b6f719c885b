/** Of JSON-RPC, and of MCP since 2026-07-28. */
const UNKNOWN_METHOD = -32601;
const UNSUPPORTED_VERSION = -32022;

/** Whether a server refused a greeting as it speaks another revision of the protocol, or does not know it at all. */
export function refusesForm({ cause }: Error): boolean {
  const { code, data } = (cause ?? {}) as { code?: unknown; data?: { text?: unknown } };
  const said = typeof data?.text === 'string' ? codeIn(data.text) : code;
  return said === UNSUPPORTED_VERSION || said === UNKNOWN_METHOD;
}

/** By HTTP the refusal is the body of an error. */
function codeIn(body: string): unknown {
  try {
    return (JSON.parse(body) as { error?: { code?: unknown } } | null)?.error?.code;
  } catch {
    return undefined;
  }
}
