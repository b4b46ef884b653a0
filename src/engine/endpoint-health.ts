import type { Alert, LastFailure } from '../domain/alert.ts';
import { changeOf, INSTANCE } from '../domain/audit.ts';
import { opensBreaker, probesToClose } from '../domain/circuit-breaker.ts';
import type { HeldDelivery } from '../domain/event-delivery.ts';
import type { IdFactory } from '../domain/ids.ts';
import type { Logger } from '../platform/logger.ts';
import type { AlertRecorder } from '../routing/alert-recorder.ts';
import type { ConfigCache } from '../routing/config-cache.ts';
import type { ProjectRouting } from '../routing/project-routing.ts';
import {
  attemptsSince,
  countProbe,
  lockBreaker,
  type Probe,
  releaseProbe,
  saveBreaker,
} from '../store/breakers.ts';
import { type ConfigTx, changeConfig, changeState } from '../store/config-version.ts';
import type { Database } from '../store/database.ts';
import type { EndpointStore } from '../store/endpoints.ts';
import type { MetaEventRecorder } from '../store/meta-event-recorder.ts';
import type { Sent } from './delivery-sender.ts';
import type { OutcomeListener } from './dispatcher.ts';
import { lastFailure } from './last-failure.ts';

/**
 * Watches how endpoints do and moves their circuit breakers (domain/circuit-breaker.ts has the states).
 *
 * Closed: an endpoint with failures since the last look is looked at again once its project's sample_rate has passed;
 * the counts are everybody's. Open: only probes count; what was under way when it opened fails or succeeds without
 * moving it, and so does a probe that another node's took the place of (its fence is old). States are written under the row's lock and travel to
 * other nodes with the project's version, like any config. With disable_endpoint an endpoint becomes inactive when its
 * breaker has opened too often in a row, or a delivery used up its tries and nothing else got through; a 410 always
 * does it.
 */
export interface EndpointHealthDeps {
  db: Database;
  cache: ConfigCache;
  endpoints: EndpointStore;
  ids: IdFactory;
  metaEvents: MetaEventRecorder;
  alerts: AlertRecorder;
  restartCap(endpointId: string): void;
  log: Logger;
}

interface Watched {
  projectId: string;
  lastLook: number;
  hasFailed: boolean;
  last: LastFailure;
}

/** Why an endpoint is to become inactive, and how its last attempt ended. */
interface Cause {
  reason: string;
  last: LastFailure;
}

const probeOf = ({ endpointId, probeFence }: HeldDelivery): Probe | null =>
  probeFence === null ? null : { endpointId, fence: probeFence };

const TICK_MS = 1_000;
const MAX_WATCHED = 100_000;

