/**
 * `X-Twilio-Signature` is the base64 SHA-1 over the URL followed by every form field, name and value, sorted
 * by name. A body that is not a form is covered by its SHA-256 in the signed query parameter `bodySHA256`. A
 * body that neither covers is refused.
 */
import { createHash } from 'node:crypto';
import { formFields } from '../request/body.ts';
import { headerValues, type IngestRequest } from '../request/ingest-request.ts';
import { compileSigner, sameText } from './signature.ts';
import { readHeader, refused, type Verifier, verified } from './verifier.ts';

export function twilioVerifier(authToken: string): Verifier {
  const signer = compileSigner('SHA1', 'base64', authToken);
  return (request) => {
    const reading = readHeader(request, 'x-twilio-signature');
    if (!reading.ok) return reading;
    const signedFields = coverOfBody(request);
    if (signedFields === null) return refused('the body is neither a form nor the one named by bodySHA256');
    const matching = urlSpellings(request.url).filter((url) =>
      signer.matches(reading.value, url, signedFields),
    );
    return matching.length > 0
      ? verified
      : refused('header x-twilio-signature does not match the URL and the body');
  };
}

/** The signed text after the URL, or null if the signature does not cover the body. */
function coverOfBody(request: IngestRequest): string | null {
  // From the signed URL, not from another copy of its query.
  const bodyHash = new URLSearchParams(request.url.split('?')[1]).get('bodySHA256');
  if (bodyHash !== null) {
    const actual = createHash('sha256').update(request.body).digest('hex');
    return sameText(actual, bodyHash.toLowerCase()) ? '' : null;
  }
  if (request.body.length === 0) return '';
  const [contentType = ''] = headerValues(request.headers, 'content-type');
  const isForm = /^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType);
  return isForm ? sortedFields(request.body.toString('utf8')) : null;
}

/** Names in code unit order. The distinct values of a repeated name, sorted. */
function sortedFields(form: string): string {
  const valuesOf = new Map<string, Set<string>>();
  for (const [name, value] of formFields(form)) {
    const values = valuesOf.get(name);
    if (values === undefined) valuesOf.set(name, new Set([value]));
    else values.add(value);
  }
  let text = '';
  for (const name of [...valuesOf.keys()].sort()) {
    for (const value of [...(valuesOf.get(name) ?? [])].sort()) text += name + value;
  }
  return text;
}

/** Twilio signs some requests with the port in the URL and some without. */
function urlSpellings(url: string): string[] {
  const parts = /^(https?):\/\/([^/?#]*?)(:\d+)?([/?#].*)?$/is.exec(url);
  if (parts === null) return [url];
  const [, scheme = '', host = '', port, rest = ''] = parts;
  const defaultPort = scheme.toLowerCase() === 'https' ? ':443' : ':80';
  const withPort = `${scheme}://${host}${port ?? defaultPort}${rest}`;
  return [...new Set([url, withPort, `${scheme}://${host}${rest}`])];
}
