import type {
  BatchId,
  DeliveryId,
  EndpointId,
  EventId,
  MetaEventId,
  ProjectId,
  SourceId,
  SubscriptionId,
} from './ids.ts';

/** The states of a delivery. `Processing` is a word of the interface: no delivery is ever stored as that. */
export const deliveryStatuses = [
  'Scheduled',
  'Processing',
  'Discarded',
  'Failure',
  'Success',
  'Retry',
] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** An open delivery has a row in the queue, an ended one has none. */
export type OpenStatus = 'Scheduled' | 'Retry';
export type EndedStatus = 'Success' | 'Failure' | 'Discarded';

export const openStatuses: readonly DeliveryStatus[] = ['Scheduled', 'Processing', 'Retry'];

interface Transition {
  /** Null: the delivery is made. */
  from: OpenStatus | EndedStatus | null;
  to: OpenStatus | EndedStatus;
  when: string;
}

/** Every change of state there is. ARCHITECTURE.md shows this table. */
export const transitions: readonly Transition[] = [
  { from: null, to: 'Scheduled', when: 'accepted, or its event is replayed' },
  { from: 'Scheduled', to: 'Scheduled', when: 'handed back untried, or our fault' },
  { from: 'Scheduled', to: 'Retry', when: 'tried: failed, tries are left' },
  { from: 'Retry', to: 'Retry', when: 'tried again: failed, tries are left; or handed back' },
  ...(['Scheduled', 'Retry'] as const).flatMap((from): Transition[] => [
    { from, to: 'Success', when: 'tried: answered 2xx, or its consumer reported success' },
    { from, to: 'Failure', when: 'failed with no tries left, 410, at most once, or its function failed' },
    {
      from,
      to: 'Discarded',
      when: 'endpoint inactive, endpoint or project deleted, cancelled (also by its function), expired, open for too long',
    },
  ]),
  ...(['Success', 'Failure', 'Discarded'] as const).map(
    (from): Transition => ({ from, to: 'Scheduled', when: 'resent' }),
  ),
];

/** The gate that an open delivery waits for. */
export const deliveryGates = [
  'moving',
  'pending',
  'paused',
  'circuit_breaker',
  'rate_limit',
  'delayed',
  'retry',
  'order',
  'batch',
  'sending',
  'pull',
  'node',
] as const;
export type DeliveryGate = (typeof deliveryGates)[number];

export const deliveryModes = ['at_least_once', 'at_most_once'] as const;
export type DeliveryMode = (typeof deliveryModes)[number];

/** How often and how far apart a delivery is tried. Fixed when the delivery is made. */
export interface RetryPolicy {
  strategy: 'linear' | 'exponential';
  intervalSeconds: number;
  /** The longest wait of the exponential strategy without a schedule, and the longest that a Retry-After may ask for. */
  maxRetrySeconds: number;
  /** Total number of tries, the first included. */
  retryLimit: number;
  /** The wait before each retry, in seconds. Null: strategy and interval say it. */
  schedule: readonly number[] | null;
}

/** The type of the sample event of an endpoint's test. Time series leave it out. */
export const TEST_EVENT_TYPE = 'posthorn.test';

/** An endpoint inside the service, to try things out. The name ends in .invalid, which no name server knows. */
export const RECEIVER_URL = 'https://receiver.posthorn.invalid/';

export const isReceiver = (url: string): boolean => url.startsWith(RECEIVER_URL);

/**
 * Lanes of the queue: first tries go before retries, retries before bulk replays. `leased` has the rows that consumers
 * of pull endpoints have taken. A row becomes due there when its lease ends without a result.
 */
export const LANE = { first: 0, retry: 1, replay: 2, leased: 3 } as const;

/**
 * A row that waits for its turn in its ordering key is this many lanes above its own. No node claims from there: the end of
 * the delivery before it puts it back.
 */
export const WAITS_FOR_TURN = 4;

/**
 * Lanes of batches. `formed` has their own rows: a batch is claimed, sent and retried as one delivery is. `member` has the
 * rows of its deliveries, which no node claims: they are taken with their batch.
 */
export const BATCH_LANE = { formed: 8, member: 9 } as const;

/** A leased delivery in this lane stands for its batch: its body is that of the request. */
export const isBatch = ({ lane }: { lane: number }): boolean => lane === BATCH_LANE.formed;

/** Whether a row waits in a lane for its turn in its ordering key. */
export const waitsForTurn = (lane: number): boolean => lane >= WAITS_FOR_TURN && lane < BATCH_LANE.formed;

/** Whether rows of a subscription with batches wait in a lane to be put into one. */
export const isCollected = (lane: number): boolean => lane < LANE.leased;

/** The queue key of a project's meta events. */
export type MetaQueueKey = string & { readonly metaQueueKey: true };

/** A queue key is an endpoint, a subscription with a rate limit of its own, or the key of a project's meta events. */
export type QueueKey = EndpointId | SubscriptionId | MetaQueueKey;

/** A place in the queue where rows wait. */
export interface Place {
  projectId: string;
  key: QueueKey;
  lane: number;
}

/** A row that a node leases. Deliveries, meta events and batches share the queue, the window and the caps. */
export type Leased = LeasedSingle | LeasedBatch;

/** A delivery or a meta event, with all that an attempt needs. */
export type LeasedSingle = LeasedDelivery | LeasedMetaEvent;

