import type { Logger } from '../platform/logger.ts';
import {
  type Claim,
  claimDeliveries,
  heldBy,
  releaseDeliveries,
  type Want,
  waitingKeys,
} from '../store/claim-deliveries.ts';
import type { Database } from '../store/database.ts';
import type { Dispatcher, QueueListener } from './dispatcher.ts';
import type { Lease } from './lease.ts';

/**
 * Brings waiting deliveries to the dispatcher. In memory: for each (key, lane) with waiting rows the time its first
 * is due, learned from this node's own finishes, from claims, and every five seconds from a sweep of the queue,
 * which finds whatever other nodes left.
 *
 * idle    -> nothing is due; a timer stands at the next due time;
 * round   -> the due keys whose gate is open and whose endpoint has room are claimed in one statement, a few rows
 *            per key, lanes in order; then the next round is planned.
 *
 * One round at a time. A round is also started when room becomes free or a gate may have opened.
 */
interface DueKey {
  projectId: string;
  key: string;
  lane: number;
  /** By the monotonic clock. */
  dueAt: number;
}

export interface ClaimerDeps {
  db: Database;
  nodeId: string;
  dispatcher: Dispatcher;
  lease: Lease;
  /** The endpoint behind a key, or null while a gate keeps its deliveries waiting. */
  openEndpoint(projectId: string, key: string): string | null;
  log: Logger;
}

const SWEEP_MS = 5_000;
const ROWS_PER_KEY = 50;
const ROWS_PER_ROUND = 400;
/** Below this much room a busy endpoint is not worth a round trip; it will soon have more. */
const WORTH_CLAIMING = 32;
const AFTER_ERROR_MS = 500;

export class Claimer implements QueueListener {
  readonly #deps: ClaimerDeps;
  readonly #due = new Map<string, DueKey>();
  #timer: NodeJS.Timeout | undefined;
  #sweepTimer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #plannedAt = Number.POSITIVE_INFINITY;
  #stopped = false;
  #unsure = true;

  constructor(deps: ClaimerDeps) {
    this.#deps = deps;
  }

  async start(): Promise<void> {
    await this.sweep();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#sweepTimer);
    await this.#round;
  }

  waiting(projectId: string, where: { key: string; lane: number }, dueInMs: number): void {
    const { key, lane } = where;
    const dueAt = performance.now() + Math.max(0, dueInMs);
    const id = `${lane} ${key}`;
    const known = this.#due.get(id);
    if (known === undefined || dueAt < known.dueAt) this.#due.set(id, { projectId, key, lane, dueAt });
    this.#plan(dueAt);
  }

  roomFreed(): void {
    if (this.#due.size > 0) this.wake();
  }

  unsure(): void {
    this.#unsure = true;
  }

  /** Something may be claimable now that was not before: room, or an open gate. */
  wake(): void {
    this.#plan(performance.now());
  }

  async sweep(): Promise<void> {
    clearTimeout(this.#sweepTimer);
    try {
      if (this.#unsure) await this.#reconcile();
      for (const row of await waitingKeys(this.#deps.db)) {
        this.waiting(row.project_id, { key: row.key, lane: row.lane }, row.due_in_ms);
      }
    } catch (error) {
      this.#deps.log.debug({ err: error }, 'sweep failed; the next one comes in five seconds');
    }
    if (!this.#stopped) this.#sweepTimer = setTimeout(() => void this.sweep(), SWEEP_MS);
  }

  /** Gives back rows that the database says this node holds and the dispatcher does not know. */
  async #reconcile(): Promise<void> {
    await this.#round;
    const { db, nodeId, dispatcher } = this.#deps;
    const unknown = (await heldBy(db, nodeId)).filter(({ id }) => !dispatcher.holds(id));
    if (unknown.length > 0) await releaseDeliveries(db, nodeId, unknown);
    this.#unsure = false;
  }

  /** A round will start at this time at the latest. */
  #plan(at: number): void {
    if (this.#stopped || at >= this.#plannedAt) return;
    this.#plannedAt = at;
    if (this.#round !== undefined) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#startRound(), Math.max(0, at - performance.now()));
  }

  #startRound(): void {
    this.#plannedAt = Number.POSITIVE_INFINITY;
    this.#round = this.#claim()
      .catch(async (error: unknown) => {
        this.#unsure = true;
        this.#deps.log.warn({ err: error }, 'claim failed; trying again');
        await new Promise((resolve) => setTimeout(resolve, AFTER_ERROR_MS));
      })
      .finally(() => {
        this.#round = undefined;
        const at = Math.min(this.#plannedAt, this.#nextDue());
        this.#plannedAt = Number.POSITIVE_INFINITY;
        if (at !== Number.POSITIVE_INFINITY) this.#plan(at);
      });
  }

  /** When a key that is not due yet will be. Due keys that were passed over wait for room or a gate instead. */
  #nextDue(): number {
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const { dueAt } of this.#due.values()) if (dueAt > now && dueAt < next) next = dueAt;
    return next;
  }

  async #claim(): Promise<void> {
    const wants = this.#deps.lease.isFresh() ? this.#choose() : [];
    if (wants.length === 0) return;
    for (const claim of await claimDeliveries(this.#deps.db, this.#deps.nodeId, wants)) this.#take(claim);
    // What was left out for want of rows in this round, or is due again already, gets another one at once.
    this.wake();
  }

  #choose(): Want[] {
    const now = performance.now();
    const due = [...this.#due.values()]
      .filter((key) => key.dueAt <= now)
      .sort((a, b) => a.lane - b.lane || a.dueAt - b.dueAt);
    const wants: Want[] = [];
    const granted = new Map<string, number>();
    let left = ROWS_PER_ROUND;
    for (const { projectId, key, lane } of due) {
      const endpointId = left > 0 ? this.#deps.openEndpoint(projectId, key) : null;
      if (endpointId === null) continue;
      const room = this.#deps.dispatcher.room(endpointId) - (granted.get(endpointId) ?? 0);
      if (room < WORTH_CLAIMING && this.#deps.dispatcher.isBusy(endpointId)) continue;
      const count = Math.min(room, ROWS_PER_KEY, left);
      if (count < 1) continue;
      granted.set(endpointId, (granted.get(endpointId) ?? 0) + count);
      left -= count;
      wants.push({ key, lane, count });
    }
    return wants;
  }

  #take({ want, deliveries, nextDueInMs }: Claim): void {
    const id = `${want.lane} ${want.key}`;
    const known = this.#due.get(id);
    const more = deliveries.length === want.count;
    if (known !== undefined && !more) {
      if (nextDueInMs === null) this.#due.delete(id);
      else known.dueAt = performance.now() + nextDueInMs;
    }
    for (const delivery of deliveries) {
      if (this.#deps.dispatcher.reserve(delivery.id, delivery.endpointId))
        this.#deps.dispatcher.start(delivery);
      else this.#unsure = true;
    }
  }
}
