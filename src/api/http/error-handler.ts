import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import {
  AppError,
  DATABASE_FAULTS,
  type DatabaseFault,
  type FieldProblem,
  invalidFields,
} from '../../domain/errors.ts';
import { SealError } from '../../platform/sealer.ts';
import { oneOf, Type } from '../../platform/type.ts';
import { because, isConnectionError, isDataError } from '../../store/database/pg-errors.ts';
import { toAppError } from './show-rows.ts';
import { fieldsWithZero, problemsOfSchema } from './validation.ts';

export const REFUSAL_ID = 'Refusal';

export const WARNINGS = Type.Array(Type.String(), {
  description:
    'Warnings about the request, such as unknown query parameters and body fields (`X-Posthorn-Strict: true` turns them into errors), and rows that a list omits because they cannot be shown.',
});

/** The warnings of an envelope, absent if there are none. */
export function warningsOf({ warnings = [] }: FastifyRequest): { warnings?: string[] } {
  return warnings.length === 0 ? {} : { warnings };
}

const DATABASE_FAULT = oneOf(
  Object.keys(DATABASE_FAULTS) as DatabaseFault[],
  'What is wrong with the database, if that is why the call failed: it is `unreachable`, its disk is `full`, it is `read_only`, it `refused` the sign-in, a right or the certificate, or it is `busy`.',
);

/** The error response of every operation. */
export const REFUSAL = Type.Object(
  {
    status: Type.Literal(false),
    message: Type.String({ description: 'The error, for people.' }),
    code: Type.String({ description: 'The error code, for programs. docs/errors.md lists all codes.' }),
    reason: Type.Optional(DATABASE_FAULT),
    fields: Type.Optional(
      Type.Array(Type.Object({ field: Type.String(), problem: Type.String() }), {
        description: 'The wrong fields, if the code is `validation_failed`.',
      }),
    ),
    data: Type.Optional(Type.Unknown()),
    warnings: Type.Optional(WARNINGS),
  },
  { $id: REFUSAL_ID },
);

const LOGGED: ReadonlySet<string> = new Set(['internal', 'secret_unreadable', 'row_damaged']);

/**
 * The only place where an error becomes a response. An unknown error is logged in full and returned as
 * `internal`.
 */
export function handleError(error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): void {
  const known = translate(error, request);
  const caller = { request: request.id, ip: request.ip };
  if (LOGGED.has(known.code)) request.log.error({ err: error, ...caller }, 'request failed');
  else request.log.debug({ code: known.code, ...caller }, 'request refused');
  if (known.retryAfterSeconds !== undefined) reply.header('retry-after', known.retryAfterSeconds);
  if (known.code === 'rate_limited') {
    reply.header('x-ratelimit-limit', known.params['limit']);
    reply.header('x-ratelimit-remaining', 0).header('x-ratelimit-reset', known.retryAfterSeconds ?? 1);
  }
  void reply.code(known.status).send({
    status: false,
    message: known.message,
    code: known.code,
    ...(known.reason && { reason: known.reason }),
    ...(known.fields.length > 0 && { fields: known.fields }),
    ...(known.data !== undefined && { data: known.data }),
    ...warningsOf(request),
  });
}

function translate(error: FastifyError | Error, request: FastifyRequest): AppError {
  if (error instanceof AppError) return error;
  if ('validation' in error && error.validation !== undefined) {
    return invalidFields(problemsOfSchema(error.validation));
  }
  switch ('code' in error ? error.code : '') {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new AppError('unsupported_media_type', { type: request.headers['content-type'] ?? '' });
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new AppError('route_not_found', { method: request.method, path: request.url });
    default:
  }
  if (error instanceof SealError) return toAppError(error);
  if (isConnectionError(error)) return databaseError(error, request);
  if (isDataError(error)) return invalidFields(unstorableFields(request));
  return new AppError('internal', { request: request.id }, { cause: error });
}

/**
 * An operation may send several statements, and read after a write. Once its handler runs, its effect is
 * unknown. Before that, and for reads, nothing was changed.
 */
function databaseError(error: Error, { method, isUnderWay }: FastifyRequest): AppError {
  if (method === 'GET' || isUnderWay !== true)
    return new AppError('database_unavailable', { retry: 1 }, because(error));
  const advice =
    method === 'POST' ? 'Check whether it was done before you repeat it.' : 'It is safe to send it again.';
  return new AppError('outcome_unknown', { retry: 1, advice }, because(error));
}

/** The database refused a text. The field is searched only now, so other requests pay nothing. */
function unstorableFields({ body, query, params }: FastifyRequest): FieldProblem[] {
  const fields = [body, query, params].flatMap((part) => fieldsWithZero(part));
  if (fields.length === 0) return [{ field: '', problem: 'a value contains text that cannot be stored' }];
  return fields.map((field) => ({ field, problem: 'contains a zero character, which cannot be stored' }));
}
