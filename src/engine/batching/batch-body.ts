import { type BatchForm, wantsBatches } from '../../domain/config/batch.ts';
import type { LeasedDelivery } from '../../domain/delivery.ts';
import type { Sealer } from '../../platform/sealer.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import { openHeaders } from '../../store/database/stored-headers.ts';
import { itemOf, LINES, lineOf } from '../attempt/content-form.ts';
import { encodeBody } from '../attempt/make-body.ts';

/**
 * The body of a batch: its deliveries in the order of their places in ordering keys, those without a place first, and then
 * of their ids. All of it is stored before the first attempt, so every attempt has the same bytes, as long as the endpoint
 * asks for the same form.
 */
export interface BatchBody {
  body: Buffer;
  contentType: string;
}

const CONTENT_TYPES: Record<BatchForm, string> = {
  json: 'application/json',
  cloudevents: 'application/cloudevents-batch+json; charset=utf-8',
  lines: LINES,
};

const JSON_TYPE = 'application/json';

export function batchBody(
  members: readonly LeasedDelivery[],
  row: EndpointRow,
  { sealer }: { sealer: Sealer },
): BatchBody {
  const form = formOf(row);
  const items = members.map((member) => {
    const isCloud = row.cloudevents !== '';
    const headers = isCloud ? openHeaders(sealer, member.headers, member.eventId).headers : {};
    return itemOf({ ...encodeBody(member, null, JSON_TYPE), headers }, row, member);
  });
  const contentType = CONTENT_TYPES[form];
  if (form === 'lines') return { contentType, body: Buffer.concat(items.map(lineOf)) };
  const parts = items.flatMap((item, index) => (index === 0 ? [item] : [COMMA, item]));
  return { contentType, body: Buffer.concat([OPEN, ...parts, CLOSE]) };
}

const [OPEN, CLOSE, COMMA] = ['[', ']', ','].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer];

function formOf(row: EndpointRow): BatchForm {
  if (wantsBatches(row)) return 'lines';
  return row.cloudevents === '' ? 'json' : 'cloudevents';
}
