import type { Outcome } from '../../dispatch/connection/outcome.ts';
import { type HeaderOwner, HIDDEN, isCredential } from '../../domain/config/credential-headers.ts';
import { CONFIRMED, httpOutcome, type LeasedSingle } from '../../domain/delivery.ts';
import { hideSecrets } from '../../routing/hidden-variables.ts';
import type { Attempt } from '../../store/attempts/attempt.ts';
import type { Finish } from '../../store/queue/finish.ts';
import type { TraceContext } from '../../tracing/trace-context.ts';
import type { BuiltRequest } from './build-request.ts';
import { judgeOutcome } from './judge-outcome.ts';
import { back, type Sent } from './sent.ts';

/** The result of a request: its outcome judged and recorded. A fault of ours leaves no attempt. */
export function requestResult<T extends LeasedSingle>(
  delivery: T,
  made: {
    request: BuiltRequest;
    outcome: Outcome;
    owner: HeaderOwner;
    trace: TraceContext | null;
    /** Made by a function. */
    made: Pick<Finish, 'body' | 'functionRequest'>;
    isStrain: boolean;
  },
  at: { attemptId: string; nowMs: number; finalCodes: readonly number[] },
): Sent<Finish<T>> {
  const { request, outcome, owner, trace, isStrain } = made;
  const judged = judgeOutcome(delivery, outcome, { ...at, random: Math.random() });
  const isOurs = outcome.kind === 'error' && outcome.ours;
  const succeeded = judged.verdict === 'success';
  // A request that our client refuses to send says nothing of the endpoint either. It is tried and recorded as any other.
  const isUnsendable = outcome.kind === 'error' && outcome.code === 'invalid_request';
  return {
    ...back(delivery),
    ...judged,
    verdict: isOurs || isUnsendable ? 'untried' : judged.verdict,
    ...made.made,
    attempt: isOurs ? null : attemptRecord(at, request, { outcome, owner, succeeded }),
    exchange: { outcome, requestBytes: request.body.length, trace },
    isStrain,
  };
}

/** The stored record of an attempt. Values of credential headers are stored as `***`. */
export function attemptRecord(
  { attemptId: id, nowMs }: { attemptId: string; nowMs: number },
  request: BuiltRequest,
  context: { outcome: Outcome; owner: HeaderOwner; succeeded: boolean },
): Attempt {
  const { outcome, owner, succeeded } = context;
  const sent: Record<string, string> = {};
  for (const [name, value] of request.headers) {
    sent[name] = isCredential(name, owner) ? HIDDEN : value;
  }
  const response = outcome.kind === 'response' ? outcome : null;
  return {
    id,
    url: hideSecrets(request.url, request.secrets),
    ipAddress: outcome.address,
    httpStatus: response === null || response.isConfirm === true ? null : response.statusText,
    outcome: outcomeWord(outcome),
    error: outcome.kind === 'error' ? outcome.message.replaceAll('\0', '') : null,
    succeeded,
    requestHeaders: sent,
    responseHeaders: response === null ? null : maskedResponse(response.headers, owner),
    responseBody: response?.body ?? null,
    timings: outcome.timings,
    requestedAtMs: Math.floor(nowMs - (performance.now() - outcome.startedMs)),
  };
}

function outcomeWord(outcome: Outcome): string {
  if (outcome.kind === 'error') return outcome.code;
  return outcome.isConfirm === true ? CONFIRMED : httpOutcome(outcome.status);
}

/** Copies only if there is something to mask. Most responses have nothing. */
function maskedResponse(headers: Record<string, string[]>, owner: HeaderOwner): Record<string, string[]> {
  const names = Object.keys(headers).filter((name) => isCredential(name, owner));
  if (names.length === 0) return headers;
  return { ...headers, ...Object.fromEntries(names.map((name) => [name, [HIDDEN]])) };
}

/** Shorter values would also match harmless text. */
const MIN_CHARS = 6;

/**
 * Removes the credentials of a request from its stored record. Some endpoints echo the request for debugging,
 * so the response is searched for the values of credential headers before it is judged, recorded or reported.
 */
export function withoutCredentials(outcome: Outcome, request: BuiltRequest, owner: HeaderOwner): Outcome {
  const hidden = request.headers
    .filter(([name]) => isCredential(name, owner))
    .flatMap(([, value]) => readable(value))
    .concat(request.secrets)
    .filter((text) => text.length >= MIN_CHARS);
  if (hidden.length === 0) return outcome;
  if (outcome.kind === 'error') return { ...outcome, message: without(outcome.message, hidden) };
  const headers = Object.entries(outcome.headers).map(
    ([name, values]) => [name, values.map((value) => without(value, hidden))] as const,
  );
  return {
    ...outcome,
    statusText: without(outcome.statusText, hidden),
    headers: Object.fromEntries(headers),
    body: withoutBytes(outcome.body, hidden),
  };
}

/** The whole value, the part after a scheme, and the two halves of basic credentials. */
function readable(value: string): string[] {
  const [, scheme = '', rest = value] = /^(\S+)\s+(.*)$/.exec(value) ?? [];
  const decoded = scheme.toLowerCase() === 'basic' ? Buffer.from(rest, 'base64').toString() : '';
  const password = decoded.slice(decoded.indexOf(':') + 1);
  return [value, rest, decoded, password];
}

function without(text: string, hidden: readonly string[]): string {
  return hidden.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), text);
}

/** Byte by byte, because the body may be anything. */
function withoutBytes(body: Buffer, hidden: readonly string[]): Buffer {
  const asBytes = hidden.map((text) => Buffer.from(text).toString('latin1'));
  if (!asBytes.some((text) => body.includes(text, 0, 'latin1'))) return body;
  return Buffer.from(without(body.toString('latin1'), asBytes), 'latin1');
}
