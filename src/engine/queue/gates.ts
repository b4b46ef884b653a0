import { timeoutSeconds } from '../../domain/config/endpoint.ts';
import type { RateLimit } from '../../domain/config/rate-limit.ts';
import { BATCH_LANE } from '../../domain/delivery.ts';
import { asId, type ProjectId } from '../../domain/ids.ts';
import type { ConfigCache } from '../../routing/config-cache.ts';
import { gateOf, gates } from '../../routing/gate.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';

/** The meaning of the gate of a due key for a claim. */
export type GateDecision =
  /** `againInMs`: when to check again, unless the endpoint changes before. */
  | { open: false; endpointId: string; againInMs: number /** Rows wait for their batch. */; isBatch?: true }
  | {
      open: true;
      endpointId: string;
      /** Limits that count each send. */
      limits: readonly { key: string; limit: RateLimit }[];
      /** Half-open breaker: one delivery, by the one node with the probe. */
      isProbe: boolean;
      /** How long the probe is reserved: as long as the attempt may take, but short in case its node dies. */
      probeSeconds: number;
      /** The change of the breaker that this node knows. After a later one it has no right to a probe. */
      breakerChangedMs: number;
    };

const PROBE_SLACK_SECONDS = 5;
/** A closed gate without an end is checked again after this, in case its change was missed. */
const ASK_AGAIN_MS = 5_000;
/** A project whose config could not be read. */
const LOAD_AGAIN_MS = 1_000;
const NO_LIMITS: readonly [] = [];

/** The part of the cache that a gate needs. */
type Config = Pick<ConfigCache, 'peek' | 'isGone' | 'load'>;

/** A deleted or inactive endpoint has an open gate: its deliveries are claimed and end as discarded. */
export function decideGate(
  cache: Config,
  place: { projectId: string; key: string; lane: number },
  nowMs: number,
): GateDecision {
  const { key } = place;
  const projectId: ProjectId = asId(place.projectId);
  const routing = cache.peek(projectId);
  // Waiting deliveries of a deleted project are claimed and end as discarded.
  if (cache.isGone(projectId)) return passed(key);
  if (routing === undefined) {
    void cache.load(projectId);
    return shut(key, LOAD_AGAIN_MS);
  }
  const endpointId = routing.endpointOf(key);
  const gate = gateOf(routing, place, nowMs);
  if (gate.kind === 'probe' || gate.kind === 'limited')
    return {
      open: true,
      endpointId,
      limits: routing.limitsOf(endpointId, key),
      isProbe: gate.kind === 'probe',
      probeSeconds: gate.kind === 'probe' ? probeSeconds(routing, endpointId) : 0,
      breakerChangedMs: gate.kind === 'probe' ? gate.changedMs : 0,
    };
  if (gates[gate.kind].isOpen || (gate.kind === 'pull' && leavesPull(routing, place)))
    return passed(endpointId);
  const closed = shut(endpointId, 'untilMs' in gate ? gate.untilMs - nowMs : ASK_AGAIN_MS);
  return gate.kind === 'batch' ? { ...closed, isBatch: true } : closed;
}

/** A batch is claimed under any key, and taken apart: consumers get single deliveries. */
const leavesPull = (routing: ProjectRouting, { key, lane }: { key: string; lane: number }): boolean =>
  lane === BATCH_LANE.formed || isOldKey(routing, key);

const shut = (endpointId: string, againInMs: number) => ({
  open: false as const,
  endpointId,
  againInMs,
});

const passed = (endpointId: string): GateDecision => ({
  open: true,
  endpointId,
  limits: NO_LIMITS,
  isProbe: false,
  probeSeconds: 0,
  breakerChangedMs: 0,
});

function probeSeconds({ endpoints, project }: ProjectRouting, endpointId: string): number {
  return timeoutSeconds(endpoints.get(endpointId)?.row, project.config) + PROBE_SLACK_SECONDS;
}

/** Rows of a subscription that lost its rate limit are claimed once, and handed back under the key of the endpoint. */
function isOldKey(routing: ProjectRouting, key: string): boolean {
  const subscription = routing.subscriptions.get(key);
  return subscription !== undefined && routing.queueKey(subscription) !== key;
}
