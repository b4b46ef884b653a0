import { isDeepStrictEqual } from 'node:util';
import type { LeasedDelivery, Place } from '../../domain/delivery.ts';
import type { EndpointId, ProjectId } from '../../domain/ids.ts';
import type { PullResult, ResultState } from '../../domain/pull-service.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import type { AttemptTemplates } from '../../store/attempts/attempt-templates.ts';
import { projectMoving, refuseMoving } from '../../store/config/projects.ts';
import type { Finish } from '../../store/queue/finish.ts';
import { finishSingles } from '../../store/queue/finish-rows.ts';
import {
  type AttemptResult,
  countedAttempts,
  reportedDeliveries,
} from '../../store/queue/pull-deliveries.ts';
import { countOutcome } from '../attempt/observe-outcome.ts';
import { outcomeMetaEvent } from '../attempt/sender.ts';
import { ENDPOINT_DELETED, ended, isTried, PROJECT_DELETED, type Sent, type Tried } from '../attempt/sent.ts';
import type { EnginePart } from '../deps/engine-deps.ts';
import { type PullLease, readLease } from './lease-token.ts';
import { leaseEnded, reported } from './reported.ts';

/**
 * Records the results of consumers: attempt, state of the delivery, queue row and meta event in one commit, as for a
 * request. A result whose lease has ended is stored as a stale attempt and changes nothing. The attempt's id is in the
 * lease, so a result that comes again adds nothing. Another result for the lease is a conflict.
 */
export interface PullResultsDeps
  extends EnginePart<'db' | 'cache' | 'sealer' | 'metaEvents' | 'metrics' | 'guard' | 'ids' | 'now'> {
  templates: AttemptTemplates;
  /** A consumer's attempt, for alerts. */
  attempted(sent: Tried): void;
  /** The next deliveries of ordering keys are due. */
  released(places: readonly Place[]): void;
  /** These outcomes were committed. */
  recorded(finishes: readonly Finish[], moved: ReadonlySet<string>): void;
  /** A delivery waits for its next try, or a meta event was stored. */
  waiting(sent: Sent): void;
}

interface Known {
  result: PullResult;
  lease: PullLease;
}

/** So many bodies are in memory at a time, where a project wants meta events. */
const WITH_BODIES_AT_A_TIME = 10;

/** Whether a result that comes again is the recorded one. */
const isSame = (before: AttemptResult, again: AttemptResult | null | undefined): boolean =>
  before.succeeded === again?.succeeded &&
  before.httpStatus === again.httpStatus &&
  before.error === again.error;

export class PullResults {
  readonly #deps: PullResultsDeps;

  constructor(deps: PullResultsDeps) {
    this.#deps = deps;
  }

  async report(
    at: { projectId: ProjectId; endpointId: EndpointId },
    results: readonly PullResult[],
  ): Promise<ResultState[]> {
    const routing = await this.#deps.cache.get(at.projectId);
    // The leases are parked: a result gets its answer where the project goes on.
    if (routing.isMoving) throw projectMoving(at.projectId);
    const withBodies = routing.project.config.meta_event.is_enabled;
    // Two results of one delivery cannot be in one statement; the first one counts.
    const known = new Map<string, Known>();
    for (const result of results) {
      const lease = readLease(this.#deps.sealer, result.id, result.lease);
      if (lease !== null && !known.has(result.id)) known.set(result.id, { result, lease });
    }
    const states = new Map<string, ResultState>();
    const size = withBodies ? WITH_BODIES_AT_A_TIME : Math.max(1, known.size);
    for (let from = 0; from < known.size; from += size) {
      const some = [...known.values()].slice(from, from + size);
      for (const [token, state] of await this.#record(some, { ...at, withBodies, routing }))
        states.set(token, state);
    }
    return results.map((result) => {
      const state = states.get(result.lease) ?? 'unknown';
      const first = known.get(result.id)?.result;
      return state === 'recorded' && !isDeepStrictEqual(result, first) ? 'conflict' : state;
    });
  }

  /** A lease ended. */
  async leaseEnded(delivery: LeasedDelivery): Promise<Sent> {
    const { cache, ids, now } = this.#deps;
    const routing = await cache.getOrNull(delivery.projectId);
    if (routing === null) return ended(delivery, 'Discarded', PROJECT_DELETED);
    if (!routing.endpoints.has(delivery.endpointId)) return ended(delivery, 'Discarded', ENDPOINT_DELETED);
    return leaseEnded(delivery, { routing, attemptId: ids.next(), nowMs: now() });
  }

  /** By lease. */
  async #record(
    some: readonly Known[],
    at: { projectId: ProjectId; endpointId: EndpointId; withBodies: boolean; routing: ProjectRouting },
  ): Promise<Map<string, ResultState>> {
    const { db, now } = this.#deps;
    const stored = await reportedDeliveries(db, { ...at, ids: some.map(({ result }) => result.id) });
    const mine = some.filter(({ result }) => stored.has(result.id));
    const sent = mine.map(({ result, lease }) => {
      const row = stored.get(result.id) as LeasedDelivery;
      // The row may be about another lease.
      const delivery = { ...row, fence: lease.fence, pulled: row.fence === lease.fence ? row.pulled : null };
      return reported(delivery, result, { ...lease, routing: at.routing, nowMs: now() });
    });
    const moved = await this.record(sent);
    const late = mine.filter(({ result }) => !moved.has(result.id));
    // This node may not know yet that the project moves.
    if (late.length > 0) await refuseMoving(db, at.projectId);
    const counted =
      late.length === 0
        ? new Map<string, AttemptResult>()
        : await countedAttempts(
            db,
            at.projectId,
            late.map(({ result, lease }) => ({ deliveryId: result.id, attemptId: lease.attemptId })),
          );
    return new Map(
      mine.map(({ result, lease }, n) => {
        if (moved.has(result.id)) return [result.lease, 'recorded'];
        const before = counted.get(lease.attemptId);
        if (before === undefined) return [result.lease, 'late'];
        return [result.lease, isSame(before, sent[n]?.attempt) ? 'recorded' : 'conflict'];
      }),
    );
  }

  /** Records outcomes of rows that consumers have, or that are prepared for one. Returns the ids of those that moved. */
  async record(outcomes: readonly Sent[]): Promise<Set<string>> {
    if (outcomes.length === 0) return new Set();
    const { db, templates, metrics, guard, attempted, waiting } = this.#deps;
    const withMeta = outcomes.map((sent) => guard.run('meta_event', () => this.#withMetaEvent(sent), sent));
    const { moved, released } = await finishSingles(db, { nodeId: null, templates }, withMeta);
    this.#deps.released(released);
    this.#deps.recorded(withMeta, moved);
    for (const sent of withMeta) {
      const hasMoved = moved.has(sent.delivery.id);
      countOutcome(metrics, sent, hasMoved);
      if (!hasMoved) continue;
      waiting(sent);
      if (isTried(sent)) attempted(sent);
    }
    return moved;
  }

  #withMetaEvent(sent: Sent): Sent {
    const { cache, metaEvents, now } = this.#deps;
    const project = cache.peek(sent.delivery.projectId)?.project;
    if (project?.config.meta_event.is_enabled === true)
      sent.metaEvent = outcomeMetaEvent(metaEvents, project, sent, now());
    return sent;
  }
}
