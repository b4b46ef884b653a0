import type { FastifyRequest } from 'fastify';
import { invalid } from '../../domain/errors.ts';
import { queryValue } from '../../domain/pagination.ts';
import { CloudBatch } from '../../ingest/cloudevents/cloud-batch.ts';
import { type CloudEvent, readBinary, readStructured } from '../../ingest/cloudevents/cloud-event.ts';
import type { CloudForm } from '../../ingest/cloudevents/cloud-form.ts';
import { fieldsOf } from '../../ingest/cloudevents/event-fields.ts';
import type { JsonBounds } from '../../platform/json/json-shape.ts';
import { Type } from '../../platform/type.ts';
import type { GivenJson } from '../http/body/read-body.ts';
import type { Call } from '../http/call.ts';
import type { EventKind } from './batch-schema.ts';
import type { CheckedEvent, eventChecker } from './check-event.ts';
import type { BatchItem } from './send-batch.ts';

/**
 * CloudEvents as the bodies of the calls that send one event. Their attributes become the fields of the call. The field that
 * says where the event goes is no attribute: it is a parameter of the query, or an extension of each event.
 */
type Query = Call<unknown>['query'];

/** The field, and the extension attribute, whose name has no underscore. */
const targetFields = {
  direct: { field: 'endpoint_id', attribute: 'endpointid' },
  fanout: { field: 'owner_id', attribute: 'ownerid' },
  dynamic: { field: 'url', attribute: 'url' },
  broadcast: null,
} as const satisfies Record<EventKind, { field: string; attribute: string } | null>;

/** The parameter of the query that says where a CloudEvent goes. */
export function targetQuery(kind: EventKind) {
  const place = targetFields[kind];
  if (place === null) return {};
  const description = `Of CloudEvents: the \`${place.field}\`. Else their extension attribute \`${place.attribute}\`.`;
  return { [place.field]: Type.Optional(Type.String({ description })) };
}

interface CloudReader {
  query: Query;
  check: ReturnType<typeof eventChecker>;
  jsonBounds: JsonBounds;
}

/** The events of a batch, which are checked like those of a call with one of them. */
export const cloudItems = (batch: CloudBatch, kind: EventKind, by: CloudReader): BatchItem[] =>
  batch.items.map((item) => new CloudItem(item, kind, by));

/** An event of a batch. Its payload is known once it is checked. */
class CloudItem implements BatchItem {
  readonly text: string;
  payload?: CloudEvent;
  readonly #check: () => Promise<CheckedEvent>;

  constructor(
    { value, text }: { value: unknown; text: string },
    kind: EventKind,
    { query, check, jsonBounds }: CloudReader,
  ) {
    this.text = text;
    this.#check = async () => {
      this.payload = await readStructured(value, text, jsonBounds);
      return check({ kind, ...bodyOf(kind, query, this.payload) }, text);
    };
  }

  check(): Promise<CheckedEvent> {
    return this.#check();
  }
}

/** The body of a call of this kind, from the CloudEvents of its request. */
export function cloudBody(
  kind: EventKind,
): (request: FastifyRequest, form: CloudForm, json?: GivenJson) => unknown {
  return (request, form, json) => {
    if (form === 'batch' && json !== undefined) return new CloudBatch(json.value, json.text);
    const use = (event: CloudEvent) => {
      request.payload = event;
      return bodyOf(kind, request.query as Query, event);
    };
    const read =
      json === undefined ? binary(request) : readStructured(json.value, json.text, request.server.jsonBounds);
    return read.then(use);
  };
}

function binary({ headers, body }: FastifyRequest): Promise<CloudEvent> {
  return readBinary(headers, Buffer.isBuffer(body) ? body : Buffer.alloc(0));
}

function bodyOf(kind: EventKind, query: Query, event: CloudEvent): object {
  const place = targetFields[kind];
  const target = place && (queryValue(query, place.field) ?? event.attributes.get(place.attribute));
  if (place !== null && (target ?? '') === '')
    throw invalid(
      place.field,
      `is required, as a parameter of the query or as the attribute ${place.attribute}`,
    );
  return { ...(place && { [place.field]: target }), ...fieldsOf(event), data: null };
}
