import { isObject } from '../../platform/json/is-object.ts';
import type { IngestHeaders } from '../request/ingest-request.ts';

/**
 * Azure Event Grid in its own schema: a list of events, and before the first one a list with a code that has to be echoed.
 * With the schema of CloudEvents it needs nothing of this.
 */
const KIND = 'aeg-event-type';
const VALIDATION = 'Microsoft.EventGrid.SubscriptionValidationEvent';
const MAX_CODE_CHARS = 1_024;

export const isEventGrid = (headers: IngestHeaders): boolean => headers[KIND] === 'Notification';

/** The code to answer a validation of the subscription with, or null for other requests. */
export function eventGridCode(headers: IngestHeaders, payload: unknown): string | null {
  if (headers[KIND] !== 'SubscriptionValidation' || !Array.isArray(payload)) return null;
  const [first] = payload as unknown[];
  if (!isObject(first) || first['eventType'] !== VALIDATION || !isObject(first['data'])) return null;
  const { validationCode: code } = first['data'];
  return typeof code === 'string' && code.length <= MAX_CODE_CHARS ? code : null;
}

/** An event of it as a CloudEvent, by Azure's own mapping. */
export function ofEventGrid(event: unknown): unknown {
  if (!isObject(event)) return event;
  const { id, topic, eventType, eventTime, subject, data } = event;
  const cloud = { specversion: '1.0', id, source: topic || '/', type: eventType, time: eventTime, data };
  return { ...cloud, ...(subject !== '' && { subject }) };
}
