import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import type { TObject, TSchema } from 'typebox';
import { cloudForm } from '../../../ingest/cloudevents/cloud-form.ts';
import { Type } from '../../../platform/type.ts';
import type { Schema } from '../schema-view.ts';

/**
 * The most bytes that a legal body of an operation has: the sum of the maxima of its schema. Free parts have no maximum and
 * count as FREE_BYTES, lists without one as endless. POSTHORN_MAX_BODY_BYTES caps the result.
 */
/** An escaped character, as two code units: `\ud83d\ude00`. */
const CHARACTER_BYTES = 12;
/** Names, quotes, brackets and whitespace of a field or an item. */
const FRAME_BYTES = 32;
/** A number, or a word such as `false`. */
const NUMBER_BYTES = 32;
const TIME_BYTES = 64;
/** Free-form JSON, such as a filter, or text without a maximum. */
const FREE_BYTES = 1024 * 1024;
/** Whitespace, and the read-only fields of a response that comes back. */
const SLACK_BYTES = 8 * 1024;
/** A call without a body ignores the one that it gets. */
const IGNORED_BYTES = 64 * 1024;
/** A payload may come as a list of the numbers of its bytes, such as `104,`. A batch has many. */
const BYTES_OF_PAYLOAD_BYTE = 4;

/** How large the body may be. It is refused before a byte of it is read, by a hook of the server. */
export function bodyLimits(
  app: FastifyInstance,
  { body, carriesPayload }: { body?: TSchema; carriesPayload?: true },
): Pick<RouteShorthandOptions, 'bodyLimit' | 'onRequest'> {
  const { bodyLimit: most = 0 } = app.initialConfig;
  if (carriesPayload === undefined) return { bodyLimit: Math.min(most, bodyLimit(body)) };
  const rest = bodyLimit(Type.Omit(body as TObject, ['data']));
  const onRequest = (request: FastifyRequest, _reply: FastifyReply, done: () => void) => {
    const { max_payload_read_size = 0 } = request.project?.config ?? {};
    if (cloudForm(request.headers) !== 'batch')
      request.bodyLimit = Math.min(most, rest + BYTES_OF_PAYLOAD_BYTE * max_payload_read_size);
    done();
  };
  return { onRequest };
}

function bodyLimit(body: TSchema | undefined): number {
  return body === undefined ? IGNORED_BYTES : SLACK_BYTES + mostBytes(body as Schema);
}

function mostBytes(schema: Schema): number {
  const { type, properties, maxItems = Number.POSITIVE_INFINITY } = schema;
  const choices = schema.const === undefined ? schema.enum : [schema.const];
  if (schema.anyOf !== undefined) return Math.max(...schema.anyOf.map(mostBytes));
  if (choices !== undefined)
    return CHARACTER_BYTES * Math.max(...choices.map((one) => JSON.stringify(one).length));
  if (type === 'string') return textBytes(schema);
  if (type === 'array') return maxItems * (FRAME_BYTES + mostBytes(schema.items ?? {}));
  if (properties === undefined) return type === undefined || type === 'object' ? FREE_BYTES : NUMBER_BYTES;
  return Object.entries(properties).reduce(
    (sum, [name, field]) => sum + FRAME_BYTES + name.length + mostBytes(field),
    0,
  );
}

function textBytes({ format, maxLength }: Schema): number {
  if (format === 'date-time') return TIME_BYTES;
  return maxLength === undefined ? FREE_BYTES : CHARACTER_BYTES * maxLength;
}
