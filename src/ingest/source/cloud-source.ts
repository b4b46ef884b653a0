import { CLOUD_PREFIX } from '../../domain/config/cloud-event.ts';
import { AppError, invalidFields } from '../../domain/errors.ts';
import { readTime } from '../../domain/time.ts';
import type { JsonBounds } from '../../platform/json/json-shape.ts';
import type { SourceRow } from '../../store/config/sources.ts';
import { parseTrace, type TraceContext } from '../../tracing/trace-context.ts';
import { CloudBatch } from '../cloudevents/cloud-batch.ts';
import { type CloudEvent, readBinary, readStructured } from '../cloudevents/cloud-event.ts';
import { cloudForm } from '../cloudevents/cloud-form.ts';
import { cloudHeaders } from '../cloudevents/event-fields.ts';
import { isEventGrid, ofEventGrid } from '../cloudevents/event-grid.ts';
import { jsonInSlices, type Payload, readDecoded } from '../request/body.ts';
import type { IngestRequest } from '../request/ingest-request.ts';
import { idempotencyChecksum } from './idempotency.ts';

/** CloudEvents at an ingest URL. What a source says about event types and idempotency holds for them too. */
interface CloudRequestEvent {
  cloud: CloudEvent;
  /** The event as it came, for the locations of the source. */
  payload: Payload;
  /** Tells it from others, instead of its `source` and `id`. */
  identity?: string;
}

/**
 * Whether a request carries CloudEvents, or events that are read as such. Headers that no signature covers may be anybody's:
 * with them a signed body would become another event.
 */
export function hasCloudEvents(
  headers: IngestRequest['headers'],
  row: Pick<SourceRow, 'cloudevents' | 'unsigned_cloudevents'>,
  isSigned: boolean,
): boolean {
  if (!row.cloudevents) return false;
  const form = cloudForm(headers);
  if (form === 'binary') return !isSigned || row.unsigned_cloudevents;
  return form !== null || isEventGrid(headers);
}

/** The events of a request, whose body is decoded. In the binary form a signature covers none of the attributes. */
export async function cloudEventsOf(
  { headers, body: signed }: IngestRequest,
  body: Buffer,
  { isSigned, jsonBounds }: { isSigned: boolean; jsonBounds: JsonBounds },
): Promise<CloudRequestEvent[]> {
  const form = cloudForm(headers);
  if (form === 'binary') {
    const payload = (await readDecoded(body, headers, body.length)) as Payload;
    const identity = isSigned && { identity: signed.toString('latin1') };
    return [{ cloud: await readBinary(headers, body), payload, ...identity }];
  }
  const json = await jsonInSlices(body);
  if (json === null) throw new AppError('bad_json', { detail: 'it is not the JSON of CloudEvents' });
  if (form === 'structured')
    return [{ cloud: await readStructured(json.value, json.text, jsonBounds), payload: json }];
  const asCloudEvent = form === null ? ofEventGrid : (value: unknown) => value;
  const events: CloudRequestEvent[] = [];
  for (const [n, { value, text }] of new CloudBatch(json.value, json.text).items.entries()) {
    const read = async () => readStructured(asCloudEvent(value), text, jsonBounds);
    events.push(await itemOf({ kind: 'json', value, text }, n, read));
  }
  return events;
}

async function itemOf(
  payload: Extract<Payload, { kind: 'json' }>,
  index: number,
  read: () => Promise<CloudEvent>,
): Promise<CloudRequestEvent> {
  try {
    return { cloud: await read(), payload };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw invalidFields(
      error.fields.map(({ field, problem }) => ({
        field: field === '' ? `events[${index}]` : `events[${index}].${field}`,
        problem,
      })),
    );
  }
}

interface Parts {
  eventType: string;
  payload: Buffer;
  contentType: string | null;
  headers: Readonly<Record<string, readonly string[]>>;
  forwardedHeaders: Readonly<Record<string, readonly string[]>> | null;
  idempotencyKey: string | null;
  acknowledgedAtMs: number | null;
}

/** An event of a source with the parts that its CloudEvent has. Deliveries carry its attributes. */
export function cloudParts<Event extends Parts>(
  row: SourceRow,
  event: Event,
  { cloud: { attributes, payload, contentType }, identity }: CloudRequestEvent,
): Event & { orderingKey: string | null; expires_at: string | undefined; trace: TraceContext | null } {
  const of = (name: string) => attributes.get(name) ?? '';
  return {
    ...event,
    payload,
    contentType,
    eventType: row.event_type_location === '' ? of('type') : event.eventType,
    idempotencyKey:
      row.idempotency_keys.length === 0
        ? idempotencyChecksum(row.id, identity === undefined ? [of('source'), of('id')] : [identity])
        : event.idempotencyKey,
    headers: withAttributes(event.headers, attributes),
    forwardedHeaders: withAttributes(event.forwardedHeaders ?? event.headers, attributes),
    acknowledgedAtMs: readTime(of('time')),
    orderingKey: of('partitionkey') || null,
    expires_at: attributes.get('expirytime'),
    trace: parseTrace(of('traceparent'), of('tracestate')),
  };
}

function withAttributes(
  headers: Parts['headers'],
  attributes: CloudEvent['attributes'],
): Readonly<Record<string, readonly string[]>> {
  const others = Object.entries(headers).filter(([name]) => !name.toLowerCase().startsWith(CLOUD_PREFIX));
  const own = Object.entries(cloudHeaders(attributes)).map(([name, value]) => [name, [value]] as const);
  return Object.fromEntries([...others, ...own]);
}
