import { type RateLimit, rateLimit } from '../../domain/config/rate-limit.ts';
import { invalid } from '../../domain/errors.ts';
import { headerValues, type IngestHeaders } from '../request/ingest-request.ts';

/**
 * The handshake of CloudEvents' webhooks: before a sender sends, it asks the target for its consent with OPTIONS. The address
 * of a source is a secret, so that any sender who knows it has the consent of its owner.
 */
const ORIGIN = /^[\x21-\x7e]{1,255}$/;
const MINUTE_MS = 60_000;

/** The headers of the answer. The rate is that of the lowest limit, in requests per minute. */
export function consentHeaders(
  headers: IngestHeaders,
  limits: readonly { count: number; seconds: number }[],
): Record<string, string> {
  const [origin = ''] = headerValues(headers, 'webhook-request-origin');
  if (!ORIGIN.test(origin)) throw invalid('WebHook-Request-Origin', 'must name the sender');
  const rates = limits
    .map(({ count, seconds }) => rateLimit(count, seconds))
    .filter((limit) => limit !== null)
    .map(perMinute);
  return {
    allow: 'POST',
    'webhook-allowed-origin': origin,
    'webhook-allowed-rate': rates.length === 0 ? '*' : String(Math.min(...rates)),
  };
}

const perMinute = ({ count, durationMs }: RateLimit): number =>
  Math.max(1, Math.floor((count * MINUTE_MS) / durationMs));
