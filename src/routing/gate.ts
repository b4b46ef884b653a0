import { halfOpenAt } from '../domain/config/circuit-breaker.ts';
import { isFetched, statusAt } from '../domain/config/endpoint.ts';
import { type DeliveryGate, isCollected, LANE, waitsForTurn } from '../domain/delivery.ts';
import type { ProjectRouting, RoutedEndpoint } from './project-routing.ts';
import type { RoutedSubscription } from './routed-subscription.ts';

/**
 * Whether a delivery may go now, and if not, what it waits for. This is the only place that decides it: claims, sends,
 * lists, counts, discards and explanations are readings of `gateOf`, and src/store/history/delivery-gates.ts is its SQL.
 *
 * A gate belongs to the endpoint, or to a subscription with a rate limit, never to its rows: opening it changes one row,
 * for any number of waiting deliveries. If several are closed, the one that lasts longest is named.
 */
export type Gate =
  | StandingGate
  | { kind: 'open' }
  /** The project moves to another cell, where its deliveries go on. */
  | { kind: 'moving' }
  | { kind: 'breaker'; untilMs: number }
  /** The next try is later. Delayed: it is the first, at the time that its event asks for. */
  | { kind: 'due' | 'delayed'; untilMs: number }
  /** An earlier delivery of its ordering key has not ended. */
  | { kind: 'order' }
  /** It is to be sent together with others, and its batch is not formed yet. */
  | { kind: 'batch' }
  /** A consumer has to fetch it. */
  | { kind: 'pull' }
  /** The breaker is half open: it goes if it is the one probe, and if the breaker has not changed since then. */
  | { kind: 'probe'; changedMs: number }
  /** It goes when its turn under the rate limits comes, which the node with the rate lease decides. */
  | { kind: 'limited' };

/** `pending`: its URL has not answered the challenge. `inactive`, or `gone` because the endpoint was deleted: the delivery goes, and ends as discarded. */
export interface StandingGate {
  kind: 'pending' | 'paused' | 'inactive' | 'gone';
}

/** A gate in words: its name in the API, why a delivery waits, and why one ended that waited for too long. */
interface GateWords {
  name: DeliveryGate;
  waits: string;
  ended: string;
  /** A delivery goes through it, also to be discarded. */
  isOpen?: true;
}

const DUE = 'It is due and waits for a node to claim it.';
const UNSENT = 'it waited to be sent';
const BREAKER = { name: 'circuit_breaker', ended: 'the circuit breaker of the endpoint is open' } as const;

export const gates: Readonly<Record<Gate['kind'], GateWords>> = {
  open: { name: 'node', waits: DUE, ended: UNSENT, isOpen: true },
  inactive: { name: 'node', waits: DUE, ended: 'the endpoint is inactive', isOpen: true },
  gone: { name: 'node', waits: DUE, ended: 'the endpoint was deleted', isOpen: true },
  moving: {
    name: 'moving',
    waits: 'Held: the project is being moved to another cell.',
    ended: 'the project moved',
  },
  pending: {
    name: 'pending',
    waits: 'Held: the endpoint has not answered the challenge.',
    ended: 'the endpoint has not answered the challenge',
  },
  paused: { name: 'paused', waits: 'Held: the endpoint is paused.', ended: 'the endpoint is paused' },
  breaker: {
    ...BREAKER,
    waits: 'Paused by the circuit breaker, because the endpoint keeps failing.',
  },
  probe: {
    ...BREAKER,
    waits: 'Paused by the circuit breaker, which is half open: one delivery at a time is sent as a probe.',
  },
  due: { name: 'retry', waits: '', ended: UNSENT },
  delayed: { name: 'delayed', waits: 'Its event is to be delivered later.', ended: UNSENT },
  order: {
    name: 'order',
    waits: 'It waits for its turn: an earlier delivery of its ordering key has not ended.',
    ended: 'an earlier delivery of its ordering key had not ended',
  },
  batch: {
    name: 'batch',
    waits: 'It waits for its batch: it is sent together with others.',
    ended: 'it waited for its batch',
  },
  pull: { name: 'pull', waits: 'It waits for a consumer to pull it.', ended: 'no consumer took it' },
  /** The limit says the words (waiting-for.ts). */
  limited: { name: 'rate_limit', waits: '', ended: 'it waited for the rate limit' },
};

