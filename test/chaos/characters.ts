/**
 * The endpoints of a run, by behaviour and settings. Each gets events of its own name. Those with `takesAll`
 * also get events of type `all`.
 */
export const CHARACTERS = [
  'healthy',
  'slow',
  'flapping',
  'hanging',
  'resetting',
  'garbage',
  'dripping',
  'continuing',
  'closing',
  'once',
  'limited',
  'subscribed',
  'authorised',
  'connecting',
  'sparse',
  'ordered',
  'batched',
] as const;
export type Character = (typeof CHARACTERS)[number];

export interface Limit {
  count: number;
  seconds: number;
}

export interface Profile {
  takesAll: boolean;
  /** Answers every request with 200, well within the timeout, so a second attempt can only be our own fault. */
  isSteady: boolean;
  /** At most once: never sent again. */
  isOnce?: true;
  limit?: Limit & { of: 'endpoint' | 'subscription' };
  /** Work is always waiting, so the endpoint must use its full limit. */
  isBusy?: true;
  orderingKey?: string;
  /** Many deliveries come in one request. */
  batch?: { max: number; max_wait_seconds: number };
}

const PROFILES: Record<Character, Profile> = {
  healthy: { takesAll: true, isSteady: true },
  slow: { takesAll: true, isSteady: true },
  flapping: { takesAll: true, isSteady: false },
  hanging: { takesAll: true, isSteady: false },
  resetting: { takesAll: true, isSteady: false },
  garbage: { takesAll: true, isSteady: false },
  dripping: { takesAll: true, isSteady: false },
  // Sends an unrequested 100 Continue before each response.
  continuing: { takesAll: true, isSteady: true },
  // Reads the third request of each connection and closes it without a response.
  closing: { takesAll: true, isSteady: false },
  // As `closing`, with an at-most-once subscription.
  once: { takesAll: false, isSteady: false, isOnce: true },
  limited: {
    takesAll: false,
    isSteady: true,
    isBusy: true,
    limit: { count: 10, seconds: 1, of: 'endpoint' },
  },
  subscribed: {
    takesAll: false,
    isSteady: true,
    isBusy: true,
    limit: { count: 8, seconds: 2, of: 'subscription' },
  },
  // Requires a token of the token server.
  authorised: {
    takesAll: false,
    isSteady: true,
    isBusy: true,
    limit: { count: 5, seconds: 1, of: 'endpoint' },
  },
  // TLS whose handshake begins late. Each connection serves few requests.
  connecting: {
    takesAll: false,
    isSteady: true,
    isBusy: true,
    limit: { count: 6, seconds: 1, of: 'endpoint' },
  },
  // Far below its limit, so nothing has a reason to wait.
  sparse: { takesAll: false, isSteady: true, limit: { count: 60, seconds: 2, of: 'endpoint' } },
  // One request after another for each key, some of which fail.
  ordered: { takesAll: false, isSteady: false, orderingKey: '$.body.account' },
  // Its deliveries go in batches, some of which are too large.
  batched: {
    takesAll: false,
    isSteady: false,
    orderingKey: '$.body.account',
    batch: { max: 30, max_wait_seconds: 1 },
  },
};

export const profileOf = (character: Character): Profile => PROFILES[character];
/** How many deliveries an event of this type creates. */
export const endpointsOf = (eventType: string): number =>
  eventType === 'all' ? CHARACTERS.filter((name) => PROFILES[name].takesAll).length : 1;
