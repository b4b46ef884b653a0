import { BATCH_LANE, type DeliveryGate, LANE, WAITS_FOR_TURN } from '../../domain/delivery.ts';
import type { Where } from '../database/list-page.ts';

/**
 * The gate of each open delivery, as a column. Gates are not stored: a pause or an open breaker would change the
 * rows of every waiting delivery. They follow from the queue row, the due time and the config of the project, which the
 * caller passes as sets. The rule is that of src/routing/gate.ts, and a test compares the two in every state.
 */
export interface GateSets {
  nowMs: number;
  /** The project moves to another cell. */
  isMoving: boolean;
  /** Endpoints that have to answer a challenge. */
  pending: string[];
  /** Endpoints. */
  paused: string[];
  /** Active pull endpoints. */
  pulled: string[];
  /** Active endpoints whose breaker is not closed, and the time at which it becomes half open; 0: it is. */
  breakers: Record<string, number>;
  /** Active endpoints. */
  limitedEndpoints: string[];
  /** `<subscription> <endpoint>`. */
  limitedSubscriptions: string[];
  /** Subscriptions with batches, as `<subscription> <endpoint>`. */
  batched: string[];
}

/** Neither tried nor handed back: if it is due later, its event asks for that. */
export const IS_UNTOUCHED = 'd.num_trials = 0 and d.description is null';

const OF_SUBSCRIPTION = "d.subscription_id || ' ' || d.endpoint_id = any(?::text[])";

/** The queue row is `q`, the delivery `d`. */
export function gateColumn(where: Where, sets: GateSets): string {
  const due = 'coalesce(extract(epoch from d.next_send_at)::float8 * 1000, ?::float8)';
  const breaker = '(?::jsonb ->> d.endpoint_id)::float8';
  const breakers = JSON.stringify(sets.breakers);
  const { nowMs } = sets;
  const otherwise: DeliveryGate = 'node';
  const cases: [DeliveryGate, string, ...unknown[]][] = [
    ['order', `q.lane >= ${WAITS_FOR_TURN} and q.lane < ${BATCH_LANE.formed}`],
    ['sending', 'q.node_id is not null or q.pulled_at is not null'],
    ['moving', '?::boolean', sets.isMoving],
    ['pending', 'd.endpoint_id = any(?::text[])', sets.pending],
    ['paused', 'd.endpoint_id = any(?::text[])', sets.paused],
    ['circuit_breaker', `${breaker} >= ${due}`, breakers, nowMs],
    ['delayed', `${due} > ?::float8 and ${IS_UNTOUCHED}`, nowMs, nowMs],
    ['retry', `${due} > ?::float8`, nowMs, nowMs],
    ['pull', 'd.endpoint_id = any(?::text[])', sets.pulled],
    ['batch', `q.lane < ${LANE.leased} and ${OF_SUBSCRIPTION}`, sets.batched],
    ['circuit_breaker', `${breaker} is not null`, breakers],
    ['rate_limit', 'd.endpoint_id = any(?::text[])', sets.limitedEndpoints],
    ['rate_limit', OF_SUBSCRIPTION, sets.limitedSubscriptions],
  ];
  const whens = cases.map(
    ([gate, condition, ...values]) => `when ${where.place(condition, ...values)} then '${gate}'`,
  );
  return `case ${whens.join(' ')} else '${otherwise}' end`;
}
