import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TObject, TSchema } from 'typebox';
import { CONFIG_VERSION_HEADER, RepeatedCall } from '../../domain/audit.ts';
import type { EndpointScope } from '../../domain/endpoint-scope.ts';
import { AppError, invalidFields } from '../../domain/errors.ts';
import { queryFlag } from '../../domain/pagination.ts';
import { stringifyInSlices } from '../../platform/json/raw-json.ts';
import { Type } from '../../platform/type.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { type Access, hidesPayload, requireAccess, roleOf } from './access/access.ts';
import type { Remembered } from './access/auth.ts';
import type { Caller, PortalCaller } from './access/caller.ts';
import { IDEMPOTENCY_KEY, type MadeBefore, madeBefore, onceOf } from './access/once.ts';
import { bareTypeOf, envelopes, isLarge, wantsBytes } from './answer/envelope.ts';
import { bodyLimits } from './body/body-limit.ts';
import { type BodyForms, readBody } from './body/read-body.ts';
import { type Call, type EventPayload, RequestCall } from './call.ts';
import { REFUSAL_ID, warningsOf } from './error-handler.ts';
import { compilePortalView } from './portal-view.ts';
import { unshownOf, unshownWarning } from './show-rows.ts';
import { unknownFieldsOf, unknownNames } from './unknown-fields.ts';
import {
  callerVersion,
  downgradeResponse,
  upgradeRequest,
  type VersionChange,
} from './versions/version-change.ts';
import { compileViewerView } from './viewer-view.ts';

/**
 * The right that a portal link needs for an operation:
 * - `read`: none. These read, try something out, or take deliveries that wait.
 * - `resend`: `can_retry`. These repeat an earlier send, or send a test.
 * - `manage`: `can_manage_endpoint`. These change endpoints, subscriptions or filters.
 * - `roll_secrets`: `can_manage_endpoint` and `can_see_secrets`. A new secret is of use only to those who see it.
 * - `create_events`: `can_create_events`. These send new events.
 * - `anyone`: none. These do not involve any endpoint, so no scope applies.
 *
 * Operations without a right are closed to portals.
 */
export type PortalRight = 'read' | 'resend' | 'manage' | 'roll_secrets' | 'create_events' | 'anyone';

type Status = 200 | 201 | 202;

/**
 * One operation of the API, declared once. Its schemas validate the request, type the handler and generate
 * the OpenAPI document. The handler returns `data`, and the envelope is added here.
 */
export interface Operation<Body extends TSchema, Data extends TSchema, Path extends string = string>
  extends BodyForms {
  id: string;
  summary: string;
  /** Registers a PUT as a POST too, for clients of Convoy. */
  alsoPost?: true;
  query?: TObject;
  /** Further query parameters that clients of Convoy send. They are known, and not in the OpenAPI document. */
  alsoKnown?: readonly string[];
  /**
   * Refuses unknown query parameters and body fields, because a misspelt filter would select everything. Every
   * DELETE does. Other operations name them in `warnings`.
   */
  acts?: true;
  body?: Body;
  /** The schema of the body in the OpenAPI document, where the handler checks parts of it by themselves. */
  documentedBody?: TSchema;
  /** Its `data` is a payload, whose limit is that of the project. */
  carriesPayload?: true;
  /** 200 by default. */
  status?: Status;
  message: string;
  /** Another response than `status` and `message`, for a variant of the call. */
  variant?(call: Call<Static<Body>, Path>): { status: Status; message: string } | undefined;
  data: Data;
  /** The schemas of `data` by status, where a variant answers with another one. */
  dataByStatus?: Readonly<Record<number, TSchema>>;
  /** The media type of `data` without the envelope, for tools that know nothing of it. */
  bareType?: string;
  /** The resource that clients send back in full, if it is not `data`. Its fields count as known. */
  resource?: TSchema;
  /** Warnings about values that are legal and certainly a mistake. */
  warn?(body: Static<Body>): string[];
  /**
   * It creates something, and takes an `Idempotency-Key`. Renders the response of a repeated call again, from what the
   * first one made.
   */
  again?(call: Call<Static<Body>, Path>, made: MadeBefore, reply: FastifyReply): Promise<Static<Data>>;
  /** `X-Posthorn-Dry-Run: true` checks the change of config and does not make it. */
  dryRun?: true;
  /** The right that it needs of a key or a person. */
  access: Access;
  /** Opens the operation to portal callers, here and under /portal-api. Its handler must then use `scope`. */
  portal?: PortalRight;
  /** How earlier API versions saw the resource. */
  changes?: readonly VersionChange[];
  /** Schemas of the further fields of the envelope. */
  beside?: Record<string, TSchema>;
  handle(call: Call<Static<Body>, Path>, request: FastifyRequest, reply: FastifyReply): Promise<Static<Data>>;
}

