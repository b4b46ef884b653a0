import { askForProbes } from '../control/breaker-moves.ts';
import type { ConfigChanges } from '../control/config-changes.ts';
import { needsAsking } from '../domain/config/circuit-breaker.ts';
import { isBatch, LANE, type QueueKey } from '../domain/delivery.ts';
import type { DeliverySink } from '../domain/delivery-sink.ts';
import { idTime } from '../domain/ids.ts';
import type { ConfigCache } from '../routing/config-cache.ts';
import { type Gate, gateOf } from '../routing/gate.ts';
import type { ProjectRouting } from '../routing/project-routing.ts';
import type { Queryable } from '../store/database/database.ts';
import { idsAfter } from '../store/database/list-page.ts';
import { type DeliveryFilter, deliveryWalk } from '../store/history/event-deliveries.ts';
import type { JobRow, JobWork } from '../store/jobs/jobs.ts';
import {
  lockBatches,
  lockWaiting,
  moveToTurns,
  putFirst,
  type Turn,
  type WaitingRow,
} from '../store/queue/send-now.ts';

/**
 * Makes waiting deliveries due. Their gates stay: a pause and a rate limit hold them as before. An open breaker gets one
 * probe, of the first batch or delivery of the job; its success closes the breaker, and the rest is due already.
 *
 * With a rate, each delivery gets a turn, that many of them per second. A batch has one turn, as long as those of its
 * deliveries. The turns are given as fast as the job runs, and the queue keeps them. The probes are asked for at the end: a
 * breaker that closed before would release the deliveries that have no turn yet. The cursor remembers whose probes these
 * are.
 */
const CHUNK = 500;

interface SendNowDeps {
  cache: ConfigCache;
  changes: ConfigChanges;
  sink: DeliverySink;
}

interface Gated extends WaitingRow {
  gate: Gate;
}

export function sendNow(deps: SendNowDeps): JobWork {
  return async (job) => {
    const filter = JSON.parse(job.input) as DeliveryFilter;
    const routing = await deps.cache.refresh(job.project_id);
    return async (tx) => {
      const [after = '', ...earlier] = job.cursor.split(' ');
      // Consumers fetch these.
      const exceptEndpointIds = [...routing.pullEndpoints()];
      const walk = deliveryWalk(job.project_id, { ...filter, exceptEndpointIds });
      const ids = await idsAfter(tx, walk, { after, before: job.id, limit: CHUNK });
      const last = ids.length < CHUNK ? undefined : ids.at(-1);
      const nowMs = deps.changes.deps.now();
      const batches = await lockBatches(tx, job.project_id, { ids, after });
      const singles = await lockWaiting(tx, job.project_id, ids);
      const rows = gated(routing, [...batches, ...singles], nowMs);
      const sendable = rows.filter(({ gate }) => !isDiscarded(gate));
      const firsts = firstsOf(routing, { job, rows: sendable, earlier, nowMs });
      const firstIds = firsts.map(({ id }) => id);
      await moveToTurns(tx, job.project_id, turnsOf(sendable, { job, firstIds, nowMs }));
      await putFirst(tx, job.project_id, firstIds);
      const probed = [...earlier, ...firsts.map(({ endpoint_id }) => endpoint_id)];
      const asksNow = job.rate === null || last === undefined;
      const asked = await askIn(tx, deps.changes, { job, endpointIds: asksNow ? probed : [] });
      return {
        cursor: last === undefined ? null : [last, ...(asksNow ? [] : probed)].join(' '),
        done: deliveriesIn(sendable),
        failed: deliveriesIn(rows) - deliveriesIn(sendable),
        keepsRate: true,
        committed: async () => {
          for (const { key, lane } of placesOf(sendable, firsts))
            deps.sink.waiting({ projectId: job.project_id, key, lane });
          await asked();
        },
      };
    };
  };
}

function gated(routing: ProjectRouting, rows: readonly WaitingRow[], nowMs: number): Gated[] {
  return rows.map((row) => {
    const key = routing.keyOf(row.endpoint_id, row.subscription_id);
    return { ...row, gate: gateOf(routing, { key, lane: row.lane }, nowMs) };
  });
}

const deliveriesIn = (rows: readonly WaitingRow[]): number =>
  rows.reduce((sum, { deliveries }) => sum + deliveries, 0);

/** A due delivery of such an endpoint would be discarded. */
const isDiscarded = ({ kind }: Gate) => kind === 'gone' || kind === 'inactive';

/** Held until a person or a probe opens the gate. Then all of them would go at once. */
const isHeld = ({ kind }: Gate) =>
  kind === 'pending' || kind === 'paused' || kind === 'breaker' || kind === 'probe';

/** Without a rate every turn is now, so rows that are due already keep their places. */
function turnsOf(
  rows: readonly Gated[],
  { job, firstIds, nowMs }: { job: JobRow; firstIds: readonly string[]; nowMs: number },
): Turn[] {
  const { rate, done } = job;
  if (rate === null) return rows.filter((row) => row.is_later).map(({ id }) => ({ id, atMs: 0 }));
  const startMs = job.started_at ?? nowMs;
  const isFirst = new Set(firstIds);
  let before = done;
  return rows.flatMap(({ id, is_later, had_turn, gate, deliveries }) => {
    const atMs = isFirst.has(id) ? 0 : startMs + (before * 1000) / rate;
    before += deliveries;
    return is_later || (isHeld(gate) && !had_turn) ? [{ id, atMs }] : [];
  });
}

/** The first row of each endpoint whose breaker is open and that the job has not asked for a probe yet. */
function firstsOf(
  routing: ProjectRouting,
  {
    job,
    rows,
    earlier,
    nowMs,
  }: { job: JobRow; rows: readonly Gated[]; earlier: readonly string[]; nowMs: number },
): Gated[] {
  const settings = routing.project.config.circuit_breaker;
  const seen = new Set(earlier);
  return rows.filter(({ endpoint_id, gate }) => {
    if ((gate.kind !== 'breaker' && gate.kind !== 'probe') || seen.has(endpoint_id)) return false;
    seen.add(endpoint_id);
    const asked = { atMs: idTime(job.id), nowMs };
    return needsAsking(routing.breaker(endpoint_id), settings, asked);
  });
}

/** Asks for probes in the transaction of the chunk. The result is to be called after its commit. */
async function askIn(
  tx: Queryable,
  changes: ConfigChanges,
  { job, endpointIds }: { job: JobRow; endpointIds: readonly string[] },
): Promise<() => Promise<void>> {
  if (endpointIds.length === 0) return async () => {};
  return changes.changeStateIn(tx, job.project_id, (change) =>
    askForProbes(change, { endpointIds, openedBeforeMs: idTime(job.id) }),
  );
}

function placesOf(
  rows: readonly Gated[],
  firsts: readonly Gated[],
): Iterable<{ key: QueueKey; lane: number }> {
  const places = [...rows, ...firsts.map((row) => (isBatch(row) ? row : { ...row, lane: LANE.first }))];
  return new Map(places.map(({ key, lane }) => [`${lane} ${key}`, { key, lane }])).values();
}
