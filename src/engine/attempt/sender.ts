import { LANE, type Leased, type LeasedBatch, type LeasedDelivery } from '../../domain/delivery.ts';
import { deliveryData, endingType } from '../../domain/delivery-data.ts';
import type { NewMetaEvent } from '../../domain/meta-event.ts';
import type { Attempt } from '../../store/attempts/attempt.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { type AnyFinish, type BatchFinish, type Finish, ofDeliveries } from '../../store/queue/finish.ts';
import type { MetaEventRecorder } from '../../store/queue/meta-event-recorder.ts';
import type { EnginePart } from '../deps/engine-deps.ts';
import type { DeliverySender } from './delivery-sender.ts';
import type { Sent } from './sent.ts';

/**
 * Sends what this node leases, deliveries and meta events. An outcome of a delivery that is worth a meta event gets
 * one on the way back; that of a meta event never does.
 */
export interface SenderDeps extends EnginePart<'cache' | 'guard' | 'now'> {
  deliveries: Pick<DeliverySender, 'send' | 'sendMetaEvent'>;
  batches: { send(batch: LeasedBatch, signal: AbortSignal): Promise<Sent<BatchFinish>> };
  /** The lease of a consumer of a pull endpoint ended. */
  leaseEnded(delivery: LeasedDelivery): Promise<Sent>;
  recorder: MetaEventRecorder;
}

export class Sender {
  readonly #deps: SenderDeps;

  constructor(deps: SenderDeps) {
    this.#deps = deps;
  }

  async send(leased: Leased, signal: AbortSignal): Promise<Sent<AnyFinish>> {
    const { guard, cache } = this.#deps;
    const sent = await this.#sendOf(leased, signal);
    if (cache.peek(leased.projectId)?.project.config.meta_event.is_enabled === false) return sent;
    // It has been sent. From here on its outcome is recorded in any case.
    return guard.settle('meta_event', () => this.#withMetaEvents(sent), sent);
  }

  #sendOf(leased: Leased, signal: AbortSignal): Promise<Sent<AnyFinish>> {
    const { deliveries, batches, leaseEnded } = this.#deps;
    if (leased.kind === 'meta') return deliveries.sendMetaEvent(leased, signal);
    if (leased.kind === 'batch') return batches.send(leased, signal);
    return leased.lane === LANE.leased ? leaseEnded(leased) : deliveries.send(leased, signal);
  }

  async #withMetaEvents(sent: Sent<AnyFinish>): Promise<Sent<AnyFinish>> {
    const { cache, recorder, now } = this.#deps;
    const routing = await cache.getOrNull(sent.delivery.projectId);
    if (routing === null || !routing.project.config.meta_event.is_enabled) return sent;
    for (const finish of ofDeliveries(sent))
      finish.metaEvent = outcomeMetaEvent(recorder, routing.project, finish, now());
    return sent;
  }
}

/** The meta event for the end of a delivery, if it has ended and its project wants it. */
export function outcomeMetaEvent(
  recorder: MetaEventRecorder,
  project: ProjectRow,
  finish: Finish,
  nowMs: number,
): NewMetaEvent | null {
  const { delivery, status, description, numTrials, attempt } = finish;
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
