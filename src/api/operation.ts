import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Static, type TObject, type TSchema, Type } from 'typebox';
import { AppError } from '../domain/errors.ts';
import type { ProjectRow } from '../store/projects.ts';
import type { Caller } from './auth.ts';
import { dropNulls } from './validation.ts';

/**
 * One operation of the API, declared once: its schemas validate the request, type the handler and make the OpenAPI
 * document. The handler returns `data`; the envelope is put around it here.
 */
export interface Call<Body> {
  params: Record<string, string>;
  query: Record<string, string | string[] | undefined>;
  body: Body;
  /** The body exactly as received. */
  bodyText: string;
  caller: Caller;
  /** The project in the path, present and open to the caller. Undefined on paths without one. */
  project: ProjectRow;
  /** Fields a handler puts beside `data` in the envelope. */
  beside: Record<string, unknown>;
}

export interface Operation<Body extends TSchema, Data extends TSchema> {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  id: string;
  tag: string;
  summary: string;
  query?: TObject;
  body?: Body;
  /** Makes the body from one of type multipart/form-data, which only such operations take. */
  fromMultipart?(body: Buffer, contentType: string): unknown;
  status: 200 | 201 | 202;
  message: string;
  /** Another answer than `status` and `message`, for calls that ask for something else. */
  variant?(call: Call<Static<Body>>): { status: 200 | 201 | 202; message: string } | undefined;
  data: Data;
  /** Schemas of what the handler puts beside `data`. */
  beside?: Record<string, TSchema>;
  handle(call: Call<Static<Body>>, request: FastifyRequest, reply: FastifyReply): Promise<Static<Data>>;
}

export function registerOperation<Body extends TSchema, Data extends TSchema>(
  app: FastifyInstance,
  operation: Operation<Body, Data>,
): void {
  const { body, data, message, status } = operation;
  app.route({
    method: operation.method,
    url: operation.path,
    schema: {
      operationId: operation.id,
      tags: [operation.tag],
      summary: operation.summary,
      params: pathParameters(operation.path),
      ...(operation.query !== undefined && { querystring: operation.query }),
      ...(body !== undefined && { body }),
      response: { [status]: envelope(data, operation.beside) },
    },
    preValidation: async (request) => {
      if (body !== undefined) request.body = parseBody(request, body, operation.fromMultipart);
    },
    handler: async (request, reply) => {
      const call = {
        params: request.params as Record<string, string>,
        query: request.query as Call<unknown>['query'],
        body: request.body as Static<Body>,
        bodyText: request.bodyText ?? '',
        caller: request.caller as Caller,
        project: request.project as ProjectRow,
        beside: {},
      };
      const result = await operation.handle(call, request, reply);
      const answer = operation.variant?.(call) ?? { status, message };
      return reply
        .code(answer.status)
        .send({ status: true, message: answer.message, data: result ?? null, ...call.beside });
    },
  });
}

function envelope(data: TSchema, beside: Record<string, TSchema> = {}): TSchema {
  return Type.Object({ status: Type.Boolean(), message: Type.String(), data, ...beside });
}

function pathParameters(path: string): TSchema {
  const names = [...path.matchAll(/:(\w+)/g)].map((match) => match[1] as string);
  return Type.Object(Object.fromEntries(names.map((name) => [name, Type.String()])));
}

/** Bodies are parsed here and not by the server, so that calls without a body schema ignore whatever comes. */
function parseBody(
  request: FastifyRequest,
  schema: TSchema,
  fromMultipart: Operation<TSchema, TSchema>['fromMultipart'],
): unknown {
  const type = request.headers['content-type'];
  if (
    fromMultipart !== undefined &&
    Buffer.isBuffer(request.body) &&
    /^multipart\/form-data\b/i.test(type ?? '')
  )
    return fromMultipart(request.body, type ?? '');
  if (type !== undefined && !/^application\/json\b/i.test(type))
    throw new AppError('unsupported_media_type', { type });
  const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  if (!isUtf8(bytes)) throw new AppError('bad_json', { detail: 'it is not UTF-8' });
  const text = bytes.toString('utf8');
  if (text.trim() === '') throw new AppError('body_required');
  request.bodyText = text;
  try {
    const value: unknown = JSON.parse(text);
    dropNulls(schema, value);
    return value;
  } catch (error) {
    throw new AppError('bad_json', { detail: (error as Error).message }, { cause: error });
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    bodyText?: string;
    caller?: Caller;
    project?: ProjectRow;
  }
}