export class EndpointHealth implements OutcomeListener {
  readonly #deps: EndpointHealthDeps;
  readonly #watched = new Map<string, Watched>();
  readonly #working = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: EndpointHealthDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#working);
  }

  attempted(delivery: HeldDelivery, sent: Sent): void {
    const { endpointId, projectId } = delivery;
    const succeeded = sent.effect === 'success';
    const routing = this.#deps.cache.peek(projectId);
    if (sent.isGone === true) {
      const cause = { reason: 'it answered 410 Gone', last: lastFailure(sent) };
      this.#run(() => this.#disable(projectId, endpointId, cause));
    }
    if (routing === undefined) return;
    const probe = probeOf(delivery);
    if (probe !== null) this.#run(() => this.#probed(routing, probe, succeeded ? null : lastFailure(sent)));
    if (sent.isExhausted === true && routing.project.config.disable_endpoint) {
      this.#run(() => this.#disableIfNothingGetsThrough(routing, endpointId, lastFailure(sent)));
    }
    if (!succeeded) this.#watch(projectId, endpointId, lastFailure(sent));
  }

  notProbed(delivery: HeldDelivery): void {
    const probe = probeOf(delivery);
    if (probe !== null) this.#run(() => releaseProbe(this.#deps.db, probe));
  }

  #watch(projectId: string, endpointId: string, last: LastFailure): void {
    const known = this.#watched.get(endpointId);
    if (known !== undefined) {
      known.hasFailed = true;
      known.last = last;
    } else {
      if (this.#watched.size >= MAX_WATCHED) this.#watched.clear();
      this.#watched.set(endpointId, { projectId, lastLook: performance.now(), hasFailed: true, last });
    }
  }

  #tick(): void {
    const now = performance.now();
    for (const [endpointId, watched] of this.#watched) {
      const routing = this.#deps.cache.peek(watched.projectId);
      if (routing === undefined || !watched.hasFailed) {
        this.#watched.delete(endpointId);
      } else if (now - watched.lastLook >= routing.project.config.circuit_breaker.sample_rate * 1000) {
        watched.lastLook = now;
        watched.hasFailed = false;
        this.#run(() => this.#look(routing, endpointId, watched.last));
      }
    }
  }

  async #look(routing: ProjectRouting, endpointId: string, last: LastFailure): Promise<void> {
    const settings = routing.project.config.circuit_breaker;
    const breaker = routing.breaker(endpointId);
    if (breaker.state === 'open') return;
    const since = { minutes: settings.observability_window, afterMs: breaker.changedAtMs };
    if (!opensBreaker(await attemptsSince(this.#deps.db, endpointId, since), settings)) return;
    await this.#open(routing, endpointId, { probe: null, last });
  }

  /** Opens the breaker, unless another node moved it meanwhile. `probe`: the one that failed while it was open. */
  async #open(
    routing: ProjectRouting,
    endpointId: string,
    { probe, last }: { probe: Probe | null; last: LastFailure },
  ): Promise<void> {
    const { cache, log, alerts } = this.#deps;
    const projectId = routing.project.id;
    const opened = await changeState(this.#deps, projectId, async (tx, version) => {
      const row = await lockBreaker(tx, endpointId);
      if ((row?.state ?? 'closed') !== (probe === null ? 'closed' : 'open')) return null;
      if (probe !== null && row?.fence !== probe.fence) return null;
      const next = (row?.trips ?? 0) + 1;
      await saveBreaker(
        tx,
        { id: endpointId, projectId, version },
        { state: 'open', trips: next, probes: 0 },
      );
      const summary = 'It keeps failing, so its circuit breaker opened: deliveries are held.';
      const alert = { kind: 'breaker', state: 'raised', summary, lastFailure: last } as const;
      return { trips: next, told: await this.#alert(tx, routing, { endpointId, version }, alert) };
    });
    await cache.refreshQuietly(projectId);
    if (opened === null) return;
    const { trips, told } = opened;
    alerts.notify(told);
    log.warn({ project: projectId, endpoint: endpointId, trips }, 'circuit breaker opened');
    const { disable_endpoint, circuit_breaker } = routing.project.config;
    if (disable_endpoint && trips >= circuit_breaker.consecutive_failure_threshold) {
      const reason = `its circuit breaker opened ${trips} times in a row`;
      await this.#disable(projectId, endpointId, { reason, last });
    }
  }

  /** `failure`: null where the probe succeeded. */
  async #probed(routing: ProjectRouting, probe: Probe, failure: LastFailure | null): Promise<void> {
    const { endpointId } = probe;
    if (failure !== null) return this.#open(routing, endpointId, { probe, last: failure });
    const { db, cache, log, alerts } = this.#deps;
    const projectId = routing.project.id;
    if ((await countProbe(db, probe)) < probesToClose(routing.project.config.circuit_breaker)) return;
    const told = await changeState(this.#deps, projectId, async (tx, version) => {
      const row = await lockBreaker(tx, endpointId);
      if (row?.state !== 'open') return null;
      await saveBreaker(tx, { id: endpointId, projectId, version }, { state: 'closed', trips: 0, probes: 0 });
      log.info({ project: projectId, endpoint: endpointId }, 'circuit breaker closed');
      const summary = 'It answers again, so its circuit breaker closed: deliveries go out.';
      const alert = { kind: 'breaker', state: 'cleared', summary, lastFailure: null } as const;
      return this.#alert(tx, routing, { endpointId, version }, alert);
    });
    alerts.notify(told);
    this.#deps.restartCap(endpointId);
    await cache.refreshQuietly(projectId);
  }

  async #disableIfNothingGetsThrough(
    routing: ProjectRouting,
    endpointId: string,
    last: LastFailure,
  ): Promise<void> {
    const minutes = routing.project.config.circuit_breaker.observability_window;
    const seen = await attemptsSince(this.#deps.db, endpointId, { minutes, afterMs: 0 });
    if (seen.successes > 0) return;
    await this.#disable(routing.project.id, endpointId, { reason: 'a delivery used up its tries', last });
  }

  async #disable(projectId: string, endpointId: string, { reason, last }: Cause): Promise<void> {
    const { endpoints, cache, log, alerts } = this.#deps;
    const told = await changeConfig(this.#deps, { projectId, actor: INSTANCE }, async (tx, version) => {
      const row = await endpoints.getForUpdate(tx, projectId, endpointId);
      if (row === undefined || row.status === 'inactive') return { result: null, audit: [] };
      const saved = await endpoints.save(tx, {
        id: row.id,
        projectId,
        version,
        fields: { ...row, status: 'inactive' },
        secret: row.secret,
        told: [{ type: 'endpoint.disabled', reason }],
      });
      log.warn({ project: projectId, endpoint: endpointId, reason }, 'endpoint disabled');
      const after = { ...saved, reason };
      const audit = [changeOf('endpoint.disabled', row, after)];
      const summary = `It was made inactive: ${reason}.`;
      const alert = { kind: 'disabled', state: 'raised', summary, lastFailure: last } as const;
      const raised = { ...alert, endpoint: saved, subscription: null };
      return { result: await alerts.record(tx, { id: projectId }, raised, version), audit };
    });
    alerts.notify(told);
    await cache.refreshQuietly(projectId);
  }

  async #alert(
    tx: ConfigTx,
    routing: ProjectRouting,
    at: { endpointId: string; version: number },
    alert: Omit<Alert, 'endpoint' | 'subscription'>,
  ): Promise<Alert | null> {
    const endpoint = routing.endpoints.get(at.endpointId)?.row;
    if (endpoint === undefined) return null;
    return this.#deps.alerts.record(
      tx,
      routing.project,
      { ...alert, endpoint, subscription: null },
      at.version,
    );
  }

  /** Breakers are advisory: a failure to move one is logged, and the next outcome tries again. */
  #run(work: () => Promise<void>): void {
    const working = work()
      .catch((error: unknown) => this.#deps.log.warn({ err: error }, 'endpoint health could not be updated'))
      .finally(() => this.#working.delete(working));
    this.#working.add(working);
  }
}
