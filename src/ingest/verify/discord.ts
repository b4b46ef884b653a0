import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { isObject } from '../../platform/json/is-object.ts';
import type { HandshakeAnswer } from './url-handshake.ts';
import { checkTimestamp, readHeader, refuseAll, refused, type Verifier, verified } from './verifier.ts';

const header = 'x-signature-ed25519';

/**
 * `X-Signature-Ed25519: <hex>` over `<X-Signature-Timestamp><body>`, with the public key of the application in
 * place of a secret.
 */
export function discordVerifier(publicKey: string): Verifier {
  const key = readKey(publicKey);
  if (key === null) return refuseAll('the public key of the source is not 64 hexadecimal digits');
  return (request, nowMs) => {
    const timestamp = readHeader(request, 'x-signature-timestamp');
    if (!timestamp.ok) return timestamp;
    const signature = readHeader(request, header);
    if (!signature.ok) return signature;
    const fresh = checkTimestamp(timestamp.value, nowMs);
    if (!fresh.ok) return fresh;
    if (!/^[0-9a-f]{128}$/i.test(signature.value)) return refused(`header ${header} is no Ed25519 signature`);
    const signed = Buffer.concat([Buffer.from(timestamp.value), request.body]);
    return verify(null, signed, key, Buffer.from(signature.value, 'hex'))
      ? verified
      : refused(`header ${header} does not match the body`);
  };
}

function readKey(text: string): KeyObject | null {
  if (!/^[0-9a-f]{64}$/i.test(text)) return null;
  const x = Buffer.from(text, 'hex').toString('base64url');
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
}

/** PING: type 0 of webhook events has no answer, type 1 of interactions is echoed. */
export function discordPing(payload: unknown): HandshakeAnswer | null {
  if (!isObject(payload)) return null;
  if (payload.type === 0) return { status: 204, type: 'text/plain', body: '' };
  return payload.type === 1 ? { status: 200, type: 'application/json', body: '{"type":1}' } : null;
}
