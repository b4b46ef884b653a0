import type { DeliveryAttempt } from 'posthorn-client';

type Timings = Partial<Record<'dnsMs' | 'connectMs' | 'tlsMs' | 'firstByteMs' | 'totalMs', number>>;

/**
 * The parts of the time that an attempt took. A connection that was open already has no name, connect and TLS. A result
 * that a consumer reported has only the whole.
 */
export function timingParts(
  attempt: Pick<DeliveryAttempt, 'timings' | 'http_status' | 'status' | 'method'>,
): [name: string, ms: number][] {
  const { dnsMs, connectMs, tlsMs, firstByteMs, totalMs = 0 } = attempt.timings as Timings;
  const isReported = attempt.status || attempt.http_status !== '';
  const before = (dnsMs ?? 0) + (connectMs ?? 0) + (tlsMs ?? 0);
  const answered = firstByteMs === undefined ? undefined : Math.max(0, firstByteMs - before);
  // The confirm of a broker is the end of it.
  const isConfirmed = isMessage(attempt) && answered !== undefined;
  const missing = isMessage(attempt) ? 'No confirm' : 'No answer';
  const last = answered !== undefined ? 'Rest' : isReported ? 'In all' : missing;
  const parts: [string, number | undefined][] = [
    ['Name', dnsMs],
    ['Connect', connectMs],
    ['TLS', tlsMs],
    [isConfirmed ? 'Confirm' : 'First byte', answered],
    [last, isConfirmed ? undefined : Math.max(0, totalMs - (firstByteMs ?? before))],
  ];
  return parts.filter((part): part is [string, number] => part[1] !== undefined);
}

export const totalMs = (attempt: Pick<DeliveryAttempt, 'timings'>): number =>
  (attempt.timings as Timings).totalMs ?? 0;

/** "200 OK", or what went wrong. A broker, and a consumer that fetched it, say only that it worked. */
export function attemptResult(
  attempt: Pick<DeliveryAttempt, 'http_status' | 'error' | 'status' | 'method'>,
  words: { reported: string; confirmed: string; noAnswer: string },
): string {
  const { http_status, error, status } = attempt;
  const worked = isMessage(attempt) ? words.confirmed : words.reported;
  return http_status || error || (status ? worked : words.noAnswer);
}

/** It went to a broker, not to a URL. */
export const isMessage = ({ method }: Pick<DeliveryAttempt, 'method'>): boolean => method === 'PUBLISH';

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
/** curl makes these itself. */
const OWN_HEADERS = new Set(['host', 'content-length', 'connection']);
/** Stands for a value that the reader may not see. */
const MASK = '***';

type Headers = Pick<DeliveryAttempt, 'request_http_header' | 'response_http_header'>;

export const isMasked = ({ request_http_header, response_http_header }: Headers): boolean =>
  [request_http_header, response_http_header].some((headers) => Object.values(headers).includes(MASK));

/** The request of an attempt as a shell command. Hidden values are left out; the type of the content is needed. */
export function curlOf(
  { method, url, request_http_header }: Pick<DeliveryAttempt, 'method' | 'url' | 'request_http_header'>,
  body: string,
): string {
  const shown = Object.entries(request_http_header).filter(([, value]) => value !== MASK);
  const hasType = shown.some(([name]) => name.toLowerCase() === 'content-type');
  const headers = [...(hasType ? [] : [['Content-Type', 'application/json'] as const]), ...shown]
    .filter(([name]) => !OWN_HEADERS.has(name.toLowerCase()))
    .map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
  return [
    `curl -i -X ${method === '' ? 'POST' : method} ${quote(url)}`,
    ...headers,
    ...(body === '' ? [] : [`--data-raw ${quote(body)}`]),
  ].join(' \\\n  ');
}
