import type { FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { AppError } from '../../../domain/errors.ts';
import { type CloudForm, cloudForm } from '../../../ingest/cloudevents/cloud-form.ts';
import { isJsonType, mediaTypeOf } from '../../../ingest/request/body.ts';
import { refuseExcess, refuseExcessInSlices } from '../../../ingest/request/json-bounds.ts';
import type { JsonBounds } from '../../../platform/json/json-shape.ts';
import { LARGE_JSON, parseInSlices } from '../../../platform/json/parse-in-slices.ts';
import { badJson, bodyText, dropNulls, parseJson } from '../validation.ts';

/** JSON of a body, and its text. */
export interface GivenJson {
  text: string;
  value: unknown;
}

/** Further forms of a body that an operation takes. */
export interface BodyForms {
  /** Parses a multipart/form-data body. Only such operations accept one. */
  fromMultipart?(body: Buffer, contentType: string): unknown;
  /** Reads CloudEvents as the body. Only such operations accept them. `json`: absent in binary form. */
  fromCloudEvents?(request: FastifyRequest, form: CloudForm, json?: GivenJson): unknown;
}

/**
 * Bodies are parsed here and not by the server, so that calls without a body schema ignore any body. A promise: it is so
 * large that it is parsed in slices.
 */
export function readBody(request: FastifyRequest, schema: TSchema, forms: BodyForms): unknown {
  const type = request.headers['content-type'];
  if (
    forms.fromMultipart !== undefined &&
    Buffer.isBuffer(request.body) &&
    /^multipart\/form-data\b/i.test(type ?? '')
  )
    return forms.fromMultipart(request.body, type ?? '');
  const form = forms.fromCloudEvents === undefined ? null : cloudForm(request.headers);
  const { jsonBounds } = request.server;
  const bytes = bytesOf(request);
  const isLarge = bytes.length > LARGE_JSON;
  if (form === 'binary') {
    const event = () => forms.fromCloudEvents?.(request, form);
    if (!isJsonType(mediaTypeOf(request.headers))) return event();
    if (isLarge) return refuseExcessInSlices(bytes, jsonBounds).then(event);
    refuseExcess(bytes, jsonBounds);
    return event();
  }
  if (form === null && type !== undefined && !/^application\/json\b/i.test(type))
    throw new AppError('unsupported_media_type', { type });
  const use = ({ text, value }: GivenJson): unknown => {
    if (form !== null) return forms.fromCloudEvents?.(request, form, { text, value });
    request.bodyText = text;
    dropNulls(schema, value);
    return value;
  };
  if (isLarge) return parseLarge(bytes, jsonBounds).then(use);
  refuseExcess(bytes, jsonBounds);
  const text = bodyText(bytes);
  return use({ text, value: parseJson(text) });
}

/** The bytes of a body that is JSON, if it is within its bounds. */
export function jsonBytes(request: FastifyRequest): Buffer {
  const bytes = bytesOf(request);
  refuseExcess(bytes, request.server.jsonBounds);
  return bytes;
}

const bytesOf = ({ body }: FastifyRequest): Buffer => (Buffer.isBuffer(body) ? body : Buffer.alloc(0));

async function parseLarge(bytes: Buffer, bounds: JsonBounds): Promise<GivenJson> {
  await refuseExcessInSlices(bytes, bounds);
  const text = bodyText(bytes);
  try {
    return { text, value: await parseInSlices(text) };
  } catch (error) {
    throw badJson(error);
  }
}

declare module 'fastify' {
  interface FastifyInstance {
    jsonBounds: JsonBounds;
  }
  interface FastifyRequest {
    bodyText?: string;
  }
}
