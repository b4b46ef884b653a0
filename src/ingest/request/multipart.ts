import { isHeaderName } from '../../domain/http-header.ts';

/**
 * Reads the text fields (and, on request, the files, as text) of multipart/form-data (RFC 2046, RFC 7578)
 * from a buffer that is already bounded.
 *
 * A delimiter is CRLF, two dashes and the boundary, followed only by padding and CRLF, or by two more dashes
 * (the last one) and padding up to CRLF or the end. Anything else that contains the boundary, such as a
 * longer boundary that begins with it, is content. Delimiters are found before the headers of a part are
 * parsed, so no header can hide one. Work is linear in the body: each search starts at the end of the last
 * one.
 */

type MultipartReading =
  | { kind: 'fields'; fields: [string, string][] }
  | { kind: 'malformed' }
  | { kind: 'too_many' };

const maxParts = 1000;
const maxPartHeaderBytes = 8192;
const lineBreak = '\r\n';
const dash = 0x2d;

/** The boundary of a content type, or null if there is none that RFC 2046 allows. */
export function multipartBoundary(contentType: string): string | null {
  const boundary = parseParameterizedHeader(contentType)?.parameters.get('boundary') ?? '';
  return /^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/.test(boundary) ? boundary : null;
}

export function parseMultipart(
  body: Buffer,
  boundary: string,
  options: { files: boolean } = { files: false },
): MultipartReading {
  const needle = Buffer.from(`${lineBreak}--${boundary}`, 'latin1');
  const fields: [string, string][] = [];
  let delimiter = firstDelimiter(body, needle);
  for (let parts = 0; delimiter !== null; parts++) {
    if (delimiter.last) return { kind: 'fields', fields };
    if (parts === maxParts) return { kind: 'too_many' };
    const partStart = delimiter.end;
    delimiter = nextDelimiter(body, needle, partStart);
    if (delimiter === null) break;
    const field = readPart(body.subarray(partStart, delimiter.start), options.files);
    if (field === 'malformed') return { kind: 'malformed' };
    if (field !== null) fields.push(field);
  }
  return { kind: 'malformed' };
}

interface Delimiter {
  start: number;
  end: number;
  last: boolean;
}

/** The first one may be at the very start, without a line break before it. */
function firstDelimiter(body: Buffer, needle: Buffer): Delimiter | null {
  const bare = needle.subarray(lineBreak.length);
  if (body.subarray(0, bare.length).equals(bare)) {
    const delimiter = readDelimiterEnd(body, 0, bare.length);
    if (delimiter !== null) return delimiter;
  }
  return nextDelimiter(body, needle, 0);
}

function nextDelimiter(body: Buffer, needle: Buffer, from: number): Delimiter | null {
  for (let start = body.indexOf(needle, from); start !== -1; start = body.indexOf(needle, start + 1)) {
    const delimiter = readDelimiterEnd(body, start, start + needle.length);
    if (delimiter !== null) return delimiter;
  }
  return null;
}

function readDelimiterEnd(body: Buffer, start: number, afterBoundary: number): Delimiter | null {
  let end = afterBoundary;
  const last = body[end] === dash && body[end + 1] === dash;
  if (last) end += 2;
  while (body[end] === 0x20 || body[end] === 0x09) end++;
  if (last && end === body.length) return { start, end, last };
  const endsLine = body[end] === 0x0d && body[end + 1] === 0x0a;
  return endsLine ? { start, end: end + lineBreak.length, last } : null;
}

/** A field. Null for a part without a name, and for a file unless files are requested. */
function readPart(part: Buffer, files: boolean): [string, string] | null | 'malformed' {
  if (part.subarray(0, 2).equals(Buffer.from(lineBreak))) return null;
  const headerEnd = part.indexOf(`${lineBreak}${lineBreak}`);
  if (headerEnd === -1 || headerEnd > maxPartHeaderBytes) return 'malformed';
  const headers = readPartHeaders(part.toString('utf8', 0, headerEnd));
  if (headers === null) return 'malformed';
  const transfer = headers.get('content-transfer-encoding')?.toLowerCase() ?? 'binary';
  if (!['7bit', '8bit', 'binary'].includes(transfer)) return 'malformed';
  const disposition = parseParameterizedHeader(headers.get('content-disposition') ?? '');
  if (disposition === null) return 'malformed';
  const { value, parameters } = disposition;
  const name = parameters.get('name') ?? '';
  if (value !== 'form-data' || name === '') return null;
  if (!files && (parameters.has('filename') || parameters.has('filename*'))) return null;
  return [name, part.toString('utf8', headerEnd + 4)];
}

/** Null unless all lines are `name: value` with each name once. Folded lines are obsolete and refused. */
function readPartHeaders(text: string): ReadonlyMap<string, string> | null {
  const headers = new Map<string, string>();
  for (const line of text.split(lineBreak)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase();
    if (!isHeaderName(name) || headers.has(name)) return null;
    const value = line.slice(colon + 1).trim();
    if (value.includes('\n') || value.includes('\r') || value.includes('\0')) return null;
    headers.set(name, value);
  }
  return headers;
}

const parameter = /[ \t]*;[ \t]*(?:([!#$%&'*+.^_`|~\w-]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*)))?/sy;

interface ParameterizedHeader {
  /** In lower case, without parameters: `multipart/form-data`, `form-data`. */
  value: string;
  /** Names in lower case, quotes and escapes decoded. */
  parameters: ReadonlyMap<string, string>;
}

/**
 * Parses `value; name=text; name="quoted text"`. Null if the text has a remainder or a name twice, because
 * two parsers could then disagree about which one counts.
 */
function parseParameterizedHeader(text: string): ParameterizedHeader | null {
  const header = text.trimEnd();
  const end = header.indexOf(';');
  const value = (end === -1 ? header : header.slice(0, end)).trim().toLowerCase();
  const parameters = new Map<string, string>();
  let position = end === -1 ? header.length : end;
  while (position < header.length) {
    parameter.lastIndex = position;
    const match = parameter.exec(header);
    if (match === null) return null;
    position = parameter.lastIndex;
    const [, name, quoted, plain] = match;
    if (name === undefined) continue;
    if (parameters.has(name.toLowerCase())) return null;
    parameters.set(name.toLowerCase(), quoted?.replace(/\\(.)/gs, '$1') ?? plain ?? '');
  }
  return { value, parameters };
}