const PROJECT_PATH = '/api/v1/projects/:projectID';
const PORTAL_PATH = '/portal-api';
/** Where the OpenAPI document says what a portal link needs. */
const PORTAL_RIGHT = 'x-portal-right';
/** Where it says what a key or a person needs. test/people/roles.test.ts calls every operation by it. */
const ACCESS = 'x-access';
/** Where it says that an operation refuses unknown parameters and fields. */
const ACTS = 'x-acts';
const DRY_RUN = 'Dry run: nothing was stored';

type Register = <Body extends TSchema, Data extends TSchema, Path extends string>(
  app: FastifyInstance,
  path: Path,
  operation: Operation<Body, Data, Path>,
) => void;

/** Registers the operations of one tag, by method. */
export function operationsOf(tag: string): Record<'get' | 'post' | 'put' | 'delete', Register> {
  const by =
    (method: Route['method']): Register =>
    (app, path, operation) => {
      const { id } = operation;
      registerOperation(app, operation, { method, path, id, tag });
      if (operation.alsoPost !== undefined)
        registerOperation(app, operation, { method: 'POST', path, id: `${id}ByPost`, tag });
    };
  return { get: by('GET'), post: by('POST'), put: by('PUT'), delete: by('DELETE') };
}

/** The place of an operation in the interface. Some operations have several. */
interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  id: string;
  tag: string;
}

function registerOperation<Body extends TSchema, Data extends TSchema, Path extends string>(
  app: FastifyInstance,
  operation: Operation<Body, Data, Path>,
  at: Route,
): void {
  registerRoute(app, operation, at);
  if (operation.portal !== undefined && at.path.startsWith(PROJECT_PATH)) {
    const path = at.path.replace(PROJECT_PATH, PORTAL_PATH);
    registerRoute(app, operation, { ...at, path, id: `${at.id}InPortal`, tag: 'Portal' });
  }
}

