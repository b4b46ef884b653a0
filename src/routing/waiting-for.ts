import type { RateLimit } from '../domain/config/rate-limit.ts';
import { BATCH_LANE, type DeliveryGate, LANE } from '../domain/delivery.ts';
import type { EndpointId, SubscriptionId } from '../domain/ids.ts';
import type { GateSets } from '../store/history/delivery-gates.ts';
import { gateOf, gates, standingGate } from './gate.ts';
import type { ProjectRouting } from './project-routing.ts';

/**
 * Why a delivery waits, in words for readers of the API. Its times are in `untilMs`, not in the words. `gateSets` are the same gates for a list, whose rows
 * src/store/history/delivery-gates.ts reads.
 */
export interface Waiting {
  gate: DeliveryGate;
  /** Null if it is unknown. */
  untilMs: number | null;
  /** Empty: nothing but the time holds it back. */
  text: string;
}

interface WaitingDelivery {
  endpoint_id: EndpointId;
  subscription_id: SubscriptionId | null;
  next_send_at: number | null;
  num_trials: number;
  description: string | null;
  /** Whether a node leases it. Null: it is not in the queue. */
  is_leased: boolean | null;
  /** When the lease of the consumer that has it ends. Null: no consumer has it. */
  leased_until: number | null;
  /** Its lane. Null: it is not in the queue. */
  lane: number | null;
  /** When the head of its ordering key failed. Null: its key is not held. */
  key_held_at?: number | null;
}

/** Null for an ended delivery. */
export function waitingFor(
  delivery: WaitingDelivery,
  { routing, nowMs }: { routing: ProjectRouting; nowMs: number },
): Waiting | null {
  if (delivery.is_leased === null) return null;
  const { leased_until: untilMs } = delivery;
  if (untilMs !== null) return { gate: 'sending', untilMs, text: 'A consumer leases it.' };
  if (delivery.is_leased) return { gate: 'sending', untilMs: null, text: 'A node is sending it.' };
  const key = routing.keyOf(delivery.endpoint_id, delivery.subscription_id);
  const isUntouched = delivery.num_trials === 0 && delivery.description === null;
  const lane = delivery.lane ?? LANE.first;
  // The lease of a consumer is known above.
  const row = { key, dueMs: delivery.next_send_at, isUntouched, ...(lane !== LANE.leased && { lane }) };
  const gate = gateOf(routing, row, nowMs);
  const { name, waits } = gates[gate.kind];
  const text =
    gate.kind === 'limited'
      ? `Held: ${slowestLimit(routing, { endpointId: delivery.endpoint_id, key })}.`
      : gate.kind === 'order' && (delivery.key_held_at ?? null) !== null
        ? HELD_KEY
        : waits;
  return { gate: name, untilMs: 'untilMs' in gate ? gate.untilMs : null, text };
}

/** The facts that the gates of a list depend on, at one time. */
export function gateSets(routing: ProjectRouting, nowMs: number): GateSets {
  const sets: GateSets = {
    nowMs,
    isMoving: routing.isMoving,
    pending: [],
    paused: [],
    pulled: [],
    breakers: {},
    limitedEndpoints: [],
    limitedSubscriptions: [],
    batched: [],
  };
  for (const id of routing.endpoints.keys()) {
    const gate = gateOf(routing, { key: id }, nowMs);
    if (gate.kind === 'pending') sets.pending.push(id);
    if (gate.kind === 'paused') sets.paused.push(id);
    if (gate.kind === 'pull') sets.pulled.push(id);
    if (gate.kind === 'limited') sets.limitedEndpoints.push(id);
    if (gate.kind === 'breaker') sets.breakers[id] = gate.untilMs;
    if (gate.kind === 'probe') sets.breakers[id] = 0;
  }
  for (const subscription of routing.subscriptions.values()) {
    const key = routing.queueKey(subscription);
    const { id, endpoint_id } = subscription.row;
    if (key !== id) continue;
    const lane = BATCH_LANE.formed;
    const isActive = standingGate(routing.endpoints.get(endpoint_id), nowMs) === null;
    if (isActive && routing.batchOf(subscription) !== null) sets.batched.push(`${id} ${endpoint_id}`);
    if (gateOf(routing, { key, lane }, nowMs).kind === 'limited')
      sets.limitedSubscriptions.push(`${id} ${endpoint_id}`);
  }
  return sets;
}

const HELD_KEY = 'Held: an earlier delivery of its ordering key failed. Resend or skip that one.';

/** Its turn comes when the sends before it have had theirs, which no single time can say. */
function slowestLimit(
  routing: ProjectRouting,
  { endpointId, key }: { endpointId: string; key: string },
): string {
  const [first] = routing.limitsOf(endpointId, key).toSorted(slowestFirst);
  if (first === undefined) throw new Error(`queue key ${key} has no rate limit`);
  const { count, durationMs } = first.limit;
  const owner = first.key === endpointId ? 'endpoint' : 'subscription';
  const sends = count === 1 ? '1 send' : `${count} sends`;
  return `the rate limit of the ${owner} allows ${sends} per ${durationMs / 1000} s`;
}

function slowestFirst(a: { limit: RateLimit }, b: { limit: RateLimit }): number {
  return a.limit.count / a.limit.durationMs - b.limit.count / b.limit.durationMs;
}
