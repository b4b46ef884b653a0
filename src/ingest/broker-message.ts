import { isUtf8 } from 'node:buffer';
import { AppError } from '../domain/errors.ts';
import { isConnectionHeader, isHeaderName, isHeaderValue } from '../domain/http-header.ts';
import { readTime } from '../domain/time.ts';
import { compactMember } from '../platform/json/cut-json.ts';
import { isObject, isTexts } from '../platform/json/is-object.ts';
import { excessOf, type JsonBounds } from '../platform/json/json-shape.ts';
import type { Sealer } from '../platform/sealer.ts';
import type { EventTarget, ProjectRouting } from '../routing/project-routing.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { HOPS_HEADER, readHops } from '../signing/hops.ts';
import type { SourceRow } from '../store/config/sources.ts';
import { parseTrace, type TraceContext } from '../tracing/trace-context.ts';
import type { CloudEvent } from './cloudevents/cloud-event.ts';
import { cloudMessage, withoutAttributes } from './cloudevents/cloud-message.ts';
import { fieldsOf } from './cloudevents/event-fields.ts';
import {
  type EventTimes,
  type ExpiryName,
  eventTimes,
  type GivenTimes,
  MAX_SECONDS,
  retentionOf,
} from './event-times.ts';
import type { NewEvent } from './new-event.ts';
import { jsonInSlices } from './request/body.ts';
import { excessError } from './request/json-bounds.ts';
import { applySourceFunctions } from './source-functions.ts';

/**
 * A message of a broker is a JSON object with `event_type`, `data` and where it goes, as Convoy reads it. The
 * source's functions run first, on the whole message and its headers, so that other JSON can be turned into that form.
 *
 * A message that can never be an event becomes one that failed: type `broker.unreadable`, with the reason and the bytes
 * as they came. It can be replayed: then it is read again, by the functions as they are at that time.
 */
export interface BrokerMessage {
  body: Buffer;
  /** Headers or attributes. Names are compared in lower case. */
  headers: Readonly<Record<string, string>>;
  /** As the broker or the sender names it; null: not at all. */
  id: string | null;
}

export interface MessageReader {
  sandbox: Sandbox;
  source: SourceRow;
  routing: ProjectRouting;
  /** The config as it is now. */
  refresh(): Promise<ProjectRouting>;
  /** Randomness and clock of the functions. */
  seed: string;
  nowMs: number;
  /** That of the instance. */
  retentionMs: number;
  jsonBounds: JsonBounds;
  /** Reads the count of hops: an endpoint may send to the broker of a source of ours. */
  sealer: Sealer;
}

export const UNREADABLE = 'broker.unreadable';
const TYPE_HEADER = 'x-convoy-message-type';
const ID_HEADER = 'x-broker-message-id';
const MAX_KEPT_BYTES = 65_536;
const MAX_EVENT_TYPE_CHARS = 256;

export async function readBrokerMessage(reader: MessageReader, message: BrokerMessage): Promise<NewEvent> {
  const { source, routing } = reader;
  const hops = readHops(reader.sealer, headerOf(message, HOPS_HEADER));
  const raw = { ...rawEvent(source, message), hops };
  const limit = routing.project.config.max_payload_read_size;
  if (message.body.length > limit)
    return unreadable(raw, `The message is larger than the ${limit} bytes that the project takes.`);
  const excess = excessOf(message.body, reader.jsonBounds);
  if (excess !== undefined) return unreadable(raw, excessError(excess, reader.jsonBounds).message);
  const { sandbox, seed, nowMs } = reader;
  const event = { ...raw, contentType: await wholeType(raw) };
  const made = await applySourceFunctions(sandbox, source, { event, seed, nowMs });
  if (made.functionFailure !== null) return unreadable(raw, made.functionFailure);
  // The headers of a CloudEvent say what its data is, which may look like the usual form.
  const cloud = source.cloudevents ? await cloudMessage(made.headers, made.payload, reader.jsonBounds) : null;
  const envelope = cloud === null ? await readEnvelope(made.payload) : cloudEnvelope(cloud);
  if (typeof envelope === 'string') return unreadable(raw, envelope);
  const headers = cloud === null ? made.headers : withoutAttributes(made.headers);
  return fromEnvelope(reader, { raw, headers }, envelope);
}

/** The event of a message. `raw` is as it came, `given` are the headers that its functions left. */
async function fromEnvelope(
  reader: MessageReader,
  { raw, headers: given }: { raw: NewEvent; headers: NewEvent['headers'] },
  envelope: Envelope,
): Promise<NewEvent> {
  // Headers of the broker go before those of the envelope. convoy-go has the type of a message in the latter.
  const headers = { ...lowerCaseNames(customHeaders(envelope)), ...lowerCaseNames(given) };
  const target = await readTarget(envelope, headers, reader);
  if (typeof target === 'string') return unreadable(raw, target);
  const times = readTimes(envelope, reader);
  if (typeof times === 'string') return unreadable(raw, times);
  return {
    ...raw,
    target,
    eventType: envelope.event_type,
    payload: envelope.data,
    contentType: envelope.contentType ?? null,
    headers,
    forwardedHeaders: forwardedHeaders(headers),
    idempotencyKey: envelope.idempotency_key || null,
    acknowledgedAtMs: envelope.acknowledgedAtMs ?? null,
    orderingKey: envelope.orderingKey ?? null,
    trace: envelope.trace ?? null,
    times,
  };
}

