import { breakerState, halfOpenAt } from '../../domain/config/circuit-breaker.ts';
import type { RateLimit } from '../../domain/config/rate-limit.ts';
import { LANE } from '../../domain/delivery.ts';
import { asId, type ProjectId } from '../../domain/ids.ts';
import type { ConfigCache } from '../../routing/config-cache.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import { DEFAULT_TIMEOUT_SECONDS } from '../attempt/delivery-sender.ts';

/**
 * Reasons why due deliveries wait. A gate belongs to the endpoint (or to a rate-limited subscription), never
 * to its rows. Opening it changes one row, for any number of waiting deliveries.
 */
export type GateDecision =
  /** `againInMs`: when to check again, unless the endpoint changes before. */
  | { open: false; endpointId: string; againInMs: number }
  | {
      open: true;
      endpointId: string;
      /** Limits that count each send. */
      limits: readonly { key: string; limit: RateLimit }[];
      /** Half-open breaker: one delivery, by the one node with the probe. */
      isProbe: boolean;
      /** How long the probe is reserved: as long as the attempt may take, but short in case its node dies. */
      probeSeconds: number;
    };

const PROBE_SLACK_SECONDS = 5;
/** A closed gate without an end is checked again after this, in case its change was missed. */
const ASK_AGAIN_MS = 5_000;
/** A project whose config could not be read. */
const LOAD_AGAIN_MS = 1_000;

/** The part of the cache that a gate needs. */
type Config = Pick<ConfigCache, 'peek' | 'isGone' | 'load'>;

/** A deleted or inactive endpoint has an open gate: its deliveries are claimed and end as discarded. */
export function decideGate(
  cache: Config,
  place: { projectId: string; key: string; lane: number },
  nowMs: number,
): GateDecision {
  const { key, lane } = place;
  const projectId: ProjectId = asId(place.projectId);
  const routing = cache.peek(projectId);
  // Waiting deliveries of a deleted project are claimed and end as discarded.
  if (cache.isGone(projectId))
    return { open: true, endpointId: key, limits: [], isProbe: false, probeSeconds: 0 };
  if (routing === undefined) {
    void cache.load(projectId);
    return { open: false, endpointId: key, againInMs: LOAD_AGAIN_MS };
  }
  const endpointId = routing.subscriptions.get(key)?.row.endpoint_id ?? key;
  const row = routing.endpoints.get(endpointId)?.row;
  const status = row?.status;
  // The lease of a consumer has ended: the attempt is recorded, whatever the endpoint is like now.
  if (lane === LANE.leased) return { open: true, endpointId, limits: [], isProbe: false, probeSeconds: 0 };
  if (status === 'paused') return { open: false, endpointId, againInMs: ASK_AGAIN_MS };
  if (status !== 'active') return { open: true, endpointId, limits: [], isProbe: false, probeSeconds: 0 };
  if (row?.delivery !== 'push' && isCurrentKey(routing, key))
    return { open: false, endpointId, againInMs: ASK_AGAIN_MS };
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

/** Rows of a subscription that lost its rate limit are claimed once, and handed back under the key of the endpoint. */
function isCurrentKey(routing: ProjectRouting, key: string): boolean {
  const subscription = routing.subscriptions.get(key);
  return subscription === undefined || routing.queueKey(subscription) === key;
}
