import { isFetched } from '../../domain/config/endpoint.ts';
import type { LeasedDelivery } from '../../domain/delivery.ts';
import type { ObserverGuard } from '../../metrics/observer-guard.ts';
import { systemClock } from '../../platform/time/clock.ts';
import { type AnyFinish, ofDeliveries } from '../../store/queue/finish.ts';
import type { Tried } from '../attempt/sent.ts';
import type { OutcomeListener, ProbedDelivery } from '../queue/dispatcher.ts';
import { BreakerChanges, type BreakerChangesDeps } from './breaker-changes.ts';
import { CertificateAlerts, type CertificateAlertsDeps } from './certificate-alerts.ts';
import { EndpointHealth } from './endpoint-health.ts';
import { OrderingAlerts } from './ordering-alerts.ts';
import { Outages, type OutagesDeps } from './outages.ts';
import { SubscriptionAlerts } from './subscription-alerts.ts';

/** Shows each outcome to all who learn from it: circuit breakers, outages, alerts of subscriptions, certificates and ordering keys. */
export interface OutcomeWatchDeps extends BreakerChangesDeps, CertificateAlertsDeps, OutagesDeps {
  guard: ObserverGuard;
}

export class OutcomeWatch implements OutcomeListener {
  readonly #deps: OutcomeWatchDeps;
  readonly #health: EndpointHealth;
  readonly #alerts: SubscriptionAlerts;
  readonly #certificates: CertificateAlerts;
  readonly #outages: Outages;
  readonly ordering: OrderingAlerts;

  constructor(deps: OutcomeWatchDeps) {
    this.#deps = deps;
    const breakers = new BreakerChanges(deps);
    this.#health = new EndpointHealth({
      cache: deps.cache,
      changes: deps.changes.states.kind((projectId, findings) => breakers.look(projectId, findings)),
      clock: systemClock,
      log: deps.log,
    });
    this.#alerts = new SubscriptionAlerts(deps);
    this.#certificates = new CertificateAlerts(deps);
    this.#outages = new Outages(deps);
    this.ordering = new OrderingAlerts(deps);
  }

  start(): void {
    this.#health.start();
  }

  async stop(): Promise<void> {
    await this.#health.stop();
    await this.#deps.changes.states.drain();
  }

  attempted(sent: Tried): void {
    if (!this.#isPulled(sent.delivery)) {
      this.#health.attempted(sent);
      this.#outages.attempted(sent);
    }
    this.reported(sent);
    this.#deps.guard.run('alert', () => this.#certificates.attempted(sent), undefined);
  }

  /** A consumer said what came of a delivery that it pulled. */
  reported(sent: Tried): void {
    this.#deps.guard.run('alert', () => this.#alerts.attempted(sent), undefined);
  }

  /** The outcomes of a batch were committed, those that `moved` names. Only ordered deliveries are of interest here. */
  recorded(finishes: readonly AnyFinish[], moved: ReadonlySet<string>): void {
    for (const finish of finishes.flatMap(ofDeliveries)) {
      const { delivery } = finish;
      if (delivery.orderingId !== null && moved.has(delivery.id))
        this.#deps.guard.run('alert', () => this.ordering.ended(finish), undefined);
    }
  }

  notProbed(delivery: ProbedDelivery): void {
    this.#health.notProbed(delivery);
  }

  /** The circuit breaker is about calls. A pull endpoint gets none. */
  #isPulled({ projectId, endpointId }: LeasedDelivery): boolean {
    const endpoint = this.#deps.cache.peek(projectId)?.endpoints.get(endpointId);
    return endpoint !== undefined && isFetched(endpoint.row);
  }
}
