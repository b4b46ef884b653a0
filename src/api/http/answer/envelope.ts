import type { FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { queryFlag } from '../../../domain/pagination.ts';
import { isObject } from '../../../platform/json/is-object.ts';
import { LARGE_JSON } from '../../../platform/json/parse-in-slices.ts';
import { RawJson } from '../../../platform/json/raw-json.ts';
import { Type } from '../../../platform/type.ts';
import type { Call } from '../call.ts';
import { WARNINGS } from '../error-handler.ts';

/** The form of an answer: `data` in the envelope, or alone. */
function envelope(data: TSchema, beside: Record<string, TSchema> = {}): TSchema {
  return Type.Object({
    status: Type.Boolean(),
    message: Type.String(),
    data,
    ...beside,
    warnings: Type.Optional(WARNINGS),
  });
}

/** The schemas of the answers of an operation, by status. */
export function envelopes(
  dataByStatus: Readonly<Record<number, TSchema>>,
  { beside, bareType }: { beside?: Record<string, TSchema>; bareType?: string },
): Record<string, object> {
  const entries = Object.entries(dataByStatus).map(([status, data]) => {
    const schema = envelope(data, beside);
    if (bareType === undefined) return [status, schema];
    return [status, { content: { 'application/json': { schema }, [bareType]: { schema: data } } }];
  });
  return Object.fromEntries(entries) as Record<string, object>;
}

/** A page of a list, which may have many payloads, or a resource with a large one. */
export const isLarge = (answer: unknown): boolean => {
  if (!isObject(answer)) return false;
  const { content, data } = answer;
  return Array.isArray(content) || (data instanceof RawJson && data.text.length > LARGE_JSON);
};

/** `Accept: application/json; payload=bytes` requests payloads as arrays of integers. */
export function wantsBytes(accept: string | undefined): boolean {
  return accept !== undefined && /;\s*payload="?bytes"?\s*(;|,|$)/i.test(accept);
}

/** Parameters of an operation with a `bareType`. */
export const bareQuery = {
  bare: Type.Optional(
    Type.Boolean({ description: 'The document alone, without the envelope, in its own media type.' }),
  ),
};

/** The media type of an answer without the envelope. Undefined: the caller did not ask for one. */
export function bareTypeOf(
  { bareType }: { bareType?: string },
  { headers: { accept = '' }, query }: FastifyRequest,
): string | undefined {
  if (bareType === undefined) return undefined;
  if (queryFlag(query as Call<unknown>['query'], 'bare') === true) return bareType;
  if (accept.toLowerCase().includes(bareType)) return bareType;
  return /\bapplication\/json\s*;\s*bare="?true"?\s*(;|,|$)/i.test(accept) ? 'application/json' : undefined;
}

/**
 * Headers of every answer that sets none of its own. Answers carry bytes of senders, tenants and endpoints, on the origin
 * of the dashboard. So no browser runs one as a page or as a script, or gives it to a page of another origin.
 */
export const ANSWER_HEADERS = {
  'content-security-policy': "sandbox; default-src 'none'",
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
} as const;
