import { attributeText, CLOUD_PREFIX, SPEC_VERSION } from '../../domain/config/cloud-event.ts';
import { type FieldProblem, invalid, invalidFields } from '../../domain/errors.ts';
import { readTime, TIME_HINT } from '../../domain/time.ts';
import { isObject } from '../../platform/json/is-object.ts';
import { compactJson, cutTopLevel } from '../../platform/json/raw-json.ts';
import { isJsonType, jsonPayload } from '../request/body.ts';
import { headerValues, type IngestHeaders } from '../request/ingest-request.ts';

/** A CloudEvent of any form, read and checked. */
export interface CloudEvent {
  /** All but `datacontenttype`, as text. */
  attributes: ReadonlyMap<string, string>;
  /** The bytes stored, signed and sent. */
  payload: Buffer;
  /** Null means JSON. */
  contentType: string | null;
}

const NAME = /^[a-z0-9]+$/;
const NO_NAME = 'is no name of an attribute, which has small letters of a to z and digits only';
const REQUIRED = ['specversion', 'id', 'source', 'type'];
const TIMES = ['time', 'expirytime'];
/** Those that become fields of the event have the limits of these. */
const MOST_CHARS: Readonly<Record<string, number>> = { type: 256, partitionkey: 512 };
const MOST_CHARS_OF_OTHERS = 8_192;
const CONTROL = /\p{Cc}/u;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const NO_DATA = Buffer.from('null');
const OCTETS = 'application/octet-stream';

/** From its JSON: the parsed value, and its text, in which the data is as it was sent. */
export function readStructured(value: unknown, text: string): CloudEvent {
  if (!isObject(value)) throw invalid('', 'must be an object with the attributes of a CloudEvent');
  const { data, data_base64: base64, datacontenttype, ...given } = value;
  const problems: FieldProblem[] = [];
  const attributes = new Map<string, string>();
  for (const [name, attribute] of Object.entries(given)) {
    if (attribute === null) continue;
    if (!NAME.test(name)) problems.push({ field: name, problem: NO_NAME });
    else if (isAttribute(attribute)) attributes.set(name, String(attribute));
    else problems.push({ field: name, problem: 'must be a string, a whole number or a boolean' });
  }
  if (typeof (datacontenttype ?? '') !== 'string')
    problems.push({ field: 'datacontenttype', problem: 'must be a string' });
  refuse([...problems, ...problemsOf(attributes)]);
  const type = mediaType((datacontenttype as string | null) ?? '');
  return { attributes, ...structuredData({ data, base64, text }, type) };
}

/** From the headers of a request and its decoded body. */
export function readBinary(headers: IngestHeaders, body: Buffer): CloudEvent {
  const attributes = new Map<string, string>();
  for (const header of Object.keys(headers)) {
    const name = header.startsWith(CLOUD_PREFIX) ? header.slice(CLOUD_PREFIX.length) : '';
    const [value] = NAME.test(name) ? headerValues(headers, header) : [];
    if (value !== undefined) attributes.set(name, attributeText(value));
  }
  // The data's type is that of the body.
  attributes.delete('datacontenttype');
  refuse(problemsOf(attributes));
  const [type = ''] = headerValues(headers, 'content-type');
  return { attributes, ...dataOf(body, type) };
}

const isAttribute = (value: unknown): value is string | boolean | number =>
  typeof value === 'string' || typeof value === 'boolean' || Number.isInteger(value);

function problemsOf(attributes: ReadonlyMap<string, string>): FieldProblem[] {
  const missing = REQUIRED.filter((name) => (attributes.get(name) ?? '') === '');
  const problems = missing.map((field) => ({ field, problem: 'is required in a CloudEvent' }));
  const version = attributes.get('specversion') || SPEC_VERSION;
  if (version !== SPEC_VERSION)
    problems.push({ field: 'specversion', problem: `must be ${SPEC_VERSION}, not ${version.slice(0, 20)}` });
  if (/\s/.test(attributes.get('source') ?? ''))
    problems.push({ field: 'source', problem: 'must be a URI reference, without spaces' });
  for (const [field, text] of attributes) {
    const most = MOST_CHARS[field] ?? MOST_CHARS_OF_OTHERS;
    if (text.length > most) problems.push({ field, problem: `must have at most ${most} characters` });
    else if (CONTROL.test(text)) problems.push({ field, problem: 'must not have control characters' });
  }
  for (const field of TIMES) {
    const text = attributes.get(field);
    if (text !== undefined && readTime(text) === null) problems.push({ field, problem: TIME_HINT });
  }
  return problems;
}

function refuse(problems: readonly FieldProblem[]): void {
  // An attribute of a wrong kind is also missing: the first problem of a field says it.
  const first = problems.filter(({ field }, n) => problems.findIndex((one) => one.field === field) === n);
  if (first.length > 0) throw invalidFields(first);
}

const mediaType = (type: string): string => type.split(';', 1)[0]?.trim().toLowerCase() ?? '';

function structuredData(
  { data, base64, text }: { data: unknown; base64: unknown; text: string },
  type: string,
): Pick<CloudEvent, 'payload' | 'contentType'> {
  if (base64 !== undefined && base64 !== null) {
    if (data !== undefined) throw invalid('data_base64', 'cannot be given together with data');
    if (typeof base64 !== 'string' || !BASE64.test(base64)) throw invalid('data_base64', 'must be base64');
    return dataOf(Buffer.from(base64, 'base64'), type === '' ? OCTETS : type);
  }
  if (data === undefined || data === null) return { payload: NO_DATA, contentType: null };
  if (isJsonType(type))
    return { payload: Buffer.from(compactJson(cutTopLevel(text, 'data') ?? 'null')), contentType: null };
  if (typeof data !== 'string')
    throw invalid('data', `must be a string, because datacontenttype is ${type.slice(0, 100)}`);
  return { payload: Buffer.from(data), contentType: type };
}

function dataOf(bytes: Buffer, contentType: string): Pick<CloudEvent, 'payload' | 'contentType'> {
  if (bytes.length === 0) return { payload: NO_DATA, contentType: null };
  if (!isJsonType(mediaType(contentType))) return { payload: bytes, contentType };
  const json = jsonPayload(bytes);
  if (json === null) throw invalid('data', 'is not the JSON that its content type says');
  return { payload: Buffer.from(compactJson(json.text)), contentType: null };
}
