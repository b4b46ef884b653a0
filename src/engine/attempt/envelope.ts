import { CLOUD_PREFIX } from '../../domain/config/cloud-event.ts';
import type { ProjectConfig } from '../../domain/config/project-config.ts';
import type { LeasedDelivery } from '../../domain/delivery.ts';
import { idTime } from '../../domain/ids.ts';
import { formatTime } from '../../domain/time.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';

const VERSION_HEADER = `${CLOUD_PREFIX}specversion`;

/**
 * The body of a request, in the envelope that Standard Webhooks advises if the endpoint or its project wants one. The
 * time is that at which the event was accepted, so every attempt has the same bytes. The payload is copied as it is: its
 * number texts and the order of its keys stay. CloudEvents, and bodies other than JSON, have no envelope.
 */
export function enveloped(
  {
    body,
    contentType,
    eventId,
    eventType,
  }: Pick<LeasedDelivery, 'body' | 'contentType' | 'eventId' | 'eventType'>,
  { envelope, content_type, cloudevents }: EndpointRow,
  { config, eventHeaders }: { config: Pick<ProjectConfig, 'envelope'>; eventHeaders: object },
): Buffer {
  const form = envelope === 'project' ? config.envelope : envelope;
  // A CloudEvent says all of this itself.
  if (cloudevents !== '') return body;
  if (form === 'none' || contentType !== null || content_type !== 'application/json') return body;
  // So does one that is passed on in its binary form, with its attributes as headers.
  if (Object.keys(eventHeaders).some((name) => name.toLowerCase() === VERSION_HEADER)) return body;
  const time = formatTime(idTime(eventId));
  const head = `{"type":${JSON.stringify(eventType)},"timestamp":"${time}","data":`;
  return Buffer.concat([Buffer.from(head), body, Buffer.from('}')]);
}
