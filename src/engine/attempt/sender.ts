import { LANE, type Leased, type LeasedBatch, type LeasedDelivery } from '../../domain/delivery.ts';
import { deliveryData, endingType } from '../../domain/delivery-data.ts';
import type { NewMetaEvent } from '../../domain/meta-event.ts';
import type { ObserverGuard } from '../../metrics/observer-guard.ts';
import type { ConfigCache } from '../../routing/config-cache.ts';
import type { Attempt } from '../../store/attempts/attempt.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import type { Finish } from '../../store/queue/finish.ts';
import type { MetaEventRecorder } from '../../store/queue/meta-event-recorder.ts';
import type { DeliverySender } from './delivery-sender.ts';
import type { MetaEventSender } from './meta-event-sender.ts';
import type { Sent } from './sent.ts';

/**
 * Sends what this node leases, deliveries and meta events. An outcome of a delivery that is worth a meta event gets
 * one on the way back; that of a meta event never does.
 */
export interface SenderDeps {
  deliveries: Pick<DeliverySender, 'send'>;
  batches: { send(batch: LeasedBatch, signal: AbortSignal): Promise<Sent> };
  /** The lease of a consumer of a pull endpoint ended. */
  leaseEnded(delivery: LeasedDelivery): Promise<Sent>;
  metaEvents: Pick<MetaEventSender, 'send'>;
  recorder: MetaEventRecorder;
  cache: ConfigCache;
  guard: ObserverGuard;
  /** The database's time in milliseconds. */
  now(): number;
}

export class Sender {
  readonly #deps: SenderDeps;

  constructor(deps: SenderDeps) {
    this.#deps = deps;
  }

  async send(leased: Leased, signal: AbortSignal): Promise<Sent> {
    const { deliveries, leaseEnded, metaEvents, guard, cache } = this.#deps;
    if (leased.kind === 'meta') return metaEvents.send(leased, signal);
    if (leased.kind === 'batch') return this.#sendBatch(leased, signal);
    const sent =
      leased.lane === LANE.leased ? await leaseEnded(leased) : await deliveries.send(leased, signal);
    if (cache.peek(leased.projectId)?.project.config.meta_event.is_enabled === false) return sent;
    // It has been sent. From here on its outcome is recorded in any case.
    const { finish } = sent;
    return guard.settle('meta_event', () => this.#withMetaEvents([{ delivery: leased, finish }], sent), sent);
  }

  async #sendBatch(batch: LeasedBatch, signal: AbortSignal): Promise<Sent> {
    const { batches, guard } = this.#deps;
    const sent = await batches.send(batch, signal);
    const of = sent.finish.group?.members.map((finish) => ({ delivery: finish.delivery, finish })) ?? [];
    return guard.settle('meta_event', () => this.#withMetaEvents(of, sent), sent);
  }

  async #withMetaEvents(
    of: readonly { delivery: LeasedDelivery; finish: Finish }[],
    sent: Sent,
  ): Promise<Sent> {
    const { cache, recorder, now } = this.#deps;
    const routing = await cache.getOrNull(sent.finish.delivery.projectId);
    if (routing === null || !routing.project.config.meta_event.is_enabled) return sent;
    for (const { delivery, finish } of of)
      finish.metaEvent = outcomeMetaEvent(recorder, routing.project, { delivery, finish, nowMs: now() });
    return sent;
  }
}

/** The meta event for the end of a delivery, if it has ended and its project wants it. */
export function outcomeMetaEvent(
  recorder: MetaEventRecorder,
  project: ProjectRow,
  { delivery, finish, nowMs }: { delivery: LeasedDelivery; finish: Finish; nowMs: number },
): NewMetaEvent | null {
  const { status, description, numTrials, attempt } = finish;
  const type = finish.delayMs === null ? endingType(status) : undefined;
  if (type === undefined) return null;
  const made = recorder.prepare(project, type, () =>
    deliveryData({
      ...delivery,
      status,
      description,
      numTrials,
      body: finish.body ?? delivery.body,
      // The result of a function is JSON.
      contentType: finish.body !== null || delivery.hasOwnBody ? null : delivery.contentType,
      attempt: attempt === null ? null : attemptData(attempt),
      endedAtMs: nowMs,
    }),
  );
  return made ?? null;
}

/** Only the status of the endpoint's response. The rest may be long, and is available with the attempt. */
function attemptData(attempt: Attempt): object {
  return {
    uid: attempt.id,
    url: attempt.url,
    ip_address: attempt.ipAddress ?? '',
    http_status: attempt.httpStatus ?? '',
    error: attempt.error ?? '',
    status: attempt.succeeded,
    requested_at: new Date(attempt.requestedAtMs).toISOString(),
  };
}
