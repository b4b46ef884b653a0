import { isObject } from '../../platform/json/is-object.ts';
import { compileSigner } from './signature.ts';
import type { HandshakeAnswer } from './url-handshake.ts';
import { checkTimestamp, readHeader, refused, type Verifier, verified } from './verifier.ts';

/** Slack and Zoom: `v0=<hex>` in one header, a SHA-256 over `v0:<time of another header>:<body>`. */
export function v0Signature(names: { signature: string; time: string }): (secret: string) => Verifier {
  return (secret) => {
    const signer = compileSigner('SHA256', 'hex', secret);
    return (request, nowMs) => {
      const timestamp = readHeader(request, names.time);
      if (!timestamp.ok) return timestamp;
      const signature = readHeader(request, names.signature);
      if (!signature.ok) return signature;
      const fresh = checkTimestamp(timestamp.value, nowMs);
      if (!fresh.ok) return fresh;
      if (!signature.value.startsWith('v0='))
        return refused(`header ${names.signature} does not begin with v0=`);
      return signer.matches(signature.value.slice(3), `v0:${timestamp.value}:`, request.body)
        ? verified
        : refused(`header ${names.signature} does not match the body`);
    };
  };
}

const maxChallengeLength = 1024;

/** Slack's `url_verification` is answered with its challenge as text. It is signed like any other request. */
export function slackChallenge(payload: unknown): HandshakeAnswer | null {
  if (!isObject(payload) || payload.type !== 'url_verification') return null;
  const { challenge } = payload;
  if (typeof challenge !== 'string' || challenge.length > maxChallengeLength) return null;
  return { status: 200, type: 'text/plain', body: challenge };
}

/**
 * Zoom's `endpoint.url_validation` is answered with the token and its digest. It is signed too, and a webhook's
 * signed text begins with `v0:`, so the digest of a token that does not is of no use to a forger.
 */
export function zoomChallenge(payload: unknown, secret: string): HandshakeAnswer | null {
  if (!isObject(payload) || payload.event !== 'endpoint.url_validation') return null;
  const plainToken = isObject(payload.payload) ? payload.payload.plainToken : null;
  if (typeof plainToken !== 'string' || !/^[\w+/=-]{1,256}$/.test(plainToken)) return null;
  const encryptedToken = compileSigner('SHA256', 'hex', secret).sign(plainToken);
  return { status: 200, type: 'application/json', body: JSON.stringify({ plainToken, encryptedToken }) };
}
