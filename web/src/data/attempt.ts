import type { DeliveryAttempt } from 'posthorn-client';

type Timings = Partial<Record<'dnsMs' | 'connectMs' | 'tlsMs' | 'firstByteMs' | 'totalMs', number>>;

/**
 * The parts of the time that an attempt took. A connection that was open already has no name, connect and TLS. A result
 * that a consumer reported has only the whole.
 */
export function timingParts(
  attempt: Pick<DeliveryAttempt, 'timings' | 'http_status' | 'status'>,
): [name: string, ms: number][] {
  const { dnsMs, connectMs, tlsMs, firstByteMs, totalMs = 0 } = attempt.timings as Timings;
  const isReported = attempt.status || attempt.http_status !== '';
  const before = (dnsMs ?? 0) + (connectMs ?? 0) + (tlsMs ?? 0);
  const parts: [string, number | undefined][] = [
    ['Name', dnsMs],
    ['Connect', connectMs],
    ['TLS', tlsMs],
    ['First byte', firstByteMs === undefined ? undefined : Math.max(0, firstByteMs - before)],
    [
      firstByteMs !== undefined ? 'Rest' : isReported ? 'In all' : 'No answer',
      Math.max(0, totalMs - (firstByteMs ?? before)),
    ],
  ];
  return parts.filter((part): part is [string, number] => part[1] !== undefined);
}

export const totalMs = (attempt: Pick<DeliveryAttempt, 'timings'>): number =>
  (attempt.timings as Timings).totalMs ?? 0;

/** "200 OK", or what went wrong. A consumer that fetched it says only that it worked. */
export function attemptResult(
  { http_status, error, status }: Pick<DeliveryAttempt, 'http_status' | 'error' | 'status'>,
  words: { reported: string; noAnswer: string },
): string {
  return http_status || error || (status ? words.reported : words.noAnswer);
}

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
