import { BATCH_LANE, type LeasedBatch } from '../../domain/delivery.ts';
import { asId, type DeliveryId, idTime } from '../../domain/ids.ts';
import { byKey } from '../database/by-key.ts';
import type { Database } from '../database/database.ts';
import { claimBatch } from '../queue/claim-and-finish.ts';
import {
  type Claim,
  claimedTogether,
  leaseDue,
  leaseStatement,
  type TakenRow,
  type Wanted,
} from '../queue/lease-due.ts';

interface FormedRow extends TakenRow {
  delivery_ids: string[];
  endpoint_id: string | null;
}

/** Its deliveries are all of one endpoint. A first one that has ended may be removed by now. */
const CLAIM = leaseStatement(
  `b.delivery_ids, (
    select d.endpoint_id from event_deliveries d where d.project_id = b.project_id and d.id = b.delivery_ids[1]
  ) as endpoint_id`,
  `join delivery_queue b on ${byKey('b.delivery_id', 'leased.delivery_id')}`,
);

/**
 * Claims for a round: deliveries, meta events and batches. One result per want, in order. A batch takes one place: the ids
 * of 1,000 deliveries are 56 kB, and the deliveries are read once there is room for them (engine/batching/batch-sender.ts).
 */
export async function claimWork(db: Database, wanted: Wanted): Promise<Claim[]> {
  const { wants } = wanted;
  const formed = wants.filter(({ lane }) => lane === BATCH_LANE.formed);
  if (formed.length === 0) return claimBatch(db, wanted);
  const others = wants.filter(({ lane }) => lane !== BATCH_LANE.formed);
  const batches = leaseDue(db, { ...wanted, wants: formed }, { name: 'claim-formed', text: CLAIM, fromRow });
  if (others.length === 0) return batches;
  return claimedTogether(wants, [batches, claimBatch(db, { ...wanted, wants: others })]);
}

function fromRow(row: FormedRow): LeasedBatch {
  return {
    kind: 'batch',
    id: asId(row.delivery_id),
    fence: row.fence,
    key: row.key,
    lane: row.lane,
    projectId: row.project_id,
    target: asId(row.endpoint_id ?? row.key),
    deliveryIds: row.delivery_ids.map((id) => asId<DeliveryId>(id)),
    isStarted: row.is_started,
    isSecondRequest: row.is_second_request,
    probeFence: null,
    acceptedAtMs: idTime(row.delivery_id),
    dueAt: performance.now() - row.late_ms,
    // Its deliveries have these.
    eventType: '',
    deliveryMode: 'at_least_once',
    retry: { strategy: 'linear', intervalSeconds: 0, maxRetrySeconds: 0, retryLimit: 1, schedule: null },
    numTrials: 0,
    budgetFrom: 0,
    body: Buffer.alloc(0),
  };
}
