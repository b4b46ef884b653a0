import { isUtf8 } from 'node:buffer';
import {
  attributeHeader,
  attributeText,
  CLOUD_PREFIX,
  SPEC_VERSION,
} from '../../domain/config/cloud-event.ts';
import type { LeasedDelivery } from '../../domain/delivery.ts';
import { formatTime } from '../../domain/time.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';

/** The content of a request, before it is signed. */
interface Content {
  body: Buffer;
  /** Null means JSON. */
  contentType: string | null;
  /** Those of the event, decrypted. */
  headers: Readonly<Record<string, readonly string[]>>;
}

type Subject = Pick<LeasedDelivery, 'projectId' | 'eventId' | 'eventType' | 'sourceId' | 'acknowledgedAtMs'>;

const STRUCTURED = 'application/cloudevents+json; charset=utf-8';
const JSON_TYPE = /^[^/]+\/(.+\+)?json\s*(;|$)/i;

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

/** Those that the event came with. One that came otherwise gets the required ones, and its time. */
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

/** JSON goes in as the bytes that it is, other text as a string, and anything else in base64. */
function structuredBody({ body, contentType }: Content, attributes: ReadonlyMap<string, string>): Buffer {
  const type = contentType ?? 'application/json';
  const opening = JSON.stringify({ ...Object.fromEntries(attributes), datacontenttype: type }).slice(0, -1);
  if (contentType === null) return Buffer.concat([Buffer.from(`${opening},"data":`), body, Buffer.from('}')]);
  const isText = isUtf8(body) && !JSON_TYPE.test(type);
  const data = isText
    ? `"data":${JSON.stringify(body.toString())}`
    : `"data_base64":"${body.toString('base64')}"`;
  return Buffer.from(`${opening},${data}}`);
}
