import { attributeText, CLOUD_PREFIX } from '../../domain/config/cloud-event.ts';
import { type FieldProblem, invalid } from '../../domain/errors.ts';
import { compactInSlices, compactMember } from '../../platform/json/cut-json.ts';
import { isObject } from '../../platform/json/is-object.ts';
import { excessInSlices, type JsonBounds } from '../../platform/json/json-shape.ts';
import { isJsonType, type JsonPayload, jsonInSlices } from '../request/body.ts';
import { headerValues, type IngestHeaders } from '../request/ingest-request.ts';
import { excessError } from '../request/json-bounds.ts';
import { checkSize, problemsOf, refuse, typeProblems } from './attributes.ts';

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
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const NO_DATA = Buffer.from('null');
const OCTETS = 'application/octet-stream';

/** From its JSON: the parsed value, and its text, in which the data is as it was sent. */
export async function readStructured(value: unknown, text: string, bounds: JsonBounds): Promise<CloudEvent> {
  if (!isObject(value)) throw invalid('', 'must be an object with the attributes of a CloudEvent');
  const { data, data_base64: base64, datacontenttype, ...given } = value;
  const entries = Object.entries(given);
  checkSize(entries);
  const problems: FieldProblem[] = [];
  const attributes = new Map<string, string>();
  for (const [name, attribute] of entries) {
    if (attribute === null) continue;
    if (!NAME.test(name)) problems.push({ field: name, problem: NO_NAME });
    else if (isAttribute(attribute)) attributes.set(name, String(attribute));
    else problems.push({ field: name, problem: 'must be a string, a whole number or a boolean' });
  }
  refuse([...problems, ...typeProblems(datacontenttype), ...problemsOf(attributes)]);
  const type = mediaType((datacontenttype as string | null) ?? '');
  return { attributes, ...(await structuredData({ data, base64, text, bounds }, type)) };
}

/** From the headers of a request and its decoded body. */
export async function readBinary(headers: IngestHeaders, body: Buffer): Promise<CloudEvent> {
  const given = Object.keys(headers).flatMap((header) => {
    const name = header.startsWith(CLOUD_PREFIX) ? header.slice(CLOUD_PREFIX.length) : '';
    const [value] = NAME.test(name) ? headerValues(headers, header) : [];
    return value === undefined ? [] : [[name, value] as const];
  });
  checkSize(given);
  const attributes = new Map(given.map(([name, value]) => [name, attributeText(value)]));
  // The data's type is that of the body.
  attributes.delete('datacontenttype');
  const [type = ''] = headerValues(headers, 'content-type');
  refuse([...typeProblems(type), ...problemsOf(attributes)]);
  const json = isJsonType(mediaType(type)) ? await jsonInSlices(body) : null;
  return { attributes, ...(await dataOf(body, type, json)) };
}

const isAttribute = (value: unknown): value is string | boolean | number =>
  typeof value === 'string' || typeof value === 'boolean' || Number.isInteger(value);

const mediaType = (type: string): string => type.split(';', 1)[0]?.trim().toLowerCase() ?? '';

async function structuredData(
  { data, base64, text, bounds }: { data: unknown; base64: unknown; text: string; bounds: JsonBounds },
  type: string,
): Promise<Pick<CloudEvent, 'payload' | 'contentType'>> {
  if (base64 !== undefined && base64 !== null) {
    if (data !== undefined) throw invalid('data_base64', 'cannot be given together with data');
    if (typeof base64 !== 'string' || !BASE64.test(base64)) throw invalid('data_base64', 'must be base64');
    const bytes = Buffer.from(base64, 'base64');
    const named = type === '' ? OCTETS : type;
    return dataOf(bytes, named, isJsonType(named) ? await boundedJson(bytes, bounds) : null);
  }
  if (data === undefined || data === null) return { payload: NO_DATA, contentType: null };
  if (isJsonType(type)) return { payload: await compactMember(text, 'data'), contentType: null };
  if (typeof data !== 'string')
    throw invalid('data', `must be a string, because datacontenttype is ${type.slice(0, 100)}`);
  return { payload: Buffer.from(data), contentType: type };
}

async function boundedJson(bytes: Buffer, bounds: JsonBounds): Promise<JsonPayload | null> {
  const excess = await excessInSlices(bytes, bounds);
  if (excess !== undefined) throw invalid('data_base64', excessError(excess, bounds).message);
  return jsonInSlices(bytes);
}

/** `json`: that of the bytes, if their type is JSON. */
async function dataOf(
  bytes: Buffer,
  contentType: string,
  json: JsonPayload | null,
): Promise<Pick<CloudEvent, 'payload' | 'contentType'>> {
  if (bytes.length === 0) return { payload: NO_DATA, contentType: null };
  if (!isJsonType(mediaType(contentType))) return { payload: bytes, contentType };
  if (json === null) throw invalid('data', 'is not the JSON that its content type says');
  return { payload: await compactInSlices(json.text), contentType: null };
}
