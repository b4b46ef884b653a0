import type { StateKind } from '../../control/state-changes.ts';
import type { LastFailure } from '../../domain/alert.ts';
import type { ProjectId } from '../../domain/ids.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { Loop } from '../../platform/loop.ts';
import type { ConfigCache } from '../../routing/config-cache.ts';
import type { Probe } from '../../store/limits/breakers.ts';
import { asksToDisable } from '../attempt/judge-outcome.ts';
import { lastFailure, type Tried } from '../attempt/sent.ts';
import type { EnginePart } from '../deps/engine-deps.ts';
import type { OutcomeListener, ProbedDelivery } from '../queue/dispatcher.ts';
import type { Finding } from './breaker-changes.ts';

/**
 * Watches endpoints, and requests changes of their circuit breakers (breaker-changes.ts).
 *
 * Closed: an endpoint with failures since the last check is checked again after its project's sample_rate.
 * Open: only probes count. A request that was in flight when it opened does not move it. Neither does a probe
 * that another node took over (its fence is old). With disable_endpoint an endpoint becomes inactive when its
 * breaker has opened too often in a row, or when a delivery used up its retries and no other succeeded. A receiver
 * that wants no more deliveries always makes it inactive: 410, or a header of its answer, also of a success.
 */
export interface EndpointHealthDeps extends EnginePart<'clock' | 'log'> {
  cache: Pick<ConfigCache, 'peek'>;
  /** Breakers move and endpoints are disabled where the findings of a project ask for it. */
  changes: StateKind<Finding>;
}

interface Watched {
  projectId: ProjectId;
  lastLook: number;
  hasFailed: boolean;
  last: LastFailure;
}

const probeOf = ({ endpointId, probeFence }: ProbedDelivery): Probe | null =>
  probeFence === null ? null : { endpointId, fence: probeFence };

/** Why an endpoint wants no more deliveries. */
function unwanted(sent: Tried): { reason: string; last: LastFailure } {
  const isAsked = asksToDisable(sent.exchange.outcome);
  const reason = isAsked ? 'it answered with webhook-delivery: disable' : 'it answered 410 Gone';
  const last = lastFailure(sent);
  return { reason, last: sent.verdict === 'success' ? { ...last, reason: 'The delivery succeeded' } : last };
}

const TICK_MS = 1_000;
const MAX_WATCHED = 100_000;

export class EndpointHealth implements OutcomeListener {
  readonly #deps: EndpointHealthDeps;
  readonly #watched = new BoundedMap<string, Watched>(MAX_WATCHED);
  readonly #loop: Loop;

  constructor(deps: EndpointHealthDeps) {
    this.#deps = deps;
    const { clock, log } = deps;
    this.#loop = new Loop({
      turn: () => this.#tick(),
      onError: (error) => log.warn({ err: error }, 'could not look at failing endpoints'),
      everyMs: TICK_MS,
      clock,
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  attempted(sent: Tried): void {
    const { delivery, verdict } = sent;
    const { endpointId, projectId } = delivery;
    const succeeded = verdict === 'success';
    const routing = this.#deps.cache.peek(projectId);
    const at = { projectId, endpointId, seen: routing?.endpoints.get(endpointId)?.row.version };
    if (verdict === 'gone' || asksToDisable(sent.exchange.outcome))
      this.#deps.changes.add({ ...at, kind: 'gone', key: `gone ${endpointId}`, ...unwanted(sent) });
    if (routing === undefined) return;
    const probe = probeOf(delivery);
    if (probe !== null)
      this.#deps.changes.add({ ...at, kind: 'probed', probe, failure: succeeded ? null : lastFailure(sent) });
    if (verdict === 'exhausted' && routing.project.config.disable_endpoint)
      this.#deps.changes.add({
        ...at,
        kind: 'exhausted',
        key: `exhausted ${endpointId}`,
        last: lastFailure(sent),
      });
    if (!succeeded) this.#watch(projectId, endpointId, lastFailure(sent));
  }

  notProbed(delivery: ProbedDelivery): void {
    const { projectId, endpointId } = delivery;
    const probe = probeOf(delivery);
    if (probe !== null) this.#deps.changes.add({ projectId, endpointId, kind: 'not probed', probe });
  }

  #watch(projectId: ProjectId, endpointId: string, last: LastFailure): void {
    const known = this.#watched.get(endpointId);
    if (known !== undefined) {
      known.hasFailed = true;
      known.last = last;
    } else {
      const lastLook = this.#deps.clock.elapsed();
      this.#watched.set(endpointId, { projectId, lastLook, hasFailed: true, last });
    }
  }

  #tick(): void {
    const now = this.#deps.clock.elapsed();
    for (const [endpointId, watched] of this.#watched) {
      const { projectId, last } = watched;
      const routing = this.#deps.cache.peek(projectId);
      if (routing === undefined || !watched.hasFailed) {
        this.#watched.delete(endpointId);
      } else if (now - watched.lastLook >= routing.project.config.circuit_breaker.sample_rate * 1000) {
        watched.lastLook = now;
        watched.hasFailed = false;
        if (routing.breaker(endpointId).state === 'closed')
          this.#deps.changes.add({
            projectId,
            endpointId,
            kind: 'failing',
            key: `failing ${endpointId}`,
            last,
          });
      }
    }
  }
}