/** The facts of a queue row that its gate depends on. A fact that is left out holds nothing back. */
export interface GatedRow {
  /** Its current queue key. */
  key: string;
  lane?: number;
  /** Claimed as the probe of a half-open breaker. */
  probeFence?: string | null;
  /** The time of the next try. Null: now. */
  dueMs?: number | null;
  /** It was neither tried nor handed back. */
  isUntouched?: boolean;
}

const OPEN: Gate = { kind: 'open' };
const MOVING: Gate = { kind: 'moving' };
const INACTIVE: StandingGate = { kind: 'inactive' };
const GONE: StandingGate = { kind: 'gone' };
const PAUSED: StandingGate = { kind: 'paused' };
const PENDING: StandingGate = { kind: 'pending' };
const PULL: Gate = { kind: 'pull' };
const LIMITED: Gate = { kind: 'limited' };
const ORDER: Gate = { kind: 'order' };
const BATCH: Gate = { kind: 'batch' };

export function gateOf(routing: ProjectRouting, row: GatedRow, nowMs: number): Gate {
  if (row.lane !== undefined && waitsForTurn(row.lane)) return ORDER;
  const gate = gateNow(routing, row, nowMs);
  const { dueMs = null } = row;
  if (dueMs === null || dueMs <= nowMs) return gate;
  if (dueMs <= endOf(gate)) return gate;
  return { kind: row.isUntouched === true ? 'delayed' : 'due', untilMs: dueMs };
}

/** The gate of an endpoint that no time opens. Null: it is active. */
export function standingGate(endpoint: RoutedEndpoint | undefined, nowMs: number): StandingGate | null {
  if (endpoint === undefined) return GONE;
  const status = statusAt(endpoint.row, nowMs);
  if (status === 'active') return null;
  if (status === 'pending') return PENDING;
  return status === 'paused' ? PAUSED : INACTIVE;
}

/** Whether waiting deliveries of an endpoint can be made due: it is active, and nodes send to it. */
export const maySendNow = (endpoint: RoutedEndpoint | undefined, nowMs: number): boolean =>
  endpoint !== undefined && standingGate(endpoint, nowMs) === null && !isFetched(endpoint.row);

/** The gate of a row that is due. It is asked for each due key of each round: only an open breaker allocates. */
function gateNow(routing: ProjectRouting, { key, lane, probeFence }: GatedRow, nowMs: number): Gate {
  if (routing.isMoving) return MOVING;
  // The lease of a consumer has ended: the attempt is recorded, whatever the endpoint is like now.
  if (lane === LANE.leased) return OPEN;
  const subscription = routing.subscriptions.get(key);
  const endpoint = routing.endpoints.get(subscription?.row.endpoint_id ?? key);
  if (endpoint === undefined) return GONE;
  const standing = standingGate(endpoint, nowMs);
  if (standing !== null) return standing;
  const { row, limit } = endpoint;
  if (isFetched(row)) return PULL;
  const isBatched = subscription !== undefined && waitsForBatch(routing, subscription, lane);
  const breaker = routing.breaker(row.id);
  if (breaker.state !== 'closed' && (probeFence ?? null) === null) {
    const untilMs = halfOpenAt(breaker, routing.project.config.circuit_breaker);
    if (nowMs < untilMs) return { kind: 'breaker', untilMs };
    return isBatched ? BATCH : { kind: 'probe', changedMs: breaker.changedAtMs };
  }
  if (isBatched) return BATCH;
  return limit === null && (subscription?.limit ?? null) === null ? OPEN : LIMITED;
}

const waitsForBatch = (
  routing: ProjectRouting,
  subscription: RoutedSubscription,
  lane: number = LANE.first,
) => isCollected(lane) && routing.batchOf(subscription) !== null;

/** Until when a gate is closed at least. */
function endOf(gate: Gate): number {
  if (gate.kind === 'moving' || gate.kind === 'paused' || gate.kind === 'pending')
    return Number.POSITIVE_INFINITY;
  return gate.kind === 'breaker' ? gate.untilMs : 0;
}
