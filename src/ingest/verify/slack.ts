import { compileSigner } from './signature.ts';
import { checkTimestamp, readHeader, refused, type Verifier, verified } from './verifier.ts';

/** `X-Slack-Signature: v0=<hex>`, a SHA-256 over `v0:<X-Slack-Request-Timestamp>:<body>`. */
export function slackVerifier(secret: string): Verifier {
  const signer = compileSigner('SHA256', 'hex', secret);
  return (request, nowMs) => {
    const timestamp = readHeader(request, 'x-slack-request-timestamp');
    if (!timestamp.ok) return timestamp;
    const signature = readHeader(request, 'x-slack-signature');
    if (!signature.ok) return signature;
    const fresh = checkTimestamp(timestamp.value, nowMs);
    if (!fresh.ok) return fresh;
    if (!signature.value.startsWith('v0='))
      return refused('header x-slack-signature does not begin with v0=');
    return signer.matches(signature.value.slice(3), `v0:${timestamp.value}:`, request.body)
      ? verified
      : refused('header x-slack-signature does not match the body');
  };
}

const maxChallengeLength = 1024;

/**
 * The text to answer Slack's `url_verification` with, or null for an ordinary event. It is signed like any
 * other request. Call it only after verification, and answer as `text/plain`.
 */
export function slackChallenge(payload: unknown): string | null {
  if (typeof payload !== 'object' || payload === null) return null;
  const { type, challenge } = payload as { type?: unknown; challenge?: unknown };
  if (type !== 'url_verification' || typeof challenge !== 'string') return null;
  return challenge.length <= maxChallengeLength ? challenge : null;
}
