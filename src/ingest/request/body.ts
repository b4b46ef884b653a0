import { isUtf8 } from 'node:buffer';
import { contentCodings, decodeContent } from './content-encoding.ts';
import { formFields } from './form-fields.ts';
import { headerValues, type IngestHeaders } from './ingest-request.ts';
import { multipartBoundary, parseMultipart } from './multipart.ts';

/** A usable payload, as the event stores it. */
export type Payload =
  | { kind: 'json'; text: string; value: unknown }
  /**
   * Not JSON. It is delivered byte for byte under its own content type. `asJson` is its text or base64 as a
   * JSON string.
   */
  | { kind: 'opaque'; bytes: Buffer; contentType: string; asJson: string };

export type Body = Payload | { kind: 'too_large' } | { kind: 'bad_encoding'; message: string };

const maxFields = 10_000;

/** Deeper JSON is kept as bytes. A recursive walk, or JSON.parse with a reviver, fails by 4,000 levels. */
const maxJsonDepth = 512;

/** From the bytes as received to the payload. Verify first, because signatures cover the raw bytes. */
export async function readBody(raw: Buffer, headers: IngestHeaders, maxBytes: number): Promise<Body> {
  const decoding = await decodeBody(raw, headers, maxBytes);
  return decoding.kind === 'decoded' ? parseBody(decoding.bytes, headers, maxBytes) : decoding;
}

/** The bytes without their content coding. */
export async function decodeBody(
  raw: Buffer,
  headers: IngestHeaders,
  maxBytes: number,
): Promise<{ kind: 'decoded'; bytes: Buffer } | Exclude<Body, Payload>> {
  if (raw.length > maxBytes) return { kind: 'too_large' };
  const codings = contentCodings(headerValues(headers, 'content-encoding'));
  if (codings.length === 0 || raw.length === 0) return { kind: 'decoded', bytes: raw };
  return decodeContent(raw, codings, maxBytes);
}

/** The bytes, and the JSON made from a form, are within `maxBytes`. Never throws. */
export function parseBody(bytes: Buffer, headers: IngestHeaders, maxBytes: number): Body {
  if (bytes.length > maxBytes) return { kind: 'too_large' };
  if (bytes.length === 0) return { kind: 'json', text: '{}', value: {} };
  const [contentType = ''] = headerValues(headers, 'content-type');
  const mediaType = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (mediaType === 'application/x-www-form-urlencoded') return parseForm(bytes, maxBytes);
  if (mediaType === 'multipart/form-data') return parseMultipartBody(bytes, contentType, maxBytes);
  if (isJsonType(mediaType)) return jsonPayload(bytes) ?? opaque(bytes, contentType);
  return opaque(bytes, contentType);
}

/** Without a content type JSON is likely, and a wrong guess costs nothing. */
export function isJsonType(mediaType: string): boolean {
  return mediaType === '' || mediaType === 'application/json' || /^[^/]+\/(.+\+)?json$/.test(mediaType);
}

function opaque(bytes: Buffer, contentType: string): Payload {
  const text = bytes.toString(isUtf8(bytes) ? 'utf8' : 'base64');
  const type = contentType === '' ? 'application/octet-stream' : contentType;
  return { kind: 'opaque', bytes, contentType: type, asJson: JSON.stringify(text) };
}

/** Null if it is not valid JSON. */
export function jsonPayload(bytes: Buffer): Extract<Payload, { kind: 'json' }> | null {
  if (!isUtf8(bytes)) return null;
  const decoded = bytes.toString('utf8');
  const text = decoded.startsWith('\ufeff') ? decoded.slice(1) : decoded;
  if (nestsDeeperThan(text, maxJsonDepth)) return null;
  try {
    return { kind: 'json', text, value: JSON.parse(text) as unknown };
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function nestsDeeperThan(json: string, limit: number): boolean {
  if (json.length <= 2 * limit) return false;
  let depth = 0;
  let inString = false;
  for (let i = 0; i < json.length; i++) {
    const char = json[i];
    if (inString) {
      if (char === '\\') i++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === '[' || char === '{') {
      if (++depth > limit) return true;
    } else if (char === ']' || char === '}') depth--;
  }
  return false;
}

function parseForm(bytes: Buffer, maxBytes: number): Body {
  let separators = 0;
  for (let at = bytes.indexOf('&'); at !== -1; at = bytes.indexOf('&', at + 1)) {
    if (++separators >= maxFields) return { kind: 'too_large' };
  }
  return jsonOfFields(formFields(bytes.toString('utf8')), maxBytes);
}

function parseMultipartBody(bytes: Buffer, contentType: string, maxBytes: number): Body {
  const boundary = multipartBoundary(contentType);
  if (boundary === null) return opaque(bytes, contentType);
  const reading = parseMultipart(bytes, boundary);
  if (reading.kind === 'malformed') return opaque(bytes, contentType);
  return reading.kind === 'too_many' ? { kind: 'too_large' } : jsonOfFields(reading.fields, maxBytes);
}

/** A flat object of strings in the order sent. A repeated name has the list of its values. */
function jsonOfFields(fields: Iterable<[string, string]>, maxBytes: number): Body {
  const byName = new Map<string, string[]>();
  for (const [name, value] of fields) {
    const known = byName.get(name);
    if (known === undefined) byName.set(name, [value]);
    else known.push(value);
  }
  // Built as text, because an object would sort names that look like numbers and break on `__proto__`.
  const members = [...byName].map(
    ([name, values]) => `${JSON.stringify(name)}:${JSON.stringify(values.length === 1 ? values[0] : values)}`,
  );
  const text = `{${members.join(',')}}`;
  if (Buffer.byteLength(text) > maxBytes) return { kind: 'too_large' };
  return { kind: 'json', text, value: JSON.parse(text) as unknown };
}
