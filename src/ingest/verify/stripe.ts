import { compileSigner } from './signature.ts';
import { checkTimestamp, readHeader, refused, type Verifier, verified } from './verifier.ts';

const header = 'stripe-signature';

/**
 * `Stripe-Signature: t=<seconds>,v1=<hex>[,v1=<hex>...]`, each v1 a SHA-256 over `<t>.<body>`. There are two
 * while a secret is being rolled. Other schemes (`v0`) are ignored, as the documentation asks. The whole
 * secret is the key, its `whsec_` included.
 */
export function stripeVerifier(secret: string): Verifier {
  const signer = compileSigner('SHA256', 'hex', secret);
  return (request, nowMs) => {
    const reading = readHeader(request, header);
    if (!reading.ok) return reading;
    const { timestamps, signatures } = parseElements(reading.value);
    const [timestamp] = timestamps;
    if (timestamp === undefined || timestamps.length > 1) {
      return refused(`header ${header} does not contain exactly one timestamp`);
    }
    const fresh = checkTimestamp(timestamp, nowMs);
    if (!fresh.ok) return fresh;
    const matching = signatures.filter((given) => signer.matches(given, `${timestamp}.`, request.body));
    return matching.length > 0 ? verified : refused(`header ${header} does not match the body`);
  };
}

function parseElements(value: string): { timestamps: string[]; signatures: string[] } {
  const timestamps: string[] = [];
  const signatures: string[] = [];
  for (const element of value.split(',')) {
    const trimmed = element.trim();
    if (trimmed.startsWith('t=')) timestamps.push(trimmed.slice(2));
    else if (trimmed.startsWith('v1=')) signatures.push(trimmed.slice(3));
  }
  return { timestamps, signatures };
}