/** A CloudEvent goes to all subscribers, unless its attributes or the type of the message say otherwise. */
function cloudEnvelope(cloud: CloudEvent | string): Envelope | string {
  if (typeof cloud === 'string') return cloud;
  const { acknowledged_at, ordering_key, ...fields } = fieldsOf(cloud);
  const [endpointId, ownerId] = ['endpointid', 'ownerid'].map((name) => cloud.attributes.get(name) ?? '');
  return {
    ...fields,
    endpoint_id: endpointId ?? '',
    owner_id: ownerId ?? '',
    usual: endpointId ? 'single' : ownerId ? 'fanout' : 'broadcast',
    data: cloud.payload,
    contentType: cloud.contentType,
    acknowledgedAtMs: acknowledged_at === undefined ? null : readTime(acknowledged_at),
    orderingKey: ordering_key ?? null,
    expiryName: 'expirytime',
    trace: parseTrace(cloud.attributes.get('traceparent'), cloud.attributes.get('tracestate')),
  };
}

/** Reads the message of a failed event that is replayed. Null: its message was not kept whole. */
export async function readAgain(reader: MessageReader, event: NewEvent): Promise<NewEvent | null> {
  if (event.payload.length >= MAX_KEPT_BYTES) return null;
  const headers = Object.entries(event.headers).map(([name, values]) => [name, values.join(', ')]);
  return readBrokerMessage(reader, { body: event.payload, headers: Object.fromEntries(headers), id: null });
}

/** The failed event that stands for a message which cannot be an event. */
export function unreadableMessage(source: SourceRow, message: BrokerMessage, reason: string): NewEvent {
  return unreadable(rawEvent(source, message), reason);
}

function headerOf({ headers }: BrokerMessage, wanted: string): string | undefined {
  const name = wanted.toLowerCase();
  return Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1];
}

/** The message as it came, as its functions get it. */
function rawEvent(source: SourceRow, { body, headers, id }: BrokerMessage): NewEvent {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value]] as const);
  return {
    projectId: source.project_id,
    target: { kind: 'subscribers' },
    eventType: UNREADABLE,
    payload: body,
    contentType: contentType(body.subarray(0, MAX_KEPT_BYTES)),
    headers: Object.fromEntries([...named, ...(id === null ? [] : [[ID_HEADER, [id]] as const])]),
    forwardedHeaders: null,
    credentials: [],
    trace: null,
    hops: 0,
    functionFailure: null,
    idempotencyKey: null,
    sourceId: source.id,
    appId: null,
    acknowledgedAtMs: null,
    urlQueryParams: null,
    urlPath: null,
    metadata: null,
  };
}

/** A message that is cut has MAX_KEPT_BYTES. So one of just that size counts as cut, and cannot be replayed. */
function unreadable(raw: NewEvent, reason: string): NewEvent {
  const { length } = raw.payload;
  if (length < MAX_KEPT_BYTES) return { ...raw, functionFailure: reason };
  const payload = Buffer.from(raw.payload.subarray(0, MAX_KEPT_BYTES));
  const functionFailure = `${reason} The message has ${length} bytes.`;
  return { ...raw, payload, contentType: contentType(payload), functionFailure };
}

/** The content type of a message, of which `rawEvent` looked at the beginning. */
const wholeType = async ({ payload, contentType }: NewEvent): Promise<string | null> =>
  payload.length <= MAX_KEPT_BYTES || (await jsonInSlices(payload)) === null ? contentType : null;

/** Null where it is JSON. */
function contentType(body: Buffer): string | null {
  if (!isUtf8(body)) return 'application/octet-stream';
  try {
    JSON.parse(body.toString());
    return null;
  } catch {
    return 'text/plain';
  }
}

interface Envelope extends GivenTimes {
  endpoint_id?: string;
  owner_id?: string;
  event_type: string;
  data: Buffer;
  custom_headers?: Record<string, string>;
  idempotency_key?: string;
  /** The message type, if no header names it. */
  usual?: 'single' | 'fanout' | 'broadcast';
  /** These are of CloudEvents. */
  contentType?: string | null;
  acknowledgedAtMs?: number | null;
  orderingKey?: string | null;
  trace?: TraceContext | null;
  expiryName?: ExpiryName;
}

const TEXTS = [
  'endpoint_id',
  'owner_id',
  'event_type',
  'idempotency_key',
  'ordering_key',
  'deliver_at',
  'expires_at',
];
const MAX_ORDERING_KEY_CHARS = 512;
const SECONDS = { delay_seconds: 0, ttl_seconds: 1 };
const FIELDS = [...TEXTS, ...Object.keys(SECONDS), 'data', 'custom_headers'];

