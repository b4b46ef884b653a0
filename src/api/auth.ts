import type { FastifyRequest } from 'fastify';
import { AppError } from '../domain/errors.ts';
import type { Sealer } from '../platform/sealer.ts';
import type { ConfigCache } from '../routing/config-cache.ts';
import { findApiKey } from '../store/api-keys.ts';
import type { Database } from '../store/database.ts';
import { CallRate } from './call-rate.ts';

/** Who is calling. The instance key may do anything; a project key anything in its project. */
export type Caller =
  | { kind: 'instance'; keyId: string }
  | { kind: 'project'; keyId: string; projectId: string };

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

  /** Throws when the caller's key has made too many calls in this second. */
  admit(caller: Caller): void {
    this.#rate.count(caller.keyId);
  }

  async #find(key: string): Promise<Caller> {
    const row = await findApiKey(this.#deps.db, this.#deps.sealer.lookupHash(key));
    if (row === undefined) throw new AppError('key_rejected');
    if (row.project_id === null) return { kind: 'instance', keyId: row.id };
    return { kind: 'project', keyId: row.id, projectId: row.project_id };
  }

  /** Puts the project of the path on the request, if the caller may use it. */
  async openProject(request: FastifyRequest, caller: Caller): Promise<void> {
    const { projectID } = request.params as { projectID?: string };
    if (projectID === undefined) return;
    if (caller.kind === 'project' && caller.projectId !== projectID) {
      throw new AppError('project_forbidden', { project: projectID });
    }
    const routing = this.#deps.cache.peek(projectID) ?? (await this.#deps.cache.get(projectID));
    request.project = routing.project;
  }
}

function keyOf(header: string | undefined): string {
  const key = header?.trim().replace(/^bearer(\s+|$)/i, '') ?? '';
  if (key === '' || /\s/.test(key)) throw new AppError('unauthenticated');
  return key;
}

export function requireInstanceKey(caller: Caller): void {
  if (caller.kind !== 'instance') throw new AppError('instance_key_required');
}
