import type { Outcome } from '../../dispatch/connection/outcome.ts';
import { type HeaderOwner, HIDDEN, isCredential } from '../../domain/config/credential-headers.ts';
import type { BuiltRequest } from './build-request.ts';

/**
 * Removes the credentials of a request from its stored record. Some endpoints echo the request for debugging,
 * so the response is searched for the values of credential headers before it is judged, recorded or reported.
 */

/** Shorter values would also match harmless text. */
const MIN_CHARS = 6;

export function withoutCredentials(outcome: Outcome, request: BuiltRequest, owner: HeaderOwner): Outcome {
  const hidden = request.headers
    .filter(([name]) => isCredential(name, owner))
    .flatMap(([, value]) => readable(value))
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
