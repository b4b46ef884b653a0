import type { FastifyRequest } from 'fastify';
import { AppError } from '../../../domain/errors.ts';
import { asId, type ProjectId } from '../../../domain/ids.ts';
import { readRole } from '../../../domain/role.ts';
import { Batcher } from '../../../platform/batcher.ts';
import { BoundedMap } from '../../../platform/bounded-map.ts';
import type { Sealer } from '../../../platform/sealer.ts';
import type { ConfigCache } from '../../../routing/config-cache.ts';
import { type FoundKey, findApiKeys } from '../../../store/config/api-keys.ts';
import { findLinksByToken, type OpenedLink } from '../../../store/config/portal-links.ts';
import { projectMoving } from '../../../store/config/projects.ts';
import type { Database } from '../../../store/database/database.ts';
import { because, isConnectionError } from '../../../store/database/pg-errors.ts';
import { findSessions, type OpenedSession } from '../../../store/people/sessions.ts';
import { roleOf } from './access.ts';
import { CallRate } from './call-rate.ts';
import type { Caller } from './caller.ts';
import { ownerScope } from './caller.ts';
import { refuseCrossSite, sessionToken } from './session-cookie.ts';

/**
 * Finds callers by their key, portal token or session cookie. States of each:
 *   unknown    -> looked up; concurrent calls share one lookup;
 *   remembered -> cached for a second from the start of the lookup, so that a busy client costs no query per request;
 *   over       -> it has expired by the clock, or access to its project, or the rights of its person, changed after
 *                 the lookup began.
 *
 * Access that ends or narrows therefore changes at once on the node that did it (`forget` runs before its
 * response), on others when the notification arrives, and without notifications after that second. A body may arrive
 * long after its headers, so the caller is looked at again once the body is here (`isFresh`).
 */
const REMEMBER_MS = 1_000;
const LOOK_UPS = 500;
const MAX_REMEMBERED = 10_000;
/** Before the value of a cookie. A key or token has no space, so the two cannot be confused. */
const SESSION = 'session ';

interface Found {
  caller: Caller;
  /** When the key or token expires, in the database's time. Null: never. */
  expiresAtMs: number | null;
}

export interface Remembered {
  found: Promise<Found>;
  /** By the monotonic clock. */
  since: number;
}

interface AuthenticatorDeps {
  db: Database;
  /** The database of people and the instance key. Most often it is `db`. */
  home: Database;
  sealer: Sealer;
  cache: ConfigCache;
  /** The database's time in milliseconds. */
  now(): number;
  /** Maximum calls per key and second; 0 = no limit. */
  callsPerSecond: number;
  /** The limit of each portal link. */
  portalCallsPerSecond: number;
  /** A session that is not used for so long has ended. */
  idleSeconds: number;
  needsSecondFactor: boolean;
  publicUrl(): string;
}

export class Authenticator {
  readonly #deps: AuthenticatorDeps;
  readonly #rate: CallRate;
  readonly #portalRate: CallRate;
  /** Lookups share a statement, one at a time, so invented keys cannot fill the pool. */
  readonly #keys: Batcher<Buffer, FoundKey | undefined>;
  /** For cells away from home. */
  readonly #instanceKeys: Batcher<Buffer, FoundKey | undefined>;
  readonly #links: Batcher<Buffer, OpenedLink | undefined>;
  readonly #sessions: Batcher<Buffer, OpenedSession | undefined>;
  readonly #known = new BoundedMap<string, Remembered>(MAX_REMEMBERED);
  /** Projects whose access changed and people whose rights changed, and when, by the monotonic clock. */
  readonly #changed = new Map<string, number>();