function registerRoute<Body extends TSchema, Data extends TSchema, Path extends string>(
  app: FastifyInstance,
  operation: Operation<Body, Data, Path>,
  at: Route,
): void {
  const { body, data, message, status = 200, changes = [] } = operation;
  const acts = operation.acts ?? at.method === 'DELETE';
  // A call that acts writes no resource back, so no field of a response is known.
  const unknownFields =
    body === undefined
      ? undefined
      : unknownFieldsOf(body, acts ? Type.Object({}) : (operation.resource ?? data));
  const checkQuery = queryCheck(operation, acts);
  const takeBody = (request: FastifyRequest, given: unknown): void => {
    if (body !== undefined) {
      const version = callerVersion(request.headers['x-convoy-version']);
      request.body = upgradeRequest(changes, version, given);
      request.warnings?.push(...(unknownFields?.(request.body) ?? []));
    }
    if (acts) refuseWarnings(request);
    else refuseIfStrict(request);
  };
  const viewerView = compileViewerView(data);
  const portalView = operation.portal === undefined ? undefined : compilePortalView(data);
  app.route({
    method: at.method,
    url: at.path,
    ...bodyLimits(app, operation),
    // For the OpenAPI document only. Clients send parameters that are empty or out of range for "not given",
    // so the handlers parse them.
    config: { query: operation.query, body: operation.documentedBody },
    schema: {
      operationId: at.id,
      tags: [at.tag],
      summary: operation.summary,
      [ACCESS]: operation.access,
      ...(acts && { [ACTS]: true }),
      ...securityOf(operation.access, at.method),
      ...(operation.portal !== undefined && { [PORTAL_RIGHT]: operation.portal }),
      params: pathParameters(at.path),
      ...(operation.again !== undefined && { headers: IDEMPOTENCY_KEY }),
      ...(body !== undefined && { body }),
      response: {
        ...envelopes(operation.dataByStatus ?? { [status]: data }, operation),
        default: { $ref: `${REFUSAL_ID}#`, description: 'Refused, or failed.' },
      },
    },
    preValidation: (request, _reply, done) => {
      try {
        if (request.caller !== undefined) {
          requirePortalRight(request.caller, operation);
          requireAccess(request.caller, operation.access, request.project);
        } else if (operation.access !== 'public') {
          throw new Error(`operation ${at.id} has no caller`);
        }
        request.warnings = checkQuery(request.query as Call<unknown>['query']);
        const given = body === undefined ? undefined : readBody(request, body, operation);
        if (given instanceof Promise) void takeLater(given, (read) => takeBody(request, read), done);
        else {
          takeBody(request, given);
          done();
        }
      } catch (error) {
        done(error as Error);
      }
    },
    handler: async (request, reply) => {
      request.isUnderWay = true;
      const call = new RequestCall<Static<Body>, Path>(request, {
        hasDryRun: operation.dryRun === true,
        once: operation.again && onceOf(request, at.id),
      });
      if (operation.warn !== undefined) {
        request.warnings = [...(request.warnings ?? []), ...operation.warn(call.body)];
        refuseIfStrict(request);
      }
      const result = (await answerOf(operation, call, { request, reply })) ?? null;
      if (operation.portal !== 'anyone' && !call.wasScoped)
        throw new Error(`operation ${at.id} is open to portals and ignores their scope`);
      if (call.config.made !== null) reply.header(CONFIG_VERSION_HEADER, call.config.made);
      warnOfUnshown(request, result);
      const { scope, caller, project } = request;
      const seen =
        caller !== undefined && project !== undefined && roleOf(caller, project.id) === 'viewer'
          ? viewerView(result, { hidesPayload: hidesPayload(caller, project) })
          : scope === undefined || portalView === undefined
            ? result
            : portalView(result, { scope, ownHeaders: ownHeaders(call.project.config) });
      const version = callerVersion(request.headers['x-convoy-version']);
      const answer = seen === null ? null : downgradeResponse(changes, version, seen);
      const bare = bareTypeOf(operation, request);
      if (bare !== undefined) return reply.type(bare).serializer(JSON.stringify).send(answer);
      const answered = operation.variant?.(call) ?? { status, message: call.isDryRun ? DRY_RUN : message };
      reply.code(answered.status);
      const whole = {
        status: true,
        message: answered.message,
        data: answer,
        ...call.beside,
        ...warningsOf(request),
      };
      const asBytes = wantsBytes(request.headers.accept);
      if (!asBytes && !isLarge(answer)) return reply.send(whole);
      const bytes = await stringifyInSlices(whole, { asBytes });
      return reply.type('application/json; charset=utf-8').send(bytes);
    },
  });
}

async function takeLater(
  given: Promise<unknown>,
  take: (read: unknown) => void,
  done: (error?: Error) => void,
): Promise<void> {
  try {
    take(await given);
  } catch (error) {
    done(error as Error);
    return;
  }
  done();
}

/** The response of an operation. A call that was made before changes nothing, and gets the same one again. */
async function answerOf<Body extends TSchema, Data extends TSchema, Path extends string>(
  operation: Operation<Body, Data, Path>,
  call: RequestCall<Static<Body>, Path>,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): Promise<Static<Data>> {
  try {
    return await operation.handle(call, request, reply);
  } catch (error) {
    if (!(error instanceof RepeatedCall) || operation.again === undefined) throw error;
    reply.header('idempotency-replayed', 'true');
    const { config } = call;
    if (config.wanted !== null) config.made = config.wanted + 1;
    return operation.again(call, madeBefore(request, error.made), reply);
  }
}

