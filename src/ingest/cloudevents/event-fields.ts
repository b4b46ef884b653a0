import { createHash } from 'node:crypto';
import { attributeHeader, CLOUD_PREFIX } from '../../domain/config/cloud-event.ts';
import type { CloudEvent } from './cloud-event.ts';

/** The fields of an event call that the attributes of a CloudEvent stand for. */
export interface CloudFields {
  event_type: string;
  idempotency_key: string;
  acknowledged_at?: string;
  ordering_key?: string;
  expires_at?: string;
  custom_headers: Record<string, string>;
}

const MAX_KEY_CHARS = 512;
const TRACE = ['traceparent', 'tracestate'];

export function fieldsOf({ attributes }: Pick<CloudEvent, 'attributes'>): CloudFields {
  const named = (field: string, attribute: string) => {
    const value = attributes.get(attribute);
    return value === undefined || value === '' ? {} : { [field]: value };
  };
  return {
    event_type: attributes.get('type') ?? '',
    idempotency_key: keyOf(attributes.get('source') ?? '', attributes.get('id') ?? ''),
    ...named('acknowledged_at', 'time'),
    ...named('ordering_key', 'partitionkey'),
    ...named('expires_at', 'expirytime'),
    custom_headers: { ...cloudHeaders(attributes), ...traceHeaders(attributes) },
  };
}

/** A source has no spaces, so that no two pairs make the same text. */
function keyOf(source: string, id: string): string {
  const key = `${source} ${id}`;
  return key.length <= MAX_KEY_CHARS ? key : `sha256:${createHash('sha256').update(key).digest('hex')}`;
}

/** Each attribute as the binary form has it. */
export function cloudHeaders(attributes: CloudEvent['attributes']): Record<string, string> {
  const headers = [...attributes].map(([name, value]) => [`${CLOUD_PREFIX}${name}`, attributeHeader(value)]);
  return Object.fromEntries(headers) as Record<string, string>;
}

/** The trace of the event itself. */
function traceHeaders(attributes: CloudEvent['attributes']): Record<string, string> {
  const headers = TRACE.flatMap((name) => {
    const value = attributes.get(name);
    return value === undefined ? [] : [[name, attributeHeader(value)]];
  });
  return Object.fromEntries(headers) as Record<string, string>;
}
