import { isUtf8 } from 'node:buffer';
import { wantsBatches } from '../../domain/config/batch.ts';
import {
  attributeHeader,
  attributeText,
  CLOUD_PREFIX,
  SPEC_VERSION,
} from '../../domain/config/cloud-event.ts';
import type { LeasedDelivery } from '../../domain/delivery.ts';
import { idTime } from '../../domain/ids.ts';
import { formatTime } from '../../domain/time.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import { webhookId } from './build-request.ts';
import { encodeBody } from './make-body.ts';

/** The content of a request, before it is signed. */
interface Content {
  body: Buffer;
  /** Null means JSON. */
  contentType: string | null;
  /** The headers of the event, decrypted. */
  headers: Readonly<Record<string, readonly string[]>>;
}

type Subject = Pick<LeasedDelivery, 'projectId' | 'eventId' | 'eventType' | 'sourceId' | 'acknowledgedAtMs'>;

type Named = Pick<LeasedDelivery, 'id' | 'isReplay'>;

const STRUCTURED = 'application/cloudevents+json; charset=utf-8';
const IS_JSON = /^[^/]+\/(.+\+)?json\s*(;|$)/i;

const PLAIN = 'application/json';
export const LINES = 'application/x-ndjson';

/** The content of a request with one delivery, as its endpoint asks for it. An object store gets a line. */
export function contentOf(
  delivery: Subject & Named & Pick<LeasedDelivery, 'body' | 'hasOwnBody' | 'contentType'>,
  { made, headers }: { made: Buffer | null } & Pick<Content, 'headers'>,
  row: EndpointRow,
): Content {
  const content = { ...encodeBody(delivery, made, row.content_type), headers };
  if (!wantsBatches(row)) return cloudContent(content, row, delivery);
  const json = { ...encodeBody(delivery, made, PLAIN), headers };
  return { body: lineOf(itemOf(json, row, delivery)), contentType: LINES, headers: {} };
}

/** A delivery among others, as JSON. It is copied as it is: its number texts and the order of its keys stay. */
export function itemOf(content: Content, row: EndpointRow, subject: Subject & Named): Buffer {
  if (row.cloudevents !== '') return cloudContent(content, { cloudevents: 'structured' }, subject).body;
  const { eventId, eventType: type } = subject;
  const about = { id: webhookId(subject, row), type, timestamp: formatTime(idTime(eventId)) };
  return withData(about, content, isUtf8(content.body));
}

/** Line breaks in JSON are white space: in its texts they are escaped. */
export function lineOf(item: Buffer): Buffer {
  const line = Buffer.concat([item, Buffer.from('\n')]);
  for (let at = 0; at < item.length; at += 1) if (line[at] === 0x0a || line[at] === 0x0d) line[at] = 0x20;
  return line;
}

/** The content in the form of CloudEvents that the endpoint asks for. Without one, it stays as it is. */
export function cloudContent(
  content: Content,
  { cloudevents: form }: Pick<EndpointRow, 'cloudevents'>,
  subject: Subject,
): Content {
  if (form === '') return content;
  const attributes = attributesOf(content.headers, subject);
  const others = Object.entries(content.headers).filter(([name]) => !isAttribute(name));
  if (form === 'structured')
    return {
      body: structuredBody(content, attributes),
      contentType: STRUCTURED,
      headers: Object.fromEntries(others),
    };
  const own = [...attributes].map(
    ([name, value]) => [`${CLOUD_PREFIX}${name}`, [attributeHeader(value)]] as const,
  );
  return { ...content, headers: Object.fromEntries([...own, ...others]) };
}

const isAttribute = (header: string): boolean => header.toLowerCase().startsWith(CLOUD_PREFIX);

/** The attributes that the event came with. An event that came otherwise gets the required ones, and its time. */
function attributesOf(headers: Content['headers'], subject: Subject): ReadonlyMap<string, string> {
  const { projectId, eventId, eventType, sourceId, acknowledgedAtMs } = subject;
  const given = Object.entries(headers).flatMap(([name, [value = '']]) =>
    isAttribute(name) ? [[name.slice(CLOUD_PREFIX.length).toLowerCase(), attributeText(value)] as const] : [],
  );
  const known = new Map(given);
  if (['specversion', 'id', 'source', 'type'].every((name) => (known.get(name) ?? '') !== '')) return known;
  return new Map([
    ...given,
    ['specversion', SPEC_VERSION],
    ['id', eventId],
    ['source', sourceId === null ? `/projects/${projectId}` : `/projects/${projectId}/sources/${sourceId}`],
    ['type', eventType],
    ['time', formatTime(acknowledgedAtMs)],
  ]);
}

function structuredBody(content: Content, attributes: ReadonlyMap<string, string>): Buffer {
  const type = content.contentType ?? PLAIN;
  const isText = isUtf8(content.body) && !IS_JSON.test(type);
  return withData({ ...Object.fromEntries(attributes), datacontenttype: type }, content, isText);
}

/** JSON goes in as the bytes that it is, other text as a string, and anything else in base64. */
function withData(about: object, { body, contentType }: Content, isText: boolean): Buffer {
  const opening = JSON.stringify(about).slice(0, -1);
  if (contentType === null) return Buffer.concat([Buffer.from(`${opening},"data":`), body, Buffer.from('}')]);
  const data = isText
    ? `"data":${JSON.stringify(body.toString())}`
    : `"data_base64":"${body.toString('base64')}"`;
  return Buffer.from(`${opening},${data}}`);
}
