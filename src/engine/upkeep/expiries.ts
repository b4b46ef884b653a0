import type { ConfigChanges } from '../../control/config-changes.ts';
import { tidyDevices } from '../../control/device-changes.ts';
import { tellExpired } from '../../control/endpoint-changes.ts';
import type { Place } from '../../domain/delivery.ts';
import type { ProjectId } from '../../domain/ids.ts';
import type { Loop } from '../../platform/loop.ts';
import { unseenDevices } from '../../store/config/devices.ts';
import type { Database } from '../../store/database/database.ts';
import { dueExpiries, type Expiry, takeExpired } from '../../store/later/expiries.ts';
import { type Ended, endOpenDeliveries } from '../../store/queue/resend-deliveries.ts';
import type { EnginePart } from '../deps/engine-deps.ts';
import { Duty, type DutyDeps } from './duty.ts';

/** Deliveries and endpoints end with time, and so do devices that are not seen any more. Each has a loop of its own. */
const CHUNK = 500;
/** That of the look that wakes a loop. */
const LOOK_MS = 1_000;
const ENDPOINTS_EVERY_MS = 5_000;
const NONE: Ended = { count: 0, released: [] };

export interface ExpirerDeps extends EnginePart<'db' | 'metaEvents' | 'metrics' | 'log'> {
  /** New meta events of a project may wait in the queue. */
  metaEventsStored(projectId: string): void;
  /** The next deliveries of ordering keys are due. */
  released(places: readonly Place[]): void;
}

/**
 * Ends deliveries that have expired while they waited: for a retry, a gate or a consumer. One commit for each project of a
 * chunk. Before a send the sender looks for itself (src/engine/attempt/delivery-sender.ts). A look that finds a due expiry
 * wakes it.
 */
export const expirer = (deps: ExpirerDeps): Loop =>
  new Duty(deps, { duty: 'expiry', retryInMs: LOOK_MS }).loop({
    find: (except) => dueExpiries(deps.db, { limit: CHUNK, except }),
    most: CHUNK,
    act: (projectId, due) => expire(deps, projectId, due),
  });

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

type ChangerDeps = DutyDeps & { db: Database; changes: ConfigChanges };

/**
 * Tells the owners of endpoints that have expired. The end itself needs no write: the status follows from the row. So a
 * few seconds do not matter here.
 */
export const endpointExpiry = (deps: ChangerDeps): Loop =>
  new Duty(deps, { duty: 'endpoint_expiry', retryInMs: ENDPOINTS_EVERY_MS }).loop(
    {
      find: (except) => deps.changes.deps.endpoints.expiredUnreported(deps.db, { limit: CHUNK, except }),
      most: CHUNK,
      act: (projectId, expired) => {
        const ids = expired.map(({ id }) => id);
        return tellExpired(deps.changes, projectId, ids);
      },
    },
    ENDPOINTS_EVERY_MS,
  );

/**
 * Switches off the subscriptions of devices that are gone, so that a forgotten laptop costs nothing. The table of
 * devices is small, and the query reads only those that were not seen for ten minutes. A look that finds one wakes it.
 */
export const deviceWatch = (deps: ChangerDeps): Loop =>
  new Duty(deps, { duty: 'devices', retryInMs: LOOK_MS }).loop({
    find: () => unseenDevices(deps.db),
    act: (_, [unseen]) => tidyDevices(deps.changes, unseen),
  });
