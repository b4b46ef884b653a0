import type { LeasedMetaEvent } from '../../domain/delivery.ts';
import { asId, idTime } from '../../domain/ids.ts';
import type { Database } from '../database/database.ts';
import { type RetryColumns, retryFields, retryOf } from '../database/retry-columns.ts';
import { type Claim, leaseDue, leaseStatement, type TakenRow, type Wanted } from './lease-due.ts';

/** Claims due meta events for this node. */
interface ClaimedMetaEventRow extends TakenRow, RetryColumns {
  event_type: string;
  payload: Buffer;
  num_trials: number;
  budget_from: number;
}

const CLAIM = leaseStatement(
  `m.event_type, m.payload, ${retryFields('m')}, m.num_trials, m.budget_from`,
  'join meta_events m on m.id = leased.delivery_id',
);

export function claimMetaEvents(db: Database, wanted: Wanted): Promise<Claim<LeasedMetaEvent>[]> {
  return leaseDue(db, wanted, { name: 'claim-meta-events', text: CLAIM, fromRow });
}

function fromRow(row: ClaimedMetaEventRow): LeasedMetaEvent {
  return {
    kind: 'meta',
    id: asId(row.delivery_id),
    fence: row.fence,
    key: row.key,
    lane: row.lane,
    projectId: row.project_id,
    target: asId(row.key),
    eventType: row.event_type,
    deliveryMode: 'at_least_once',
    retry: retryOf(row),
    numTrials: row.num_trials,
    budgetFrom: row.budget_from,
    body: row.payload,
    isSecondRequest: row.is_second_request,
    acceptedAtMs: idTime(row.delivery_id),
    dueAt: null,
  };
}