const ownHeaders = ({ signature, request_id_header }: ProjectRow['config']): string[] => [
  signature.header,
  request_id_header,
];

function warnOfUnshown(request: FastifyRequest, result: unknown): void {
  const unshown = unshownOf(result);
  if (unshown.length === 0) return;
  for (const { id, error } of unshown)
    request.log.error({ err: error, row: id, request: request.id }, 'a row cannot be shown');
  request.warnings = [...(request.warnings ?? []), ...unshown.map(unshownWarning)];
}

/** Refuses flags that are neither true nor false, and returns a warning for each unknown parameter. */
function queryCheck(
  { query, alsoKnown = [] }: { query?: TObject; alsoKnown?: readonly string[] },
  acts: boolean,
): (given: Call<unknown>['query']) => string[] {
  const properties = Object.entries<{ type?: unknown }>(query?.properties ?? {});
  const flags = properties.filter(([, { type }]) => type === 'boolean').map(([name]) => name);
  const known = new Set([...properties.map(([name]) => name), ...alsoKnown]);
  return (given) => {
    for (const flag of flags) queryFlag(given, flag);
    // Some clients always send every parameter, and leave it empty for "not given".
    const names = Object.keys(given).filter((name) => acts || given[name] !== '');
    return unknownNames('query parameter', names, known);
  };
}

/** `X-Posthorn-Strict: true` turns every warning into an error. */
function refuseIfStrict(request: FastifyRequest): void {
  if (request.headers['x-posthorn-strict'] === 'true') refuseWarnings(request);
}

function refuseWarnings({ warnings = [] }: FastifyRequest): void {
  if (warnings.length === 0) return;
  throw invalidFields(warnings.map((problem) => ({ field: '', problem })));
}

function requirePortalRight(caller: Caller, operation: { portal?: PortalRight; summary: string }): void {
  if (caller.kind !== 'portal') return;
  if (operation.portal === undefined) throw new AppError('portal_forbidden', { what: 'this operation' });
  const missing = missingRight(caller, operation.portal);
  if (missing !== undefined) throw new AppError('portal_forbidden', { what: missing });
}

/** The acts that the link would have to allow. Undefined: it does. */
function missingRight(caller: PortalCaller, right: PortalRight): string | undefined {
  switch (right) {
    case 'read':
    case 'anyone':
      return undefined;
    case 'resend':
      return caller.canRetry ? undefined : 'sending again and tests';
    case 'manage':
      return caller.canManage ? undefined : 'changing endpoints, subscriptions and filters';
    case 'roll_secrets':
      return caller.canManage && caller.canSeeSecrets ? undefined : 'rolling secrets';
    case 'create_events':
      return caller.canCreateEvents ? undefined : 'new events';
  }
}

/** The schemes of `src/api/openapi.ts`, where the operation takes another credential than a key. */
function securityOf(access: Access, method: Route['method']) {
  if (access === 'public') return { security: [] };
  if (access !== 'session') return {};
  return { security: [method === 'GET' ? { session: [] } : { session: [], csrf: [] }] };
}

function pathParameters(path: string): TSchema {
  const names = [...path.matchAll(/:(\w+)/g)].map((match) => match[1] as string);
  return Type.Object(Object.fromEntries(names.map((name) => [name, Type.String()])));
}

declare module 'fastify' {
  interface FastifyContextConfig {
    query?: TObject | undefined;
    body?: TSchema | undefined;
  }
  interface FastifyRequest {
    /** The data of a CloudEvent. */
    payload?: EventPayload;
    /** Warnings about the query and the body. */
    warnings?: string[];
    /** The handler of its operation was called. */
    isUnderWay?: boolean;
    caller?: Caller;
    /** The lookup that found the caller. */
    lookup?: Remembered;
    project?: ProjectRow;
    scope?: EndpointScope;
  }
}
