import type { FastifyRequest } from 'fastify';
import type { Author } from '../../control/config-changes.ts';
import type { Once } from '../../domain/audit.ts';
import {
  type Actor,
  CLI_USER_HEADER,
  CONFIG_VERSION_HEADER,
  type ConfigVersion,
  INSTANCE,
} from '../../domain/audit.ts';
import type { EndpointScope } from '../../domain/endpoint-scope.ts';
import { invalid } from '../../domain/errors.ts';
import type {
  DeliveryId,
  EndpointId,
  EventId,
  MetaEventId,
  SourceId,
  SubscriptionId,
} from '../../domain/ids.ts';
import { requestTrace } from '../../ingest/request/request-trace.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import type { TraceContext } from '../../tracing/trace-context.ts';
import { actorOf, type Caller, via } from './access/caller.ts';

/** The parameters of a path: those of `/endpoints/:endpointID/pause` are `endpointID`. */
type PathParameter<Path extends string> = Path extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer After}`
    ? Name | PathParameter<After>
    : Rest
  : never;

/** The parameters of paths that are ids, by name. */
interface PathIds {
  endpointID: EndpointId;
  subscriptionID: SubscriptionId;
  sourceID: SourceId;
  eventID: EventId;
  eventDeliveryID: DeliveryId;
  metaEventID: MetaEventId;
}

/** The payload of an event that is not JSON in the body of its call. */
export interface EventPayload {
  payload: Buffer;
  /** Null means JSON. */
  contentType: string | null;
}

/** A call of an operation, as its handler gets it. */
export interface Call<Body, Path extends string = string> {
  /** The path parameters without the project, which is `project`, because a portal path does not name it. */
  params: {
    [Name in Exclude<PathParameter<Path>, 'projectID'>]: Name extends keyof PathIds ? PathIds[Name] : string;
  };
  query: Record<string, string | string[] | undefined>;
  body: Body;
  /** The body exactly as received. */
  bodyText: string;
  /** The data of a CloudEvent. Undefined: the payload is `data` in the body. */
  payload?: EventPayload | undefined;
  /** Not of public operations. */
  caller: Caller;
  /** The actor and the project of a change, for src/control. Only on paths with a project. */
  by: Author;
  /** The actor of the call, for the audit log. */
  actor: Actor;
  /** The project in the path. It exists and is open to the caller. Undefined on paths without one. */
  project: ProjectRow;
  /** The part of the project that the caller may see. Undefined: all of it. */
  scope: EndpointScope | undefined;
  /** The trace of the call. */
  trace: TraceContext | null;
  /** The header, which is another spelling of `idempotency_key` for events. */
  idempotencyKey: string | undefined;
  /** Further fields of the envelope, set by the handler. */
  beside: Record<string, unknown>;
  /** Adds warnings to the answer. They refuse no strict call. */
  warn(...warnings: readonly string[]): void;
}

/** `true`: a change of config is checked as a whole and not made. */
const DRY_RUN_HEADER = 'x-posthorn-dry-run';

/**
 * A call. It also has the version of the config that it changes, and knows whether its handler read the caller's scope. A
 * handler that is open to portals and did not read it is a bug, and portals do not get its response.
 */
export class RequestCall<Body, Path extends string> implements Call<Body, Path> {
  readonly params: Call<Body, Path>['params'];
  readonly query: Call<Body, Path>['query'];
  readonly body: Body;
  readonly bodyText: string;
  readonly payload: EventPayload | undefined;
  readonly caller: Caller;
  readonly project: ProjectRow;
  readonly beside: Record<string, unknown> = {};
  readonly config: ConfigVersion;
  readonly isDryRun: boolean;
  wasScoped: boolean;
  readonly #request: FastifyRequest;
  readonly #once: Once | undefined;

  constructor(request: FastifyRequest, { hasDryRun, once }: { hasDryRun: boolean; once: Once | undefined }) {
    this.params = request.params as Call<Body, Path>['params'];
    this.query = request.query as Call<unknown>['query'];
    this.body = request.body as Body;
    this.bodyText = request.bodyText ?? '';
    this.payload = request.payload;
    this.caller = request.caller as Caller;
    this.project = request.project as ProjectRow;
    this.config = { wanted: wantedVersion(request), made: null };
    this.isDryRun = wantsDryRun(request, hasDryRun);
    this.wasScoped = request.scope === undefined;
    this.#request = request;
    this.#once = once;
  }

  get actor(): Actor {
    const { caller } = this.#request;
    if (caller === undefined) return INSTANCE;
    const actor = actorOf(caller, originOf(this.#request));
    return this.#once === undefined || actor.type === 'instance' ? actor : { ...actor, once: this.#once };
  }

  get by(): Author {
    return { projectId: this.project.id, actor: this.actor, config: this.config, isDryRun: this.isDryRun };
  }

  get idempotencyKey(): string | undefined {
    return idempotencyKeyOf(this.#request);
  }

  get trace(): TraceContext | null {
    return requestTrace(this.#request);
  }

  get scope(): EndpointScope | undefined {
    this.wasScoped = true;
    return this.#request.scope;
  }

  warn(...warnings: readonly string[]): void {
    if (warnings.length > 0) this.#request.warnings = [...(this.#request.warnings ?? []), ...warnings];
  }
}

/** The version of the config that the caller wants to change. */
function wantedVersion({ headers }: FastifyRequest): number | null {
  const given = headers[CONFIG_VERSION_HEADER];
  if (given === undefined) return null;
  if (typeof given !== 'string' || !/^\d{1,15}$/.test(given))
    throw invalid(CONFIG_VERSION_HEADER, 'must be the number of a version');
  return Number(given);
}

/** A call that would not know the header would make its change. */
function wantsDryRun({ headers }: FastifyRequest, hasDryRun: boolean): boolean {
  const given = headers[DRY_RUN_HEADER] ?? 'false';
  if (given !== 'true' && given !== 'false') throw invalid(DRY_RUN_HEADER, 'must be true or false');
  if (given === 'true' && !hasDryRun) throw invalid(DRY_RUN_HEADER, 'this call has no dry run');
  return given === 'true';
}

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

export function idempotencyKeyOf({ headers }: FastifyRequest): string | undefined {
  const given = headers['idempotency-key'];
  if (given === undefined || given === '') return undefined;
  if (typeof given !== 'string' || !IDEMPOTENCY_KEY.test(given))
    throw invalid('Idempotency-Key', 'must be 1 to 255 visible characters of ASCII');
  return given;
}

function originOf({ ip, headers }: FastifyRequest): Parameters<typeof actorOf>[1] {
  return { address: ip, cliUser: headers[CLI_USER_HEADER], via: via.getStore() };
}
