import type { FastifyRequest } from 'fastify';
import type { Actor } from '../domain/audit.ts';
import { AppError } from '../domain/errors.ts';
import type { Sealer } from '../platform/sealer.ts';
import type { ConfigCache } from '../routing/config-cache.ts';
import { findApiKey } from '../store/api-keys.ts';
import type { Database } from '../store/database.ts';
import { findLinkByRefreshToken, findLinkByStaticToken } from '../store/portal-links.ts';
import { CallRate } from './call-rate.ts';
import { ownerScope } from './portal-scope.ts';

/**
 * Who is calling. The instance key may do anything; a project key anything in its project; the holder of a portal
 * link what operations declare open to portals, for the endpoints of the link's owner.
 */
export type Caller =
  | { kind: 'instance'; keyId: string }
  | { kind: 'project'; keyId: string; projectId: string }
  | { kind: 'portal'; linkId: string; projectId: string; ownerId: string; canManage: boolean };

/** The caller, as the audit log names it. */
export function actorOf(caller: Caller): Actor {
  switch (caller.kind) {
    case 'instance':
      return { type: 'instance_key', id: caller.keyId };
    case 'project':
      return { type: 'api_key', id: caller.keyId };
    case 'portal':
      return { type: 'portal_link', id: caller.linkId };
  }
}

/**
 * Finds callers by their key. A key that was good is remembered for a second and calls at the same time share one
 * look-up, so that a busy client costs no query per request and a revoked key still stops within a second on every
 * node.
 */
const REMEMBER_MS = 1_000;
const MAX_REMEMBERED = 10_000;

interface AuthenticatorDeps {
  db: Database;
  sealer: Sealer;
  cache: ConfigCache;
  /** Most calls per key and second; 0 = no limit. */
  callsPerSecond: number;
}

export class Authenticator {
  readonly #deps: AuthenticatorDeps;
  readonly #rate: CallRate;
  readonly #known = new Map<string, { caller: Promise<Caller>; until: number }>();

  constructor(deps: AuthenticatorDeps) {
    this.#deps = deps;
    this.#rate = new CallRate(deps.callsPerSecond);
  }

  authenticate(request: FastifyRequest): Promise<Caller> {
    const key = keyOf(request.headers.authorization);
    const known = this.#known.get(key);
    if (known !== undefined && known.until > performance.now()) return known.caller;
    const caller = this.#find(key);
    if (this.#known.size >= MAX_REMEMBERED) this.#known.clear();
    this.#known.set(key, { caller, until: performance.now() + REMEMBER_MS });
    caller.catch(() => this.#known.delete(key));
    return caller;
  }

  /** Throws when the caller's key or link has made too many calls in this second. */
  admit(caller: Caller): void {
    this.#rate.count(caller.kind === 'portal' ? caller.linkId : caller.keyId);
  }

  async #find(key: string): Promise<Caller> {
    if (!key.startsWith('CO.')) return this.#findPortal(key);
    const row = await findApiKey(this.#deps.db, this.#deps.sealer.lookupHash(key));
    if (row === undefined) throw new AppError('key_rejected');
    if (row.project_id === null) return { kind: 'instance', keyId: row.id };
    return { kind: 'project', keyId: row.id, projectId: row.project_id };
  }

  async #findPortal(token: string): Promise<Caller> {
    const { db, sealer } = this.#deps;
    const find = token.startsWith('PRT.') ? findLinkByRefreshToken : findLinkByStaticToken;
    const link = await find(db, sealer.lookupHash(token));
    if (link === undefined) throw new AppError('key_rejected');
    return {
      kind: 'portal',
      linkId: link.id,
      projectId: link.project_id,
      ownerId: link.owner_id,
      canManage: link.can_manage_endpoint,
    };
  }

  /**
   * Puts the project of the path on the request, if the caller may use it, and the part of it that a portal caller
   * may see. Paths of the portal name no project: it is the caller's own.
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
