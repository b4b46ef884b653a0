/**
 * The endpoints of a run, by how they behave and how they are set up. Each takes events of its own name; those with
 * `takesAll` also take events of type `all`.
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
] as const;
export type Character = (typeof CHARACTERS)[number];

export interface Limit {
  count: number;
  seconds: number;
}

export interface Profile {
  takesAll: boolean;
  /** Answers every request with 200, well within the timeout: a second try can only be our own fault. */
  isSteady: boolean;
  /** At most once: never sent again, whatever happens. */
  isOnce?: true;
  limit?: Limit & { of: 'endpoint' | 'subscription' };
  /** Work is kept waiting: the endpoint must get what its limit allows. */
  isBusy?: true;
}

const PROFILES: Record<Character, Profile> = {
  healthy: { takesAll: true, isSteady: true },
  slow: { takesAll: true, isSteady: true },
  flapping: { takesAll: true, isSteady: false },
  hanging: { takesAll: true, isSteady: false },
  resetting: { takesAll: true, isSteady: false },
  garbage: { takesAll: true, isSteady: false },
  dripping: { takesAll: true, isSteady: false },
  // Sends a 100 Continue that was not asked for before each answer.
  continuing: { takesAll: true, isSteady: true },
  // Reads the third request of each connection and closes it without an answer.
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
  // Wants a token of the token server.
  authorised: {
    takesAll: false,
    isSteady: true,
    isBusy: true,
    limit: { count: 5, seconds: 1, of: 'endpoint' },
  },
  // TLS whose handshake begins late, and each connection serves few requests.
  connecting: {
    takesAll: false,
    isSteady: true,
    isBusy: true,
    limit: { count: 6, seconds: 1, of: 'endpoint' },
  },
  // Far below its limit: nothing has a reason to wait.
  sparse: { takesAll: false, isSteady: true, limit: { count: 60, seconds: 2, of: 'endpoint' } },
};

export const profileOf = (character: Character): Profile => PROFILES[character];
/** How many deliveries an event of this type makes. */
export const endpointsOf = (eventType: string): number =>
  eventType === 'all' ? CHARACTERS.filter((name) => PROFILES[name].takesAll).length : 1;
