import { breakerState, halfOpenAt } from '../../domain/circuit-breaker.ts';
import type { RateLimit } from '../../domain/rate-limit.ts';
import type { ConfigCache } from '../../routing/config-cache.ts';
import { DEFAULT_TIMEOUT_SECONDS } from '../attempt/delivery-sender.ts';

/**
 * What may keep due deliveries waiting. A gate belongs to the endpoint (or to a rate-limited subscription), never to
 * its rows: opening it changes one row, however many wait behind it.
 */
export type GateDecision =
  /** `againInMs`: when to ask again, unless the endpoint changes before. */
  | { open: false; endpointId: string; againInMs: number }
  | {
      open: true;
      endpointId: string;
      /** Limits that each send is counted under. */
      limits: readonly { key: string; limit: RateLimit }[];
      /** Half-open breaker: one delivery, by the one node that takes the probe. */
      isProbe: boolean;
      /** How long the right to probe lasts: as long as the try may take, and soon over if its node dies with it. */
      probeSeconds: number;
    };

const PROBE_SLACK_SECONDS = 5;
/** A closed gate that no time opens, should the change that opened it go unseen. */
const ASK_AGAIN_MS = 5_000;
/** A project whose config could not be read. */
const LOAD_AGAIN_MS = 1_000;

/** What a gate asks of the cache. */
type Config = Pick<ConfigCache, 'peek' | 'isGone' | 'load'>;

/** An endpoint that is gone or inactive has an open gate: its deliveries are claimed and end as discarded. */
export function decideGate(
  cache: Config,
  projectId: string,
  context: { key: string; nowMs: number },
): GateDecision {
  const routing = cache.peek(projectId);
  // What a deleted project left waiting is claimed and ends as discarded.
  if (cache.isGone(projectId))
    return { open: true, endpointId: context.key, limits: [], isProbe: false, probeSeconds: 0 };
  if (routing === undefined) {
    void cache.load(projectId);
    return { open: false, endpointId: context.key, againInMs: LOAD_AGAIN_MS };
  }
  const { key, nowMs } = context;
  const endpointId = routing.subscriptions.get(key)?.row.endpoint_id ?? key;
  const row = routing.endpoints.get(endpointId)?.row;
  const status = row?.status;
  if (status === 'paused') return { open: false, endpointId, againInMs: ASK_AGAIN_MS };
  if (status !== 'active') return { open: true, endpointId, limits: [], isProbe: false, probeSeconds: 0 };
  const settings = routing.project.config.circuit_breaker;
  const breaker = routing.breaker(endpointId);
  const state = breakerState(breaker, settings, nowMs);
  if (state === 'open') return { open: false, endpointId, againInMs: halfOpenAt(breaker, settings) - nowMs };
  return {
    open: true,
    endpointId,
    limits: routing.limitsOf(endpointId, key),
    isProbe: state === 'half-open',
    probeSeconds: (row?.http_timeout || DEFAULT_TIMEOUT_SECONDS) + PROBE_SLACK_SECONDS,
  };
}