interface LeasedRow {
  id: DeliveryId | MetaEventId | BatchId;
  projectId: ProjectId;
  /** The node may finish it only under this fence. */
  fence: number;
  /** Its queue key. */
  key: QueueKey;
  lane: number;
  /** The target that the window and the concurrency caps count: an endpoint, or the queue key of meta events. */
  target: EndpointId | MetaQueueKey;
  /** The endpoint dropped the connection of the first request of this try. */
  isSecondRequest: boolean;
  /** When the event was accepted, or was to be delivered, in the database's time: latency counts from here. */
  acceptedAtMs: number;
  /** When it became due, by the monotonic clock; null for one that never waited in the queue. */
  dueAt: number | null;
}

interface SingleRow extends LeasedRow {
  eventType: string;
  deliveryMode: DeliveryMode;
  retry: RetryPolicy;
  numTrials: number;
  /** Tries before the last resend, which use up nothing. */
  budgetFrom: number;
  body: Buffer;
}

export interface LeasedMetaEvent extends SingleRow {
  kind: 'meta';
  id: MetaEventId;
}

/** A batch. Its deliveries have their own tries, modes and bodies, and are read when it is sent. */
export interface LeasedBatch extends LeasedRow {
  kind: 'batch';
  id: BatchId;
  target: EndpointId;
  deliveryIds: readonly DeliveryId[];
  /** At most once: its sending had begun before. */
  isStarted: boolean;
  probeFence: string | null;
}

/** A delivery as a consumer of a pull endpoint got it. */
export interface Pulled {
  atMs: number;
  /** JSON, as the attempt records them. */
  headers: string;
}

export interface LeasedDelivery extends SingleRow {
  kind: 'delivery';
  id: DeliveryId;
  eventId: EventId;
  endpointId: EndpointId;
  subscriptionId: SubscriptionId | null;
  /** Its ordering key. Null: it has no order. */
  orderingId: string | null;
  /** It has its place in the key, or needs none. Delayed, replayed and resent ones take it when they are claimed. */
  isPlaced: boolean;
  /** In a batch: another delivery of its key is before it. */
  isBehind?: boolean;
  /** The source of its event, for counts. */
  sourceId: SourceId | null;
  /** No byte is sent after this time, in the database's time. Null: it does not expire. */
  expiresAtMs: number | null;
  /** `body` was made by a function; else it is the event's payload. */
  hasOwnBody: boolean;
  /** Made by a replay, while its endpoint identified requests by their event. */
  isReplay: boolean;
  /** The other parts of the request that a function set, sealed. Null: none. */
  functionRequest: string | null;
  /** At most once: its sending had begun before. */
  isStarted: boolean;
  /** A consumer had taken it, and its lease ended. Null: not so. */
  pulled: Pulled | null;
  /** Claimed as the probe of a half-open breaker: the fence of the right to it. */
  probeFence: string | null;
  /** null: JSON. */
  contentType: string | null;
  /** JSON text of the event's headers, name to values, as stored: credentials sealed. */
  headers: string | null;
  urlQueryParams: string | null;
  idempotencyKey: string | null;
  /** As the caller gave it, else the time of acceptance. Shown, and used for nothing else. */
  acknowledgedAtMs: number;
}

/** Where the parts of a request that a function set are sealed. */
export const functionRequestPlace = (deliveryId: string): string => `function request of ${deliveryId}`;

/**
 * The result of an attempt as one word, for filters and counts: `http_<status>` for a response, else the code of the
 * error. The text of the error is for people and may contain details of one attempt.
 */
export const errorCodes = [
  'timeout',
  'connection_refused',
  'connection_reset',
  'unreachable',
  'dns_not_found',
  'dns_failed',
  'tls_failed',
  'address_blocked',
  'invalid_request',
  'invalid_response',
  'response_too_slow',
  'bad_url',
  'proxy_failed',
  'client_certificate_invalid',
  'aborted',
  'local_resource',
  'reported_failure',
  'no_result',
  // These come from brokers.
  'sign_in_refused',
  'target_not_found',
  'not_permitted',
  'unroutable',
  'message_too_large',
  'message_unfit',
  'broker_refused',
] as const;
export type ErrorCode = (typeof errorCodes)[number];

/** The outcome of a delivery without an attempt: a function failed, or its endpoint was inactive. */
export const NOT_SENT = 'not_sent';

/** A consumer of a pull endpoint reported success. */
export const REPORTED_OK = 'reported_ok';

/** A broker confirmed the message. */
export const CONFIRMED = 'confirmed';

export function httpOutcome(status: number): string {
  return `http_${status}`;
}

export interface OutcomeFilter {
  /** Complete outcomes. */
  exact: string[];
  /** Beginnings of outcomes, such as `http_5`. */
  prefixes: string[];
  /** Deliveries without an attempt, too. */
  notSent: boolean;
}

/** Null if one of the words is no outcome. `http_5xx` means every status from 500 to 599. */
export function parseOutcomes(words: readonly string[]): OutcomeFilter | null {
  const filter: OutcomeFilter = { exact: [], prefixes: [], notSent: false };
  for (const word of words) {
    if (word === NOT_SENT) filter.notSent = true;
    else if (word === REPORTED_OK || word === CONFIRMED) filter.exact.push(word);
    else if (/^http_[1-5]xx$/.test(word)) filter.prefixes.push(word.slice(0, -2));
    else if (/^http_\d{3}$/.test(word) || (errorCodes as readonly string[]).includes(word))
      filter.exact.push(word);
    else return null;
  }
  return filter;
}