  constructor(deps: AuthenticatorDeps) {
    this.#deps = deps;
    this.#rate = new CallRate(deps.callsPerSecond);
    this.#portalRate = new CallRate(deps.portalCallsPerSecond);
    const sharing = { maxWeight: LOOK_UPS, maxInFlight: 1, paceMs: 0 };
    this.#keys = new Batcher({ run: (hashes) => findApiKeys(deps.db, hashes), ...sharing });
    this.#links = new Batcher({ run: (hashes) => findLinksByToken(deps.db, hashes), ...sharing });
    this.#sessions = new Batcher({
      run: (hashes) => findSessions(deps.home, hashes, deps.idleSeconds),
      ...sharing,
    });
    this.#instanceKeys = new Batcher({ run: (hashes) => findApiKeys(deps.home, hashes), ...sharing });
  }

  /** Sets the caller of a request and the project of its path. */
  async enter(request: FastifyRequest): Promise<Caller> {
    const caller = await this.authenticate(request);
    if (caller.kind === 'person') refuseCrossSite(request, this.#deps.publicUrl());
    request.caller = caller;
    await this.#openProject(request, caller);
    return caller;
  }

  /** Whether the lookup of the request's caller still holds. */
  isFresh({ lookup, caller }: FastifyRequest): boolean {
    if (lookup === undefined || caller === undefined) return false;
    return performance.now() - lookup.since < REMEMBER_MS && !this.#isOver(lookup, caller);
  }

  async authenticate(request: FastifyRequest): Promise<Caller> {
    const key = this.#credentialOf(request);
    for (;;) {
      const known = this.#remembered(key) ?? this.#lookUp(key);
      const { caller, expiresAtMs } = await known.found;
      if (expiresAtMs !== null && expiresAtMs <= this.#deps.now())
        throw new AppError(caller.kind === 'person' ? 'session_ended' : 'key_rejected');
      if (!this.#isOver(known, caller)) {
        request.lookup = known;
        return caller;
      }
      this.#drop(key, known);
    }
  }

  /** Access to a project, or the rights of a person, ended or narrowed: earlier lookups are void. */
  forget(id: string): void {
    const now = performance.now();
    if (this.#changed.size >= MAX_REMEMBERED) {
      for (const [other, at] of this.#changed) if (now - at > REMEMBER_MS) this.#changed.delete(other);
    }
    this.#changed.set(id, now);
  }

  #remembered(key: string): Remembered | undefined {
    const known = this.#known.get(key);
    return known !== undefined && performance.now() - known.since < REMEMBER_MS ? known : undefined;
  }

  #lookUp(key: string): Remembered {
    const known = { found: this.#find(key), since: performance.now() };
    this.#known.set(key, known);
    known.found.catch(() => this.#drop(key, known));
    return known;
  }

  #isOver({ since }: Remembered, caller: Caller): boolean {
    if (caller.kind === 'instance') return false;
    const id = caller.kind === 'person' ? caller.personId : caller.projectId;
    return (this.#changed.get(id) ?? Number.NEGATIVE_INFINITY) >= since;
  }

  #drop(key: string, known: Remembered): void {
    if (this.#known.get(key) === known) this.#known.delete(key);
  }

  /** Throws if the caller's key or link has made too many calls in this second. */
  admit(caller: Caller): void {
    if (caller.kind === 'portal') this.#portalRate.count(caller.linkId);
    else this.#rate.count(caller.kind === 'person' ? caller.personId : caller.keyId);
  }

  /** A key in the header comes first: its sender chose it, and a browser adds cookies by itself. */
  #credentialOf(request: FastifyRequest): string {
    const { authorization } = request.headers;
    const token = authorization === undefined ? sessionToken(request, this.#deps.publicUrl()) : undefined;
    return token === undefined ? keyOf(authorization) : `${SESSION}${token}`;
  }

  async #find(key: string): Promise<Found> {
    if (key.startsWith(SESSION)) return this.#findSession(key.slice(SESSION.length));
    if (!key.startsWith('CO.')) return this.#findPortal(key);
    const hash = this.#deps.sealer.lookupHash(key);
    const row = (await this.#keys.add(hash)) ?? (await this.#instanceKey(hash));
    if (row === undefined) throw new AppError('key_rejected');
    if (row.has_moved) throw projectMoving(row.project_id ?? '');
    const caller: Caller =
      row.project_id === null
        ? { kind: 'instance', keyId: row.id }
        : { kind: 'project', keyId: row.id, projectId: row.project_id, role: readRole(row.role) };
    return { caller, expiresAtMs: row.expires_at };
  }

  /** Only the home has it. Keys of projects there open nothing here. */
  async #instanceKey(hash: Buffer): Promise<FoundKey | undefined> {
    if (this.#deps.home === this.#deps.db) return undefined;
    const row = await this.#atHome(this.#instanceKeys.add(hash));
    return row?.project_id === null ? row : undefined;
  }

  async #atHome<T>(asked: Promise<T>): Promise<T> {
    try {
      return await asked;
    } catch (error) {
      if (this.#deps.home === this.#deps.db || !isConnectionError(error)) throw error;
      throw new AppError('home_unavailable', { retry: 1 }, because(error));
    }
  }

  async #findSession(token: string): Promise<Found> {
    const session = await this.#atHome(this.#sessions.add(this.#deps.sealer.lookupHash(token)));
    if (session === undefined) throw new AppError('session_ended');
    const caller: Caller = {
      kind: 'person',
      personId: session.person_id,
      sessionId: session.id,
      isInstanceAdmin: session.is_instance_admin,
      hasSecondFactor: session.has_second_factor,
      needsSecondFactor: this.#deps.needsSecondFactor,
      roles: session.roles,
    };
    return { caller, expiresAtMs: session.expires_at };
  }

  async #findPortal(token: string): Promise<Found> {
    const link = await this.#links.add(this.#deps.sealer.lookupHash(token));
    if (link === undefined) throw new AppError('key_rejected');
    const caller: Caller = {
      kind: 'portal',
      linkId: link.id,
      projectId: link.project_id,
      ownerId: link.owner_id,
      canManage: link.can_manage_endpoint,
      canRetry: link.can_retry,
      canSeeSecrets: link.can_see_secrets ?? link.can_manage_endpoint,
      canEditFunctions: link.can_edit_functions ?? link.can_manage_endpoint,
      canCreateEvents: link.can_create_events,
      canUseBrokers: link.can_use_brokers,
      eventTypes: link.event_types,
    };
    return { caller, expiresAtMs: link.opens_until };
  }

  /**
   * Sets the project of the path on the request, if the caller may use it, and the scope of a portal caller.
   * Paths of the portal have no project: it is the caller's own.
   */
  async #openProject(request: FastifyRequest, caller: Caller): Promise<void> {
    const id = (request.params as { projectID?: ProjectId }).projectID ?? portalProject(request, caller);
    if (id === undefined) return;
    if (roleOf(caller, id) === null && !(caller.kind === 'portal' && caller.projectId === id)) {
      throw new AppError('project_forbidden', { project: id });
    }
    const routing = this.#deps.cache.peek(id) ?? (await this.#deps.cache.get(id));
    request.project = routing.project;
    if (caller.kind === 'portal') request.scope = ownerScope(routing, caller);
  }
}

function portalProject(request: FastifyRequest, caller: Caller): ProjectId | undefined {
  if (request.routeOptions.url?.startsWith('/portal-api/') !== true) return undefined;
  if (caller.kind === 'instance' || caller.kind === 'person') throw new AppError('project_required');
  return asId(caller.projectId);
}

function keyOf(header: string | undefined): string {
  const key = header?.trim().replace(/^bearer(\s+|$)/i, '') ?? '';
  if (key === '' || /\s/.test(key)) throw new AppError('unauthenticated');
  return key;
}
