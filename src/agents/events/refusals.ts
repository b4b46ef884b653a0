import { RpcError } from '../protocol/json-rpc.ts';

/*
 * The refusals of MCP Events. Draft: modelcontextprotocol/experimental-ext-triggers-events,
 * docs/design-sketch-proposal.md at 082166f. All names and shapes of it are in this folder.
 */
const NOT_FOUND = -32011;
const FORBIDDEN = -32012;
const EXHAUSTED = -32013;
const UNSUPPORTED = -32014;
const CALLBACK = -32015;

export const unknownEvent = (name: string) =>
  new RpcError(NOT_FOUND, `There is no event ${JSON.stringify(name)}.`, { data: { kind: 'event' } });

export const forbidden = (message: string) => new RpcError(FORBIDDEN, message);

export const exhausted = (limit: string, max: number) =>
  new RpcError(EXHAUSTED, `The limit of ${max} ${limit} is reached.`, { data: { limit, max } });

export const unsupported = (feature: string, value: unknown, message: string) =>
  new RpcError(UNSUPPORTED, message, { data: { feature, value } });

/** The words of the draft for a callback that fails. They say no more, since the caller chose the address. */
export type CallbackProblem =
  | 'connection_refused'
  | 'timeout'
  | 'tls_error'
  | 'http_4xx'
  | 'http_5xx'
  | 'challenge_failed';

export const callbackFailed = (reason: CallbackProblem) =>
  new RpcError(CALLBACK, `The callback did not echo the challenge: ${reason}.`, { data: { reason } });

/** An outcome of a request (src/domain/delivery.ts) in these words. */
export function callbackProblem(outcome: string | null): CallbackProblem {
  if (outcome === 'timeout' || outcome === 'response_too_slow') return 'timeout';
  if (outcome === 'tls_failed') return 'tls_error';
  if (outcome?.startsWith('http_4')) return 'http_4xx';
  if (outcome?.startsWith('http_5')) return 'http_5xx';
  // A redirect counts as an answer without the echo.
  return outcome?.startsWith('http_') ? 'challenge_failed' : 'connection_refused';
}
