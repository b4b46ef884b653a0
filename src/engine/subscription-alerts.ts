import type { Alert, LastFailure } from '../domain/alert.ts';
import { parseGoDuration } from '../domain/duration.ts';
import type { HeldDelivery } from '../domain/event-delivery.ts';
import type { Logger } from '../platform/logger.ts';
import type { AlertRecorder } from '../routing/alert-recorder.ts';
import type { ConfigCache } from '../routing/config-cache.ts';
import type { ProjectRouting } from '../routing/project-routing.ts';
import { countFailures, forgetFailures } from '../store/alerts.ts';
import { changeState } from '../store/config-version.ts';
import type { Database } from '../store/database.ts';
import type { MetaEventRecorder } from '../store/meta-event-recorder.ts';
import type { SubscriptionRow } from '../store/subscriptions.ts';
import type { Sent } from './delivery-sender.ts';
import { lastFailure } from './last-failure.ts';

/**
 * Watches the subscriptions that have an alert_config. Of each:
 *
 * quiet  -> failed attempts are counted in the database, over all nodes; `count` within `threshold` raise the alert.
 *           A node has one count under way per subscription: failures meanwhile are added to the next one.
 * raised -> nothing is counted; the first success clears it. Nodes learn the state with the project's version.
 *
 * An attempt that succeeds while nothing is raised costs two look-ups in memory.
 */
export interface SubscriptionAlertsDeps {
  db: Database;
  metaEvents: MetaEventRecorder;
  cache: ConfigCache;
  alerts: AlertRecorder;
  log: Logger;
}

interface Uncounted {
  failures: number;
  last: LastFailure;
}

export class SubscriptionAlerts {
  readonly #deps: SubscriptionAlertsDeps;
  readonly #uncounted = new Map<string, Uncounted>();
  readonly #clearing = new Set<string>();
  readonly #working = new Set<Promise<void>>();

  constructor(deps: SubscriptionAlertsDeps) {
    this.#deps = deps;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#working);
  }

  attempted(delivery: HeldDelivery, sent: Sent): void {
    const id = delivery.subscriptionId;
    const routing = id === null ? undefined : this.#deps.cache.peek(delivery.projectId);
    if (id === null || routing === undefined) return;
    const isRaised = routing.alerts.get(id) === true;
    if (sent.effect === 'success') {
      if (isRaised && !this.#clearing.has(id)) this.#run(() => this.#clear(routing, id));
      return;
    }
    if (isRaised || (routing.subscriptions.get(id)?.row.alert_config?.count ?? 0) === 0) return;
    this.#add(delivery.projectId, id, lastFailure(sent));
  }

  #add(projectId: string, id: string, last: LastFailure): void {
    const waiting = this.#uncounted.get(id);
    if (waiting !== undefined) {
      waiting.failures += 1;
      waiting.last = last;
      return;
    }
    const uncounted = { failures: 1, last };
    this.#uncounted.set(id, uncounted);
    this.#run(() => this.#countAll({ id, projectId }, uncounted));
  }

  /** Until nothing new came in while the last count was under way. */
  async #countAll(subscription: { id: string; projectId: string }, uncounted: Uncounted): Promise<void> {
    try {
      for (;;) {
        const { failures } = uncounted;
        if (failures === 0) return;
        uncounted.failures = 0;
        await this.#count(subscription, { failures, last: uncounted.last });
      }
    } finally {
      // In the same step as the last look, so that no failure is added to what nobody counts any more.
      this.#uncounted.delete(subscription.id);
    }
  }

  async #count(
    subscription: { id: string; projectId: string },
    { failures, last }: Uncounted,
  ): Promise<void> {
    const { id, projectId } = subscription;
    const routing = this.#deps.cache.peek(projectId);
    const config = routing?.subscriptions.get(id)?.row.alert_config ?? null;
    const thresholdMs = parseGoDuration(config?.threshold ?? '');
    if (routing === undefined || config === null || thresholdMs === null) return;
    if (routing.alerts.get(id) === true) return;
    const counted = await countFailures(this.#deps.db, subscription, { failures, thresholdMs });
    if (counted < config.count) return;
    const summary = `${config.count} attempts failed within ${config.threshold}.`;
    await this.#move(routing, id, { state: 'raised', summary, lastFailure: last });
  }

  async #clear(routing: ProjectRouting, id: string): Promise<void> {
    this.#clearing.add(id);
    try {
      const summary = 'An attempt succeeded again.';
      await this.#move(routing, id, { state: 'cleared', summary, lastFailure: null });
    } finally {
      this.#clearing.delete(id);
    }
  }

  async #move(
    routing: ProjectRouting,
    id: string,
    change: Pick<Alert, 'state' | 'summary' | 'lastFailure'>,
  ): Promise<void> {
    const { cache, alerts, log } = this.#deps;
    const { project } = routing;
    const row = routing.subscriptions.get(id)?.row;
    const alert = row && alertOf(routing, row, change);
    if (alert === undefined) return;
    const told = await changeState(this.#deps, project.id, async (tx, version) => {
      await forgetFailures(tx, { id, projectId: project.id });
      return alerts.record(tx, project, alert, version);
    });
    alerts.notify(told);
    if (told !== null) log.info({ project: project.id, subscription: id }, `alert ${change.state}`);
    await cache.refreshQuietly(project.id);
  }

  /** An alert that cannot be moved now is tried again with the next outcome. */
  #run(work: () => Promise<void>): void {
    const working = work()
      .catch((error: unknown) => this.#deps.log.warn({ err: error }, 'alert could not be updated'))
      .finally(() => this.#working.delete(working));
    this.#working.add(working);
  }
}

function alertOf(
  routing: ProjectRouting,
  row: SubscriptionRow,
  change: Pick<Alert, 'state' | 'summary' | 'lastFailure'>,
): Alert | undefined {
  const endpoint = routing.endpoints.get(row.endpoint_id)?.row;
  if (endpoint === undefined) return undefined;
  return { kind: 'failures', endpoint, subscription: { id: row.id, name: row.name }, ...change };
}
