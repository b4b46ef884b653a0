import { CLOUD_PREFIX } from '../../domain/config/cloud-event.ts';
import type { EnvelopeFields } from '../../domain/config/endpoint.ts';
import type { ProjectConfig } from '../../domain/config/project-config.ts';
import type { LeasedDelivery } from '../../domain/delivery.ts';
import { idTime } from '../../domain/ids.ts';
import { formatTime } from '../../domain/time.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';

const VERSION_HEADER = `${CLOUD_PREFIX}specversion`;

/**
 * The body of a request, in the envelope that Standard Webhooks advises if the endpoint or its project wants one, or in one
 * with names of the endpoint's own. The time is that at which the event was accepted, so every attempt has the same bytes.
 * The payload is copied as it is: its number texts and the order of its keys stay. CloudEvents, and bodies other than JSON,
 * have no envelope.
 */
export function enveloped(
  {
    body,
    contentType,
    eventId,
    eventType,
  }: Pick<LeasedDelivery, 'body' | 'contentType' | 'eventId' | 'eventType'>,
  row: EndpointRow,
  { config, eventHeaders, id }: { config: Pick<ProjectConfig, 'envelope'>; eventHeaders: object; id: string },
): Buffer {
  const { envelope, envelope_fields, content_type, cloudevents } = row;
  const form = envelope === 'project' ? config.envelope : envelope;
  const own = Object.keys(envelope_fields).length > 0 ? envelope_fields : form === 'none' ? null : STANDARD;
  // A CloudEvent says all of this itself.
  if (cloudevents !== '') return body;
  if (own === null || contentType !== null || content_type !== 'application/json') return body;
  // So does one that is passed on in its binary form, with its attributes as headers.
  if (Object.keys(eventHeaders).some((name) => name.toLowerCase() === VERSION_HEADER)) return body;
  const texts = { id: JSON.stringify(id), type: JSON.stringify(eventType), null: 'null' };
  return wrapped(own, { ...texts, time: `"${formatTime(idTime(eventId))}"`, data: body });
}

const STANDARD: EnvelopeFields = { type: 'type', timestamp: 'time', data: 'data' };

function wrapped(
  fields: EnvelopeFields,
  parts: Record<'id' | 'type' | 'time' | 'null', string> & { data: Buffer },
): Buffer {
  const members = Object.entries(fields).flatMap(([name, part], index) => [
    Buffer.from(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`),
    Buffer.from(parts[part]),
  ]);
  return Buffer.concat([...members, Buffer.from('}')]);
}
