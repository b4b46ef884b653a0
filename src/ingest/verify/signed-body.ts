/** Providers that put the signed time, or the signature too, into the JSON body. */
import { isObject } from '../../platform/json/is-object.ts';
import { hmacVerifier } from './hmac.ts';
import { compileSigner } from './signature.ts';
import { checkTimestamp, checkTimestampMs, refused, type Verifier, verified } from './verifier.ts';

/** `Linear-Signature: <hex>`, a SHA-256 over the body, whose `webhookTimestamp` is in milliseconds. */
export function linearVerifier(secret: string): Verifier {
  const verify = hmacVerifier({ header: 'linear-signature', hash: 'SHA256', encoding: 'hex', secret });
  return (request, nowMs) => {
    const result = verify(request, nowMs);
    if (!result.ok) return result;
    const { webhookTimestamp } = objectIn(request.body);
    return checkTimestampMs(String(webhookTimestamp), nowMs);
  };
}

/** A change of an issue is `Issue.create`, `Issue.update` or `Issue.remove`. */
export function linearEventType(payload: unknown): string | null {
  if (!isObject(payload)) return null;
  const parts = [payload.type, payload.action];
  return parts.every((part) => typeof part === 'string' && /^[A-Za-z]{1,60}$/.test(part))
    ? parts.join('.')
    : null;
}

/**
 * `signature` of the body: a hexadecimal SHA-256 over `<timestamp><token>`. It does not cover the event. The
 * time bounds how long a captured request can be changed and sent again.
 */
export function mailgunVerifier(secret: string): Verifier {
  const signer = compileSigner('SHA256', 'hex', secret);
  return (request, nowMs) => {
    const { signature } = objectIn(request.body);
    if (!isObject(signature)) return refused('the body has no field signature');
    const { timestamp, token, signature: given } = signature;
    if (typeof timestamp !== 'string' || typeof token !== 'string' || typeof given !== 'string') {
      return refused('the field signature of the body has no timestamp, token and signature');
    }
    const fresh = checkTimestamp(timestamp, nowMs);
    if (!fresh.ok) return fresh;
    return signer.matches(given, timestamp, token)
      ? verified
      : refused('the signature of the body does not match its token');
  };
}

function objectIn(body: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return isObject(value) ? value : {};
  } catch {
    // Not JSON: it has none of the fields.
    return {};
  }
}
