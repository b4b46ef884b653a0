import { AppError } from '../../domain/errors.ts';
import type { JsonBounds } from '../../platform/json/json-shape.ts';
import { jsonInSlices } from '../request/body.ts';
import { type CloudEvent, readBinary, readStructured } from './cloud-event.ts';
import { cloudForm } from './cloud-form.ts';

/** The attributes of a binary CloudEvent in messages: `ce_` in Kafka, `cloudEvents:` or `cloudEvents_` in AMQP, else `ce-`. */
const ATTRIBUTE = /^(?:ce[-_]|cloudevents[:_])(?=[a-z0-9]+$)/;
const OF_EVENT = /^(?:(?:ce[-_]|cloudevents[:_])[a-z0-9]+|content-type)$/;

/** The CloudEvent of a broker's message, or why it is none. Null: the message does not say that it is one. */
export async function cloudMessage(
  given: Readonly<Record<string, readonly string[]>>,
  body: Buffer,
  bounds: JsonBounds,
): Promise<CloudEvent | string | null> {
  const headers = Object.fromEntries(
    Object.entries(given).map(([name, [value]]) => [name.toLowerCase().replace(ATTRIBUTE, 'ce-'), value]),
  );
  const form = cloudForm(headers);
  if (form === null || form === 'batch') return null;
  try {
    if (form === 'binary') return await readBinary(headers, body);
    const json = await jsonInSlices(body);
    return json === null
      ? 'The CloudEvent is not JSON.'
      : await readStructured(json.value, json.text, bounds);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return `The message is no valid CloudEvent: ${error.message}.`;
  }
}

/** The headers of a message that are neither attributes nor the type of its data. */
export const withoutAttributes = (
  headers: Readonly<Record<string, readonly string[]>>,
): Record<string, readonly string[]> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_EVENT.test(name.toLowerCase())));
