export const deliveryStatuses = [
  'Scheduled',
  'Processing',
  'Discarded',
  'Failure',
  'Success',
  'Retry',
] as const;

/** Lanes of the queue: first tries go before retries, retries before bulk replays. */
export const LANE = { first: 0, retry: 1, replay: 2 } as const;

/** A delivery as the node that holds it has it in memory: all that is needed to try it. */
export interface HeldDelivery {
  id: string;
  fence: number;
  key: string;
  lane: number;
  projectId: string;
  eventId: string;
  endpointId: string;
  subscriptionId: string | null;
  eventType: string;
  deliveryMode: string;
  strategy: string;
  intervalSeconds: number;
  maxRetrySeconds: number;
  retryLimit: number;
  numTrials: number;
  budgetFrom: number;
  /** The event's payload, or the delivery's own body where a function made one. */
  body: Buffer;
  hasOwnBody: boolean;
  /** At most once: its sending had begun before. */
  isStarted: boolean;
  /** The endpoint dropped the connection of the first request of this try. */
  isSecondRequest: boolean;
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
  /** When we accepted the event, in the database's time: latency counts from here. */
  acceptedAtMs: number;
  /** When it became due, by the monotonic clock; null for one that never waited in the queue. */
  dueAt: number | null;
}
