/**
 * The result of an attempt as one word, for filters and counts: `http_<status>` for a response, else the code of the
 * error. The text of the error is for people and may contain details of one attempt.
 */
export const errorCodes = [
  'timeout',
  'connection_refused',
  'connection_reset',
  'unreachable',
  'dns_not_found',
  'dns_failed',
  'tls_failed',
  'address_blocked',
  'invalid_request',
  'invalid_response',
  'response_too_slow',
  'bad_url',
  'proxy_failed',
  'client_certificate_invalid',
  'aborted',
  'local_resource',
] as const;
export type ErrorCode = (typeof errorCodes)[number];

/** The outcome of a delivery without an attempt: a function failed, or its endpoint was inactive. */
export const NOT_SENT = 'not_sent';

export function httpOutcome(status: number): string {
  return `http_${status}`;
}

export interface OutcomeFilter {
  /** Complete outcomes. */
  exact: string[];
  /** Beginnings of outcomes, such as `http_5`. */
  prefixes: string[];
  /** Deliveries without an attempt, too. */
  notSent: boolean;
}

/** Null if one of the words is no outcome. `http_5xx` means every status from 500 to 599. */
export function parseOutcomes(words: readonly string[]): OutcomeFilter | null {
  const filter: OutcomeFilter = { exact: [], prefixes: [], notSent: false };
  for (const word of words) {
    if (word === NOT_SENT) filter.notSent = true;
    else if (/^http_[1-5]xx$/.test(word)) filter.prefixes.push(word.slice(0, -2));
    else if (/^http_\d{3}$/.test(word) || (errorCodes as readonly string[]).includes(word))
      filter.exact.push(word);
    else return null;
  }
  return filter;
}
