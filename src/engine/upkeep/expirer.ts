import type { ProjectId } from '../../domain/ids.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import { Loop } from '../../platform/loop.ts';
import type { Database } from '../../store/database/database.ts';
import { dueExpiries, type Expiry, takeExpired } from '../../store/later/expiries.ts';
import type { Released } from '../../store/ordering/release-next.ts';
import type { MetaEventRecorder } from '../../store/queue/meta-event-recorder.ts';
import { type Ended, endOpenDeliveries } from '../../store/queue/resend-deliveries.ts';
import { Duty, type DutyDeps } from './duty.ts';

/**
 * Ends deliveries that have expired while they waited: for a retry, a gate or a consumer. One commit for each project of a
 * chunk. Before a send the sender looks for itself (src/engine/attempt/delivery-sender.ts). A look that finds a due expiry
 * wakes it.
 */
export interface ExpirerDeps extends DutyDeps {
  db: Database;
  metaEvents: MetaEventRecorder;
  metrics: Metrics;
  /** New meta events of a project may wait in the queue. */
  metaEventsStored(projectId: string): void;
  /** The next deliveries of ordering keys are due. */
  released(places: readonly Released[]): void;
}

const CHUNK = 500;
/** That of the look that wakes it. */
const RETRY_MS = 1_000;
const NONE: Ended = { count: 0, released: [] };

export function expirer(deps: ExpirerDeps): Loop {
  const duty = new Duty(deps, { duty: 'expiry', retryInMs: RETRY_MS });
  const loop: Loop = new Loop({
    turn: () =>
      duty.eachProject({
        find: (except) => dueExpiries(deps.db, { limit: CHUNK, except }),
        most: CHUNK,
        act: (projectId, due) => expire(deps, projectId, due),
        isStopped: () => loop.isStopped,
      }),
    onError: (error) => duty.failed(error),
  });
  return loop;
}

async function expire(deps: ExpirerDeps, projectId: ProjectId, due: readonly Expiry[]): Promise<void> {
  const { db, metaEvents, metrics } = deps;
  const ended = await db.transaction(async (tx) => {
    const expired = await takeExpired(tx, projectId, due);
    const end = { ids: expired, status: 'Discarded', description: null } as const;
    return expired.length === 0 ? NONE : endOpenDeliveries({ tx, metaEvents }, projectId, end);
  });
  if (ended.count === 0) return;
  metrics.deliveriesFinished.discarded.inc(ended.count);
  deps.released(ended.released);
  deps.metaEventsStored(projectId);
}
