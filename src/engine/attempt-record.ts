import type { Outcome } from '../dispatch/outcome.ts';
import type { AttemptRow } from '../store/finish-deliveries.ts';
import type { BuiltRequest } from './build-request.ts';

/** What is kept of an attempt. Values of credential headers are not: they are stored as `***`. */
const CREDENTIAL_HEADERS = new Set(['authorization', 'cookie', 'set-cookie', 'proxy-authorization']);
const MASK = '***';

export function attemptRecord(
  id: string,
  request: BuiltRequest,
  context: { outcome: Outcome; authHeaderNames: ReadonlySet<string>; succeeded: boolean },
): AttemptRow {
  const { outcome, authHeaderNames, succeeded } = context;
  const masked = (name: string, value: string) => {
    const key = name.toLowerCase();
    return CREDENTIAL_HEADERS.has(key) || authHeaderNames.has(key) ? MASK : value;
  };
  const sent: Record<string, string> = {};
  for (const [name, value] of request.headers) sent[name] = masked(name, value);
  const response = outcome.kind === 'response' ? outcome : null;
  return {
    id,
    url: request.url,
    ipAddress: outcome.address,
    httpStatus: response?.statusText ?? null,
    error: outcome.kind === 'error' ? outcome.message.replaceAll('\0', '') : null,
    succeeded,
    requestHeaders: JSON.stringify(sent),
    responseHeaders:
      response === null
        ? null
        : JSON.stringify(response.headers, (name, value: unknown) =>
            CREDENTIAL_HEADERS.has(name) ? [MASK] : value,
          ),
    responseBody: response?.body ?? null,
    timings: JSON.stringify(outcome.timings),
    requestedAtMs: outcome.startedAt,
    respondedAtMs: response === null ? null : outcome.startedAt + outcome.timings.totalMs,
  };
}
