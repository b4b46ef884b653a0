import { isHeaderName } from '../../domain/http-header.ts';
/**
 * The location of a value in a request, as written in `idempotency_keys` and `event_type_location`:
 *   ("request" | "req") "." ("header" | "query" | "queryparam" | "body") "." selector
 *
 * The middle word is case-insensitive. For a header or query parameter the selector is its name. For the body
 * it is a path of object keys and array indexes separated by dots. A backslash escapes the next character, so
 * that a key may contain a dot. Paths have no wildcards.
 */
import { formFields, type Payload } from '../request/body.ts';
import { headerValues, type IngestRequest } from '../request/ingest-request.ts';
import { type VerifiedSource, verifiesBySignature } from '../verify/compile-verifier.ts';

export type Location =
  | { part: 'header'; name: string }
  | { part: 'query'; name: string }
  | { part: 'body'; path: readonly string[] };

type LocationReading = { ok: true; location: Location } | { ok: false; message: string };

const maxLocationLength = 512;

export function parseLocation(text: string): LocationReading {
  const bad = (message: string): LocationReading => ({
    ok: false,
    message: `the location ${JSON.stringify(text.slice(0, 100))} ${message}`,
  });
  if (text.length > maxLocationLength) return bad(`is longer than ${maxLocationLength} characters`);
  const { words, wildcard } = splitWords(text);
  const [root = '', middle = '', ...selector] = words;
  if (root !== 'request' && root !== 'req') return bad('must begin with "request." or "req."');
  const part = partNames.get(middle.toLowerCase());
  if (part === undefined) return bad('must name "header", "query" or "body" in second place');
  if (selector.length === 0 || selector.includes(''))
    return bad(`must say which value of the ${part} is meant`);
  if (part === 'body') {
    if (wildcard)
      return bad('may not use the wildcards * ? # |; put a backslash before one that is meant literally');
    return { ok: true, location: { part, path: selector } };
  }
  const [name = ''] = selector;
  if (selector.length > 1)
    return bad(`may not have a dot in the name of the ${part}; put a backslash before it`);
  if (part === 'query') return { ok: true, location: { part, name } };
  if (!isHeaderName(name)) return bad('does not name a possible header');
  return { ok: true, location: { part, name: name.toLowerCase() } };
}

const partNames: ReadonlyMap<string, Location['part']> = new Map([
  ['header', 'header'],
  ['query', 'query'],
  ['queryparam', 'query'],
  ['body', 'body'],
]);

function splitWords(text: string): { words: string[]; wildcard: boolean } {
  const words: string[] = [];
  let word = '';
  let wildcard = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i);
    if (char === '\\') word += text.charAt(++i);
    else if (char === '.') {
      words.push(word);
      word = '';
    } else {
      wildcard ||= '*?#|'.includes(char);
      word += char;
    }
  }
  words.push(word);
  return { words, wildcard };
}

/**
 * As `parseLocation`, for a source's event type. A signature covers the body alone, but senders such as
 * GitHub put the type in a header. The query is part of the URL, which anyone may write, so it is not
 * allowed.
 */
export function parseEventTypeLocation(text: string, source: VerifiedSource): LocationReading {
  const reading = parseLocation(text);
  if (!reading.ok || reading.location.part !== 'query' || !verifiesBySignature(source)) return reading;
  const message =
    'the event type must come from the body or a header, since the signature of this source does not cover the query';
  return { ok: false, message };
}

/** The value as text. Missing, null and empty all give the empty text. */
export function extractValue(location: Location, request: IngestRequest, payload: Payload): string {
  const value = lookUp(location, request, payload);
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : scalarText(value);
}

export type EventTypeReading = { ok: true; eventType: string } | { ok: false; message: string };

const maxEventTypeLength = 1024;

export function extractEventType(
  location: Location,
  request: IngestRequest,
  payload: Payload,
): EventTypeReading {
  const value = lookUp(location, request, payload);
  if (typeof value === 'object' && value !== null) {
    return { ok: false, message: 'the event type of the request is not a string, number or boolean' };
  }
  const eventType = scalarText(value).trim();
  if (eventType === '') return { ok: false, message: 'the request has no event type where one is expected' };
  if (eventType.length > maxEventTypeLength) {
    return {
      ok: false,
      message: `the event type of the request is longer than ${maxEventTypeLength} characters`,
    };
  }
  return { ok: true, eventType };
}

function scalarText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : '';
}

function lookUp(location: Location, request: IngestRequest, payload: Payload): unknown {
  if (location.part === 'header') return headerValues(request.headers, location.name)[0];
  if (location.part === 'body') return lookUpInPayload(location.path, payload);
  for (const [name, value] of formFields(request.rawQuery)) if (name === location.name) return value;
  return undefined;
}

/**
 * Two ids beyond 2^53 may be the same double. If they counted as the same event, the second would be dropped.
 * So a number that may have been rounded, alone or within an object, is returned as the text that was sent.
 */
function lookUpInPayload(path: readonly string[], payload: Payload): unknown {
  if (payload.kind === 'opaque') return undefined;
  const value = walk(payload.value, path);
  const exact = typeof value === 'number' ? Number.isSafeInteger(value) : typeof value !== 'object';
  if (exact || value === null) return value;
  const keepText = (_key: string, parsed: unknown, context?: { source?: string }): unknown =>
    typeof parsed === 'number' ? (context?.source ?? parsed) : parsed;
  return walk(JSON.parse(payload.text, keepText), path);
}

/** Own properties only, so that no path reaches inherited ones. */
function walk(root: unknown, path: readonly string[]): unknown {
  let value = root;
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    if (Array.isArray(value) && !/^(0|[1-9]\d*)$/.test(key)) return undefined;
    if (!Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}