/** Why a field cannot be used. Undefined: each can. */
function wrongField(fields: Record<string, unknown>): string | undefined {
  const wrong = TEXTS.find((name) => (fields[name] ?? '') !== '' && typeof fields[name] !== 'string');
  if (wrong !== undefined) return `The field ${wrong} of the message must be a string.`;
  for (const [name, least] of Object.entries(SECONDS))
    if (fields[name] !== undefined && !isSeconds(fields[name], least))
      return `The field ${name} of the message must be a whole number of seconds from ${least} up.`;
  const { ordering_key: key } = fields;
  if (typeof key !== 'string') return undefined;
  if (key.length > MAX_ORDERING_KEY_CHARS)
    return `The ordering_key of the message is longer than ${MAX_ORDERING_KEY_CHARS} characters.`;
  return key.includes('\0') ? 'The ordering_key of the message has a zero character.' : undefined;
}

/** The envelope, or why there is none. */
async function readEnvelope(payload: Buffer): Promise<Envelope | string> {
  const json = await jsonInSlices(payload);
  if (json === null) return 'The message is not JSON.';
  const { value: fields, text } = json;
  if (!isObject(fields)) return 'The message is not a JSON object.';
  const unknown = Object.keys(fields).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) return `The message has an unknown field: ${unknown.slice(0, 100)}.`;
  const wrong = wrongField(fields);
  if (wrong !== undefined) return wrong;
  const { event_type: type, custom_headers: headers, ordering_key: key, ...others } = fields;
  const orderingKey = typeof key === 'string' && key !== '' ? key : null;
  if (typeof type !== 'string' || type === '') return 'The message has no event_type.';
  if (type.length > MAX_EVENT_TYPE_CHARS)
    return `The event_type of the message is longer than ${MAX_EVENT_TYPE_CHARS} characters.`;
  if (!('data' in fields)) return 'The message has no data.';
  if (!isTexts(headers ?? {})) return 'The field custom_headers of the message must be an object of strings.';
  const data = await compactMember(text, 'data');
  return {
    ...others,
    event_type: type,
    ...(headers !== undefined && { custom_headers: headers as Record<string, string> }),
    orderingKey,
    data,
  };
}

const isSeconds = (value: unknown, least: number): boolean =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= MAX_SECONDS;

/** When it is delivered and until when, or why that cannot be. */
function readTimes(envelope: Envelope, { routing, nowMs, retentionMs }: MessageReader): EventTimes | string {
  // Empty text is not given, as in the other fields.
  const given = { ...envelope };
  if (given.deliver_at === '') delete given.deliver_at;
  if (given.expires_at === '') delete given.expires_at;
  try {
    const expiryName = envelope.expiryName ?? 'expires_at';
    const kept = retentionOf(routing.project.config, retentionMs);
    return eventTimes(given, { nowMs, retentionMs: kept, expiryName });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return `The message cannot be delivered at its time: ${error.message}.`;
  }
}

/** Where it goes, or why nowhere. */
async function readTarget(
  { endpoint_id: endpointId = '', owner_id: ownerId = '', usual: given }: Envelope,
  headers: NewEvent['headers'],
  { routing, refresh, source }: MessageReader,
): Promise<EventTarget | string> {
  // A row of a database and a schedule name no endpoint.
  const usual = given ?? (source.type === 'pub_sub' ? 'single' : 'broadcast');
  const type = headers[TYPE_HEADER]?.[0] || usual;
  switch (type) {
    case 'single':
      if (endpointId === '') return 'The message has no endpoint_id, which its message type, single, needs.';
      // It may have been created a moment ago, by another node.
      if (!routing.endpoints.has(endpointId) && !(await refresh()).endpoints.has(endpointId))
        return `No endpoint has the id ${endpointId.slice(0, 100)}.`;
      return { kind: 'endpoints', endpointIds: [endpointId] };
    case 'fanout':
      if (ownerId === '') return 'The message has no owner_id, which its message type, fanout, needs.';
      return { kind: 'owner', ownerId };
    case 'broadcast':
      return { kind: 'broadcast' };
    default:
      return `The header ${TYPE_HEADER} must be single, fanout or broadcast.`;
  }
}

const customHeaders = ({ custom_headers: given = {} }: Envelope): NewEvent['headers'] =>
  Object.fromEntries(Object.entries(given).map(([name, value]) => [name, [value]]));

const lowerCaseNames = (headers: NewEvent['headers']): NewEvent['headers'] =>
  Object.fromEntries(Object.entries(headers).map(([name, values]) => [name.toLowerCase(), values]));

/** Headers of brokers are free text; a delivery carries those that can be headers of a request. Null: all of them. */
function forwardedHeaders(headers: NewEvent['headers']): NewEvent['forwardedHeaders'] {
  const entries = Object.entries(headers);
  const sent = entries.filter(
    ([name, values]) => isHeaderName(name) && !isConnectionHeader(name) && values.every(isHeaderValue),
  );
  return sent.length === entries.length ? null : Object.fromEntries(sent);
}
