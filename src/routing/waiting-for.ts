import { breakerState } from '../domain/config/circuit-breaker.ts';
import type { RateLimit } from '../domain/config/rate-limit.ts';
import type { DeliveryGate } from '../domain/delivery.ts';
import type { EndpointId, SubscriptionId } from '../domain/ids.ts';
import type { EndpointRow } from '../store/config/endpoints.ts';
import type { GateSets } from '../store/history/delivery-gates.ts';
import type { ProjectRouting } from './project-routing.ts';
import { queueKeyOf } from './queue-key.ts';

/**
 * Why a delivery waits, for readers of the API. The engine's gates (engine/gates.ts) use the same rules. If
 * several apply, the one that lasts longest is named. `gateSets` and src/store/history/delivery-gates.ts are the same
 * rules for a list.
 */
export interface Waiting {
  gate: DeliveryGate;
  /** Null if it is unknown. */
  untilMs: number | null;
  text: string;
}

interface WaitingDelivery {
  endpoint_id: EndpointId;
  subscription_id: SubscriptionId | null;
  next_send_at: number | null;
  /** Whether a node holds it. Null: it is not in the queue. */
  is_held: boolean | null;
  /** When the lease of the consumer that has it ends. Null: no consumer has it. */
  leased_until: number | null;
}

/** Null for an ended delivery. */
export function waitingFor(
  delivery: WaitingDelivery,
  endpoint: Pick<EndpointRow, 'status' | 'delivery'> | undefined,
  { routing, nowMs }: { routing: ProjectRouting; nowMs: number },
): Waiting | null {
  if (delivery.is_held === null) return null;
  const { leased_until: untilMs } = delivery;
  if (untilMs !== null)
    return { gate: 'sending', untilMs, text: `A consumer has it until ${time(untilMs)}.` };
  if (delivery.is_held) return { gate: 'sending', untilMs: null, text: 'A node is sending it.' };
  const endpointStatus = endpoint?.status;
  if (endpointStatus === 'paused')
    return { gate: 'paused', untilMs: null, text: 'Held: the endpoint is paused.' };
  const dueMs = delivery.next_send_at ?? nowMs;
  const isPulled = endpointStatus === 'active' && endpoint?.delivery !== 'push';
  const breaker =
    endpointStatus === 'active' && !isPulled ? openBreaker(delivery.endpoint_id, routing, nowMs) : null;
  if (breaker !== null && (breaker.untilMs ?? 0) >= dueMs) return breaker;
  if (dueMs > nowMs) return { gate: 'retry', untilMs: dueMs, text: `The next try is at ${time(dueMs)}.` };
  if (isPulled) return { gate: 'pull', untilMs: null, text: 'It waits for a consumer to pull it.' };
  if (breaker !== null) return breaker;
  const limit = limitOf(delivery, routing);
  if (limit !== null && endpointStatus === 'active')
    return { gate: 'rate_limit', untilMs: null, text: `Held: ${limit}.` };
  return { gate: 'node', untilMs: null, text: 'It is due and waits for a node to claim it.' };
}

/** What the gates of a list depend on, at one time. */
export function gateSets(routing: ProjectRouting, nowMs: number): GateSets {
  const sets: GateSets = {
    nowMs,
    paused: [],
    pulled: [],
    breakers: {},
    limitedEndpoints: [],
    limitedSubscriptions: [],
  };
  for (const { row, limit } of routing.endpoints.values()) {
    if (row.status === 'paused') sets.paused.push(row.id);
    if (row.status !== 'active') continue;
    if (row.delivery !== 'push') {
      sets.pulled.push(row.id);
      continue;
    }
    if (limit !== null) sets.limitedEndpoints.push(row.id);
    const breaker = openBreaker(row.id, routing, nowMs);
    if (breaker !== null) sets.breakers[row.id] = breaker.untilMs ?? 0;
  }
  for (const { row, limit } of routing.subscriptions.values())
    if (limit !== null && routing.endpoints.get(row.endpoint_id)?.row.status === 'active')
      sets.limitedSubscriptions.push(`${row.id} ${row.endpoint_id}`);
  return sets;
}

function openBreaker(endpointId: string, routing: ProjectRouting, nowMs: number): Waiting | null {
  const settings = routing.project.config.circuit_breaker;
  const breaker = routing.breaker(endpointId);
  const state = breakerState(breaker, settings, nowMs);
  if (state === 'closed') return null;
  const gate = 'circuit_breaker';
  if (state === 'half-open') {
    const text =
      'Held: the circuit breaker of the endpoint is half open; one delivery at a time is sent as a probe.';
    return { gate, untilMs: null, text };
  }
  const untilMs = breaker.changedAtMs + settings.error_timeout * 1000;
  const why = 'the endpoint keeps failing, so its circuit breaker is open';
  return { gate, untilMs, text: `Held until ${time(untilMs)}: ${why}.` };
}

/** Its turn comes when the sends before it have had theirs, which no single time can say. */
function limitOf(delivery: WaitingDelivery, routing: ProjectRouting): string | null {
  const key = queueKeyOf(routing, delivery);
  const [first] = routing.limitsOf(delivery.endpoint_id, key).toSorted(slowestFirst);
  if (first === undefined) return null;
  const { count, durationMs } = first.limit;
  const owner = first.key === delivery.endpoint_id ? 'endpoint' : 'subscription';
  const sends = count === 1 ? '1 send' : `${count} sends`;
  return `the rate limit of the ${owner} allows ${sends} per ${durationMs / 1000} s`;
}

function slowestFirst(a: { limit: RateLimit }, b: { limit: RateLimit }): number {
  return a.limit.count / a.limit.durationMs - b.limit.count / b.limit.durationMs;
}

const time = (ms: number) => new Date(ms).toISOString();
