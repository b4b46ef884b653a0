/** Providers whose signature covers the URL that they were given, which is the source's `url`. */
import { isObject } from '../../platform/json/is-object.ts';
import { compileSigner } from './signature.ts';
import { checkTimestampMs, readHeader, refused, type Verifier, verified } from './verifier.ts';

/** `X-Square-HmacSha256-Signature: <base64>`, a SHA-256 over `<URL><body>`. */
export function squareVerifier(secret: string): Verifier {
  const signer = compileSigner('SHA256', 'base64', secret);
  const header = 'x-square-hmacsha256-signature';
  return (request) => {
    const signature = readHeader(request, header);
    if (!signature.ok) return signature;
    return signer.matches(signature.value, request.url, request.body)
      ? verified
      : refused(`header ${header} does not match the URL and the body`);
  };
}

/** `X-HubSpot-Signature-v3: <base64>`, a SHA-256 over `<method><URL><body><time in milliseconds>`. */
export function hubspotVerifier(secret: string): Verifier {
  const signer = compileSigner('SHA256', 'base64', secret);
  const header = 'x-hubspot-signature-v3';
  return (request, nowMs) => {
    const timestamp = readHeader(request, 'x-hubspot-request-timestamp');
    if (!timestamp.ok) return timestamp;
    const signature = readHeader(request, header);
    if (!signature.ok) return signature;
    const fresh = checkTimestampMs(timestamp.value, nowMs);
    if (!fresh.ok) return fresh;
    const start = `${request.method}${decodedUrl(request.url)}`;
    return signer.matches(signature.value, start, request.body, timestamp.value)
      ? verified
      : refused(`header ${header} does not match the URL and the body`);
  };
}

/** HubSpot signs the URL with these characters decoded. */
const decodedUrl = (url: string): string =>
  url.replace(/%(3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi, (code) => decodeURIComponent(code));

/** HubSpot sends a list of events. They have a type together if they all have the same. */
export function hubspotEventType(payload: unknown): string | null {
  if (!Array.isArray(payload)) return null;
  const types = new Set(payload.map((event) => (isObject(event) ? event.subscriptionType : null)));
  const [type] = types;
  return types.size === 1 && typeof type === 'string' && /^[\w.-]{1,100}$/.test(type) ? type : null;
}
