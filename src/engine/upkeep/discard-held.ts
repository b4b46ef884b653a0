import type { Place } from '../../domain/delivery.ts';
import { firstIdAt, type ProjectId } from '../../domain/ids.ts';
import { gateOf, gates } from '../../routing/gate.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import { refuseMoving } from '../../store/config/projects.ts';
import { projectsWithHolds, skipHeldBefore } from '../../store/ordering/held-keys.ts';
import {
  endOpenMetaEvents,
  type LongOpenRow,
  lockHeld,
  projectsHolding,
  removeEmptyBatches,
} from '../../store/queue/held-deliveries.ts';
import { endOpenDeliveries } from '../../store/queue/resend-deliveries.ts';
import { projectRetentions } from '../../store/upkeep/project-retention.ts';
import type { EnginePart } from '../deps/engine-deps.ts';
import type { Duty } from './duty.ts';

/**
 * Ends open deliveries that have waited for twice the retention of their project, because of a paused
 * endpoint, an open circuit breaker or a rate limit. Open deliveries are never removed, so one endpoint that
 * stays paused would otherwise keep all partitions for ever. Each chunk is one commit: the deliveries, their
 * queue rows, and their meta events. Meta events end the same way, without another meta event. Ordering keys that have
 * been held for as long go on.
 */
export interface DiscardHeldDeps extends EnginePart<'db' | 'cache' | 'metaEvents' | 'metrics'> {
  /** New meta events of a project may wait in the queue. */
  metaEventsStored(projectId: string): void;
  /** The next deliveries of ordering keys are due. */
  released(places: readonly Place[]): void;
  duty: Duty;
}

const CHUNK = 500;
const HOUR_MS = 3_600_000;
/** Long enough for any request to have ended. A node that still leases a row then has lost it. */
const SENDING_MS = 24 * HOUR_MS;

export async function discardHeld(
  deps: DiscardHeldDeps,
  time: { nowMs: number; retentionMs: number },
  signal: AbortSignal,
): Promise<number> {
  const { db, cache, duty } = deps;
  const instanceMs = 2 * time.retentionMs;
  const withHolds = new Set(await projectsWithHolds(db));
  const limits = new Map([...withHolds].map((id) => [id, instanceMs]));
  for (const id of await projectsHolding(db, firstIdAt(time.nowMs - instanceMs))) limits.set(id, instanceMs);
  for (const { projectId, retentionMs } of await projectRetentions(db))
    limits.set(projectId, 2 * Math.min(retentionMs, time.retentionMs));
  let discarded = 0;
  await duty.eachProject({
    find: async () => [...limits].map(([projectId, heldMs]) => ({ projectId, heldMs })),
    act: async (projectId, [{ heldMs }]) => {
      const routing = await cache.getOrNull(projectId);
      for (let ended = 1; ended > 0 && !signal.aborted; discarded += ended)
        ended = await discardChunk(deps, { projectId, routing, heldMs, nowMs: time.nowMs });
      for (let keys = CHUNK; keys === CHUNK && withHolds.has(projectId) && !signal.aborted; )
        keys = await endHolds(deps, projectId, time.nowMs - heldMs);
    },
    signal,
  });
  return discarded;
}

/** A failed delivery that holds its ordering key would keep those behind it for ever. */
async function endHolds(deps: DiscardHeldDeps, projectId: ProjectId, beforeMs: number): Promise<number> {
  const { keys, released } = await deps.db.transaction(async (tx) => {
    await refuseMoving(tx, projectId);
    return skipHeldBefore(tx, projectId, { beforeMs, limit: CHUNK });
  });
  deps.released(released);
  return keys;
}

interface Holding {
  projectId: ProjectId;
  /** Null: the project was deleted. */
  routing: ProjectRouting | null;
  heldMs: number;
  nowMs: number;
}

async function discardChunk(deps: DiscardHeldDeps, holding: Holding): Promise<number> {
  const { projectId, heldMs, nowMs } = holding;
  const { metaEvents } = deps;
  const released: Place[] = [];
  const below = firstIdAt(nowMs - heldMs);
  const rows = await deps.db.transaction(async (tx) => {
    await refuseMoving(tx, projectId);
    const held = await lockHeld(tx, projectId, {
      below,
      evenIfSending: firstIdAt(nowMs - heldMs - SENDING_MS),
      limit: CHUNK,
    });
    for (const [description, ids] of byReason(held, holding)) {
      const end = { ids, status: 'Discarded', description } as const;
      released.push(...(await endOpenDeliveries({ tx, metaEvents }, projectId, end)).released);
    }
    const ofMeta = held.filter((row) => row.is_meta_event).map((row) => row.id);
    if (ofMeta.length > 0)
      await endOpenMetaEvents(tx, projectId, { ids: ofMeta, description: describe(heldMs, 'not sent') });
    if (held.length < CHUNK) await removeEmptyBatches(tx, projectId, below);
    return held;
  });
  const ended = rows.filter((row) => !row.is_meta_event).length;
  if (ended > 0) deps.metaEventsStored(projectId);
  deps.released(released);
  deps.metrics.deliveriesFinished.discarded.inc(ended);
  return rows.length;
}

function byReason(held: readonly LongOpenRow[], holding: Holding): Map<string, string[]> {
  const reasons = new Map<string, string[]>();
  for (const row of held) {
    if (row.is_meta_event) continue;
    const reason = describe(holding.heldMs, whyHeld(holding, row));
    reasons.set(reason, [...(reasons.get(reason) ?? []), row.id]);
  }
  return reasons;
}

function describe(heldMs: number, reason: string): string {
  const hours = Math.round((heldMs / HOUR_MS) * 100) / 100;
  return `Open for more than ${hours} hours, twice the retention: ${reason}.`;
}

function whyHeld({ routing, nowMs }: Holding, { key, lane }: LongOpenRow): string {
  return routing === null
    ? 'the project was deleted'
    : gates[gateOf(routing, { key, lane }, nowMs).kind].ended;
}
