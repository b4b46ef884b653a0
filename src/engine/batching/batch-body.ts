import { isUtf8 } from 'node:buffer';
import { type BatchForm, wantsBatches } from '../../domain/config/batch.ts';
import type { LeasedDelivery } from '../../domain/delivery.ts';
import { idTime } from '../../domain/ids.ts';
import { formatTime } from '../../domain/time.ts';
import type { Sealer } from '../../platform/sealer.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import { openHeaders } from '../../store/database/stored-headers.ts';
import { webhookId } from '../attempt/build-request.ts';
import { cloudContent } from '../attempt/cloud-form.ts';
import { encodeBody } from '../attempt/make-body.ts';

/**
 * The body of a batch: its deliveries in the order of their ids. All of it is stored before the first attempt, so every
 * attempt has the same bytes.
 */
export interface BatchBody {
  body: Buffer;
  contentType: string;
}

const CONTENT_TYPES: Record<BatchForm, string> = {
  json: 'application/json',
  cloudevents: 'application/cloudevents-batch+json; charset=utf-8',
  lines: 'application/x-ndjson',
};

const JSON_TYPE = 'application/json';

export function batchBody(
  members: readonly LeasedDelivery[],
  row: EndpointRow,
  { sealer }: { sealer: Sealer },
): BatchBody {
  const form = formOf(row);
  const items = members.map((member) =>
    form === 'cloudevents' ? cloudEvent(member, sealer) : plainItem(member, row),
  );
  const contentType = CONTENT_TYPES[form];
  if (form === 'lines')
    return { contentType, body: Buffer.concat(items.flatMap((item) => [oneLine(item), NEWLINE])) };
  const parts = items.flatMap((item, index) => (index === 0 ? [item] : [COMMA, item]));
  return { contentType, body: Buffer.concat([OPEN, ...parts, CLOSE]) };
}

const [OPEN, CLOSE, COMMA, NEWLINE] = ['[', ']', ',', '\n'].map((text) => Buffer.from(text)) as [
  Buffer,
  Buffer,
  Buffer,
  Buffer,
];

function formOf(row: EndpointRow): BatchForm {
  if (wantsBatches(row)) return 'lines';
  return row.cloudevents === '' ? 'json' : 'cloudevents';
}

/** JSON is copied as it is: its number texts and the order of its keys stay. Other content is text, or base64. */
function plainItem(member: LeasedDelivery, row: EndpointRow): Buffer {
  const { body, contentType } = encodeBody(member, null, JSON_TYPE);
  const about = {
    id: webhookId(member, row),
    type: member.eventType,
    timestamp: formatTime(idTime(member.eventId)),
  };
  const opening = JSON.stringify(about).slice(0, -1);
  if (contentType === null) return Buffer.concat([Buffer.from(`${opening},"data":`), body, Buffer.from('}')]);
  const data = isUtf8(body)
    ? `"data":${JSON.stringify(body.toString())}`
    : `"data_base64":"${body.toString('base64')}"`;
  return Buffer.from(`${opening},${data}}`);
}

function cloudEvent(member: LeasedDelivery, sealer: Sealer): Buffer {
  const { headers } = openHeaders(sealer, member.headers, member.eventId);
  const content = { ...encodeBody(member, null, JSON_TYPE), headers };
  return cloudContent(content, { cloudevents: 'structured' }, member).body;
}

/** Line breaks in JSON are white space: in its texts they are escaped. */
function oneLine(item: Buffer): Buffer {
  if (!item.includes('\n') && !item.includes('\r')) return item;
  return Buffer.from(item.map((byte) => (byte === 0x0a || byte === 0x0d ? 0x20 : byte)));
}
