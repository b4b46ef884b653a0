import { isUtf8 } from 'node:buffer';
import { excessInSlices, excessOf, type JsonBounds } from '../../platform/json/json-shape.ts';
import { LARGE_JSON, parseInSlices } from '../../platform/json/parse-in-slices.ts';
import { contentCodings, decodeContent } from './content-encoding.ts';
import { headerValues, type IngestHeaders } from './ingest-request.ts';
import { refuseExcessInSlices } from './json-bounds.ts';
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
const mostNested = { depth: 512, names: Number.POSITIVE_INFINITY };

/** From the bytes as received to the payload. Verify first, because signatures cover the raw bytes. */
export async function readBody(
  raw: Buffer,
  headers: IngestHeaders,
  maxBytes: number,
  jsonBounds: JsonBounds,
): Promise<Body> {
  const decoding = await decodeBody(raw, headers, maxBytes, jsonBounds);
  if (decoding.kind !== 'decoded') return decoding;
  return readDecoded(decoding.bytes, headers, maxBytes);
}

/** `parseBody`, where large JSON is parsed in slices. */
export async function readDecoded(bytes: Buffer, headers: IngestHeaders, maxBytes: number): Promise<Body> {
  if (bytes.length <= LARGE_JSON || !isJsonType(mediaTypeOf(headers)))
    return parseBody(bytes, headers, maxBytes);
  return (await jsonInSlices(bytes)) ?? opaque(bytes, headers);
}

/** The bytes without their content coding. Throws if they are JSON that is out of its bounds. */
export async function decodeBody(
  raw: Buffer,
  headers: IngestHeaders,
  maxBytes: number,
  jsonBounds: JsonBounds,
): Promise<{ kind: 'decoded'; bytes: Buffer } | Exclude<Body, Payload>> {
  if (raw.length > maxBytes) return { kind: 'too_large' };
  const codings = contentCodings(headerValues(headers, 'content-encoding'));
  const isPlain = codings.length === 0 || raw.length === 0;
  const decoding = isPlain
    ? ({ kind: 'decoded', bytes: raw } as const)
    : await decodeContent(raw, codings, maxBytes);
  if (decoding.kind === 'decoded' && isJsonType(mediaTypeOf(headers)))
    await refuseExcessInSlices(decoding.bytes, jsonBounds);
  return decoding;
}

/** The bytes, and the JSON made from a form, are within `maxBytes`. Never throws. */
export function parseBody(bytes: Buffer, headers: IngestHeaders, maxBytes: number): Body {
  if (bytes.length > maxBytes) return { kind: 'too_large' };
  if (bytes.length === 0) return { kind: 'json', text: '{}', value: {} };
  const mediaType = mediaTypeOf(headers);
  if (mediaType === 'application/x-www-form-urlencoded') return parseForm(bytes, maxBytes);
  if (mediaType === 'multipart/form-data') return parseMultipartBody(bytes, headers, maxBytes);
  if (isJsonType(mediaType)) return jsonPayload(bytes) ?? opaque(bytes, headers);
  return opaque(bytes, headers);
}

const typeOf = (headers: IngestHeaders): string => headerValues(headers, 'content-type')[0] ?? '';

/** The content type without its parameters, in lower case. Empty: there is none. */
export function mediaTypeOf(headers: IngestHeaders): string {
  return typeOf(headers).split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** Without a content type JSON is likely, and a wrong guess costs nothing. */
export function isJsonType(mediaType: string): boolean {
  return mediaType === '' || mediaType === 'application/json' || /^[^/]+\/(.+\+)?json$/.test(mediaType);
}

function opaque(bytes: Buffer, headers: IngestHeaders): Payload {
  const contentType = typeOf(headers);
  const text = bytes.toString(isUtf8(bytes) ? 'utf8' : 'base64');
  const type = contentType === '' ? 'application/octet-stream' : contentType;
  return { kind: 'opaque', bytes, contentType: type, asJson: JSON.stringify(text) };
}

export type JsonPayload = Extract<Payload, { kind: 'json' }>;

/** Null if it is not valid JSON. */
export function jsonPayload(bytes: Buffer): JsonPayload | null {
  const text = excessOf(bytes, mostNested) === undefined ? jsonText(bytes) : null;
  if (text === null) return null;
  try {
    return { kind: 'json', text, value: JSON.parse(text) as unknown };
  } catch (error) {
    return noJson(error);
  }
}

/** `jsonPayload`, where large JSON is parsed in slices. */
export async function jsonInSlices(bytes: Buffer): Promise<JsonPayload | null> {
  if (bytes.length <= LARGE_JSON) return jsonPayload(bytes);
  const text = (await excessInSlices(bytes, mostNested)) === undefined ? jsonText(bytes) : null;
  if (text === null) return null;
  try {
    return { kind: 'json', text, value: await parseInSlices(text) };
  } catch (error) {
    return noJson(error);
  }
}

function noJson(error: unknown): null {
  if (error instanceof SyntaxError) return null;
  throw error;
}

/** Null if it cannot be JSON. */
function jsonText(bytes: Buffer): string | null {
  if (!isUtf8(bytes)) return null;
  const decoded = bytes.toString('utf8');
  return decoded.startsWith('\ufeff') ? decoded.slice(1) : decoded;
}

function parseForm(bytes: Buffer, maxBytes: number): Body {
  let separators = 0;
  for (let at = bytes.indexOf('&'); at !== -1; at = bytes.indexOf('&', at + 1)) {
    if (++separators >= maxFields) return { kind: 'too_large' };
  }
  return jsonOfFields(formFields(bytes.toString('utf8')), maxBytes);
}

function parseMultipartBody(bytes: Buffer, headers: IngestHeaders, maxBytes: number): Body {
  const boundary = multipartBoundary(typeOf(headers));
  if (boundary === null) return opaque(bytes, headers);
  const reading = parseMultipart(bytes, boundary);
  if (reading.kind === 'malformed') return opaque(bytes, headers);
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

/** The fields of `a=1&b=2` in order. `URLSearchParams` alone would drop a question mark at the start. */
export function formFields(text: string): Iterable<[string, string]> {
  return new URLSearchParams(text.startsWith('?') ? `&${text}` : text);
}
