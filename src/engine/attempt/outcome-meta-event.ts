import type { LeasedDelivery } from '../../domain/delivery.ts';
import { deliveryData, endingType } from '../../domain/delivery-data.ts';
import type { NewMetaEvent } from '../../domain/meta-event.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import type { AttemptRow, Finish } from '../../store/queue/finish-deliveries.ts';
import type { MetaEventRecorder } from '../../store/queue/meta-event-recorder.ts';

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
function attemptData(attempt: AttemptRow): object {
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
