import { headerValues, type IngestRequest } from '../request/ingest-request.ts';
import { compileSigner, type Signer } from './signature.ts';
import {
  checkTimestamp,
  readHeader,
  refuseAll,
  refused,
  type Verifier,
  type VerifyResult,
  verified,
} from './verifier.ts';

/**
 * Standard Webhooks, and Svix, which differs only in the names of the headers. `<p>-signature` is a list,
 * separated by spaces, of `v1,<base64>` of a SHA-256 over `<p>-id.<p>-timestamp.body`. Other versions (`v1a`)
 * are ignored. All three headers come from one family; `webhook-` wins if both are sent.
 */
export function standardWebhooksVerifier(secret: string): Verifier {
  const key = standardSecretKey(secret);
  if (key === null) return refuseAll('the secret of the source is not base64 after whsec_');
  const signer = compileSigner('SHA256', 'base64', key);
  return (request, nowMs) => {
    const family = headerValues(request.headers, 'webhook-signature').length > 0 ? 'webhook' : 'svix';
    return verifyFamily({ request, nowMs, signer, family });
  };
}

/** `whsec_` and base64 (the standard form), base64 alone (which libraries tolerate), or else the text itself. */
function standardSecretKey(secret: string): Buffer | null {
  const prefixed = secret.startsWith('whsec_');
  const text = prefixed ? secret.slice('whsec_'.length) : secret;
  const decoded = Buffer.from(text, 'base64');
  if (decoded.length > 0 && decoded.toString('base64') === text) return decoded;
  return prefixed ? null : Buffer.from(secret, 'utf8');
}

interface Check {
  request: IngestRequest;
  nowMs: number;
  signer: Signer;
  family: 'webhook' | 'svix';
}

function verifyFamily({ request, nowMs, signer, family }: Check): VerifyResult {
  const id = readHeader(request, `${family}-id`);
  if (!id.ok) return id;
  const timestamp = readHeader(request, `${family}-timestamp`);
  if (!timestamp.ok) return timestamp;
  const header = `${family}-signature`;
  const signature = readHeader(request, header);
  if (!signature.ok) return signature;
  const fresh = checkTimestamp(timestamp.value, nowMs);
  if (!fresh.ok) return fresh;
  const entries = signature.value.split(' ');
  // Node joins a repeated header by ", ", which leaves an entry with a comma at its end.
  if (!entries.every((entry) => /^v\d+[a-z]?,[A-Za-z0-9+/=_-]+$/.test(entry))) {
    return refused(`header ${header} is not a list of versioned signatures`);
  }
  const prefix = `${id.value}.${timestamp.value}.`;
  const matching = entries.filter(
    (entry) => entry.startsWith('v1,') && signer.matches(entry.slice(3), prefix, request.body),
  );
  return matching.length > 0 ? verified : refused(`header ${header} does not match the body`);
}
