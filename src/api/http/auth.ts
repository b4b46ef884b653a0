import type { FastifyRequest } from 'fastify';
import type { Actor } from '../../domain/audit.ts';
import { AppError } from '../../domain/errors.ts';
import { Batcher } from '../../platform/batcher.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import type { Sealer } from '../../platform/sealer.ts';
import type { ConfigCache } from '../../routing/config-cache.ts';
import { type ApiKeyRow, findApiKeys } from '../../store/config/api-keys.ts';
import { findLinksByToken, type OpenedLink } from '../../store/config/portal-links.ts';
import type { Database } from '../../store/database/database.ts';
import { CallRate } from './call-rate.ts';
import { ownerScope } from './portal-scope.ts';

/**
 * The caller. The instance key may do anything. A project key may do anything in its project. The holder of a
 * portal link may use operations open to portals, for the endpoints of the link's owner.
 */
export type Caller =
  | { kind: 'instance'; keyId: string }
  | { kind: 'project'; keyId: string; projectId: string }
  | {
      kind: 'portal';
      linkId: string;
      projectId: string;
      ownerId: string;
      canManage: boolean;
      canCreateEvents: boolean;
      eventTypes: readonly string[];
    };

/** The caller in the form of the audit log. `cliUser`: the value of CLI_USER_HEADER. */
export function actorOf(caller: Caller, cliUser?: string | string[]): Actor {
  switch (caller.kind) {
    case 'instance':
      return cliActor(cliUser) ?? { type: 'instance_key', id: caller.keyId };
    case 'project':
      return { type: 'api_key', id: caller.keyId };
    case 'portal':
      return { type: 'portal_link', id: caller.linkId };
  }
}

const MAX_USER_CHARS = 256;

/** An unreadable name is ignored, so the entry names the key. */
function cliActor(encoded: string | string[] | undefined): Actor | null {
  if (typeof encoded !== 'string' || encoded === '' || encoded.length > MAX_USER_CHARS) return null;
  try {
    const id = decodeURIComponent(encoded);
    return id.includes('\0') ? null : { type: 'cli', id };
  } catch {
    return null;
  }
}

/**
 * Finds callers by their key. States of each key:
 *   unknown    -> looked up; concurrent calls share one lookup;
 *   remembered -> cached for a second from the start of the lookup, so that a busy client costs no query per request;
 *   over       -> it has expired by the clock, or access to its project changed after the lookup began.
 *
 * Access that ends or narrows therefore changes at once on the node that did it (`forget` runs before its
 * response), on others when the notification arrives, and without notifications after that second.
 */
const REMEMBER_MS = 1_000;
const LOOK_UPS = 500;
const MAX_REMEMBERED = 10_000;

interface Found {
  caller: Caller;
  /** When the key or token expires, in the database's time. Null: never. */
  expiresAtMs: number | null;
}

interface Remembered {
  found: Promise<Found>;
  /** By the monotonic clock. */
  since: number;
}

interface AuthenticatorDeps {
  db: Database;
  sealer: Sealer;
  cache: ConfigCache;
  /** The database's time in milliseconds. */
  now(): number;
  /** Maximum calls per key and second; 0 = no limit. */
  callsPerSecond: number;
}

export class Authenticator {
  readonly #deps: AuthenticatorDeps;
  readonly #rate: CallRate;
  /** Lookups share a statement, one at a time, so invented keys cannot fill the pool. */
  readonly #keys: Batcher<Buffer, ApiKeyRow | undefined>;
  readonly #links: Batcher<Buffer, OpenedLink | undefined>;
  readonly #known = new BoundedMap<string, Remembered>(MAX_REMEMBERED);
  /** Projects whose access changed, and when, by the monotonic clock. */
  readonly #changed = new Map<string, number>();

  constructor(deps: AuthenticatorDeps) {
    this.#deps = deps;
    this.#rate = new CallRate(deps.callsPerSecond);
    const sharing = { maxWeight: LOOK_UPS, maxInFlight: 1, paceMs: 0 };
    this.#keys = new Batcher({ run: (hashes) => findApiKeys(deps.db, hashes), ...sharing });
    this.#links = new Batcher({ run: (hashes) => findLinksByToken(deps.db, hashes), ...sharing });
  }

  async authenticate(request: FastifyRequest): Promise<Caller> {
    const key = keyOf(request.headers.authorization);
    for (;;) {
      const known = this.#remembered(key) ?? this.#lookUp(key);
      const { caller, expiresAtMs } = await known.found;
      if (expiresAtMs !== null && expiresAtMs <= this.#deps.now()) throw new AppError('key_rejected');
      if (!this.#isOver(known, caller)) return caller;
      this.#drop(key, known);
    }
  }

  /** Access to a project ended or narrowed: earlier lookups are void. */
  forget(projectId: string): void {
    const now = performance.now();
    if (this.#changed.size >= MAX_REMEMBERED) {
      for (const [id, at] of this.#changed) if (now - at > REMEMBER_MS) this.#changed.delete(id);
    }
    this.#changed.set(projectId, now);
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
    return (this.#changed.get(caller.projectId) ?? Number.NEGATIVE_INFINITY) >= since;
  }

  #drop(key: string, known: Remembered): void {
    if (this.#known.get(key) === known) this.#known.delete(key);
  }

  /** Throws if the caller's key or link has made too many calls in this second. */
  admit(caller: Caller): void {
    this.#rate.count(caller.kind === 'portal' ? caller.linkId : caller.keyId);
  }

  async #find(key: string): Promise<Found> {
    if (!key.startsWith('CO.')) return this.#findPortal(key);
    const row = await this.#keys.add(this.#deps.sealer.lookupHash(key));
    if (row === undefined) throw new AppError('key_rejected');
    const caller: Caller =
      row.project_id === null
        ? { kind: 'instance', keyId: row.id }
        : { kind: 'project', keyId: row.id, projectId: row.project_id };
    return { caller, expiresAtMs: row.expires_at };
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
      canCreateEvents: link.can_create_events,
      eventTypes: link.event_types,
    };
    return { caller, expiresAtMs: link.opens_until };
  }

  /**
   * Sets the project of the path on the request, if the caller may use it, and the scope of a portal caller.
   * Paths of the portal have no project: it is the caller's own.
   */
  async openProject(request: FastifyRequest, caller: Caller): Promise<void> {
    const id = (request.params as { projectID?: string }).projectID ?? portalProject(request, caller);
    if (id === undefined) return;
    if (caller.kind !== 'instance' && caller.projectId !== id) {
      throw new AppError('project_forbidden', { project: id });
    }
    const routing = this.#deps.cache.peek(id) ?? (await this.#deps.cache.get(id));
    request.project = routing.project;
    if (caller.kind === 'portal') request.scope = ownerScope(routing, caller);
  }
}

function portalProject(request: FastifyRequest, caller: Caller): string | undefined {
  if (request.routeOptions.url?.startsWith('/portal-api/') !== true) return undefined;
  if (caller.kind === 'instance') throw new AppError('project_required');
  return caller.projectId;
}

function keyOf(header: string | undefined): string {
  const key = header?.trim().replace(/^bearer(\s+|$)/i, '') ?? '';
  if (key === '' || /\s/.test(key)) throw new AppError('unauthenticated');
  return key;
}

export function requireInstanceKey(caller: Caller): void {
  if (caller.kind !== 'instance') throw new AppError('instance_key_required');
}
