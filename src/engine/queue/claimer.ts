import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { QueueKey } from '../../domain/delivery.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Database } from '../../store/database/database.ts';
import { releaseProbes, takeProbes } from '../../store/queue/breakers.ts';
import { claimBatch } from '../../store/queue/claim-batch.ts';
import { heldBy, releaseDeliveries, waitingKeys } from '../../store/queue/claim-deliveries.ts';
import type { Claim } from '../../store/queue/hold-due.ts';
import type { DuePlace } from '../../store/queue/rate-leases.ts';
import type { RateLeases } from '../limits/rate-leases.ts';
import { type Chosen, ClaimChoice, LANE_SHARES } from './claim-choice.ts';
import type { Dispatcher, QueueListener } from './dispatcher.ts';
import { DueKeys } from './due-keys.ts';
import type { GateDecision } from './gates.ts';
import type { Lease } from './lease.ts';

/**
 * Claims waiting deliveries for the dispatcher. In memory: for each (key, lane) with waiting rows the due
 * time of the first (due-keys.ts). It comes from this node's own finishes, from claims, and every five
 * seconds from a sweep of the queue, which finds the rows of other nodes.
 * idle    -> nothing is due; a timer is set to the next due time;
 * round   -> due keys whose gate is open and whose endpoint and project have room are chosen, each lane with its share
 *            and a key of each project in turn; half-open breakers get their probe. Then one statement claims a few
 *            rows per key, and the next round is planned. The node with the rate lease claims rows under a rate limit,
 *            and no more of them than may soon be sent.
 *
 * One round at a time. A round also starts when room becomes free, though no sooner than 10 ms after the
 * last, or when a gate may have opened. A key whose gate is closed is set aside: rounds do not check it.
 *
 * After a lost answer this node may hold rows in the database that it does not know. Until no statement from
 * then can still run, rounds begin by releasing such rows (reconcile). Only a round may do that: at any other
 * time, rows just claimed would look unknown.
 */
export interface ClaimerDeps {
  db: Database;
  nodeId: string;
  dispatcher: Dispatcher;
  lease: Lease;
  decideGate(projectId: string, key: string): GateDecision;
  expansionStored(): void;
  rateLeases: RateLeases;
  metrics: Metrics;
  log: Logger;
}

const SWEEP_MS = 5_000;
/** A sweep hears so many keys in one turn of the event loop: some 2 ms. */
const HEARD_AT_ONCE = 1_000;
const AFTER_ERROR_MS = 500;
/** Many deliveries end at a time, so their places are assigned together. */
const ROOM_PACE_MS = 10;
const PROBE_TAKEN_MS = 1_000;
/** So that many of them start one round. */
const PASSED_OVER_MS = 20;
/** No statement of the hot path lives longer on the server, and no answer is awaited longer here. */
const UNSURE_MS = 12_000;

export class Claimer implements QueueListener {
  readonly #deps: ClaimerDeps;
  readonly #keys = new DueKeys();
  readonly #choice: ClaimChoice;
  #timer: NodeJS.Timeout | undefined;
  #sweepTimer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #plannedAt = Number.POSITIVE_INFINITY;
  #stopped = false;
  #unsureUntil = Number.NEGATIVE_INFINITY;
  #reconcileAt = 0;
  #startedAt = Number.NEGATIVE_INFINITY;
  /** The recent length of a round. A key may become due when one has just begun. */
  #roundMs = 0;
  /** Since when a key of this round may have waited for it. */
  #wantedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: ClaimerDeps) {
    this.#deps = deps;
    this.#choice = new ClaimChoice({ ...deps, keys: this.#keys, sweepMs: SWEEP_MS });
  }

  async start(): Promise<void> {
    this.unsure();
    await this.sweep();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#sweepTimer);
    await this.#round;
  }

  waiting(projectId: string, where: { key: QueueKey; lane: number }, dueInMs: number): void {
    this.#heard({ projectId, ...where }, { dueInMs, isOwn: true });
  }

  /** Another node reports that rows wait there. */
  onDue(place: DuePlace): void {
    this.#heard(place, { dueInMs: 0, isOwn: false });
  }

  /** Rows of a place under a rate limit can be claimed, or its lease requested again, after this time. */
  leased(place: DuePlace, inMs: number): void {
    this.#heard(place, { dueInMs: inMs, isOwn: false });
  }

  /** A delivery claimed by this key left unsent, so another can take its turn. */
  passedOver(key: string): void {
    for (const lane of LANE_SHARES.keys()) {
      const due = this.#keys.get(lane, key);
      if (due === undefined || due.shutBy !== undefined) continue;
      this.#keys.moveTo(due, Math.min(due.dueAt, performance.now() + PASSED_OVER_MS));
      this.#plan(due.dueAt);
    }
  }

  #heard({ projectId, key, lane }: DuePlace, { dueInMs, isOwn }: { dueInMs: number; isOwn: boolean }): void {
    const dueAt = performance.now() + Math.max(0, dueInMs);
    const known = this.#keys.get(lane, key);
    if (known === undefined) this.#keys.add({ projectId, key, lane, dueAt, notifiedAt: dueAt, isOwn });
    else {
      known.notifiedAt = Math.min(known.notifiedAt, dueAt);
      known.isOwn ||= isOwn;
      // Another row behind a closed gate changes nothing.
      if (known.shutBy !== undefined) return;
      this.#keys.moveTo(known, Math.min(known.dueAt, dueAt));
    }
    this.#plan(dueAt);
  }

  roomFreed(): void {
    if (this.#keys.size > 0) this.#plan(Math.max(performance.now(), this.#startedAt + ROOM_PACE_MS));
  }

  unsure(): void {
    const now = performance.now();
    this.#unsureUntil = now + UNSURE_MS;
    this.#reconcileAt = now;
    this.wake();
  }

  expansionStored(): void {
    this.#deps.expansionStored();
  }

  /** The config of these endpoints or subscriptions changed, so their gates may have opened. */
  reopen(ids: Iterable<string>): void {
    if (this.#keys.reopen(ids)) this.wake();
  }

  wake(): void {
    this.#plan(performance.now());
  }

  async sweep(): Promise<void> {
    try {
      for (const [n, row] of (await waitingKeys(this.#deps.db)).entries()) {
        if (n % HEARD_AT_ONCE === HEARD_AT_ONCE - 1) await nextTurn();
        const place = { projectId: row.project_id, key: row.key, lane: row.lane };
        this.#heard(place, { dueInMs: row.due_in_ms, isOwn: false });
      }
    } catch (error) {
      this.#deps.log.debug({ err: error }, 'sweep failed; retrying in 5 s');
    }
    if (this.#reconcileAt < this.#unsureUntil) this.wake();
    // Other callers request sweeps too, so two may run at a time. One timer remains.
    clearTimeout(this.#sweepTimer);
    if (!this.#stopped) this.#sweepTimer = setTimeout(() => void this.sweep(), SWEEP_MS);
  }

  /** Releases rows that this node holds in the database and the dispatcher does not know. */
  async #reconcile(): Promise<void> {
    const { db, nodeId, dispatcher } = this.#deps;
    const now = performance.now();
    if (this.#reconcileAt > now || this.#reconcileAt >= this.#unsureUntil) return;
    const unknown = (await heldBy(db, nodeId)).filter(({ id }) => !dispatcher.holds(id));
    if (unknown.length > 0) await releaseDeliveries(db, nodeId, unknown);
    for (const row of unknown) this.waiting(row.projectId, { key: row.key, lane: row.lane }, 0);
    this.#reconcileAt = Math.max(now, this.#reconcileAt) + SWEEP_MS;
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
    this.#round = this.#runRound()
      .catch(async (error: unknown) => {
        this.#deps.log.warn({ err: error }, 'claim failed; retrying');
        await sleep(AFTER_ERROR_MS);
        this.unsure();
      })
      .finally(() => {
        this.#round = undefined;
        // A key may have become due after the round chose. Timers fire up to a millisecond early, so a key
        // often becomes due while its round runs empty.
        const at = Math.min(this.#plannedAt, this.#keys.next());
        this.#plannedAt = Number.POSITIVE_INFINITY;
        if (at !== Number.POSITIVE_INFINITY) this.#plan(at);
      });
  }

  async #runRound(): Promise<void> {
    const startedAt = performance.now();
    this.#startedAt = startedAt;
    // Due keys that were not chosen wait for room, a gate or the lease.
    this.#keys.settle(startedAt);
    if (!this.#deps.lease.isFresh()) return;
    this.#wantedAt = startedAt - this.#roundMs;
    await this.#reconcile();
    const chosen = await this.#admit(this.#choose(startedAt));
    if (chosen.length === 0) return;
    const claims = await this.#claim(chosen);
    const started = claims.map((claim, n) => this.#take(chosen[n] as Chosen, claim));
    const claimed = claims.reduce((sum, { deliveries }) => sum + deliveries.length, 0);
    if (claimed > 0) this.#deps.metrics.batchSize.claim.observe(claimed);
    await this.#releaseUnused(chosen, started);
    this.#roundMs = Math.max(performance.now() - startedAt, this.#roundMs * 0.8);
    // Keys omitted for lack of rows in this round, or due again already, get another round at once.
    this.wake();
  }

  /** A failed claim starts nothing, even if it was committed. The next round releases such rows. */
  async #claim(chosen: Chosen[]): Promise<Claim[]> {
    const wants = chosen.map(({ want }) => want);
    try {
      return await claimBatch(this.#deps.db, this.#deps.nodeId, wants);
    } catch (error) {
      await this.#releaseUnused(chosen, []).catch((alsoFailed: unknown) => {
        this.#deps.log.debug({ err: alsoFailed }, 'failed to release probes; they expire by themselves');
      });
      throw error;
    }
  }

  /** Releases probes for which nothing was started. `started`: how many of each choice. */
  async #releaseUnused(chosen: Chosen[], started: number[]): Promise<void> {
    const unsent = chosen.flatMap(({ probe }, n) =>
      probe !== undefined && (started[n] ?? 0) === 0 ? [probe] : [],
    );
    await releaseProbes(this.#deps.db, unsent);
  }

  #choose(startedAt: number): Chosen[] {
    const { chosen, isCut } = this.#choice.choose();
    if (isCut) this.#plan(startedAt + ROOM_PACE_MS);
    return chosen;
  }

  /** Keeps the choices that may start something, after requesting the necessary probes. */
  async #admit(chosen: Chosen[]): Promise<Chosen[]> {
    const probes = chosen.filter(({ gate }) => gate.isProbe);
    const taken = await takeProbes(
      this.#deps.db,
      probes.map(({ gate }) => ({ endpointId: gate.endpointId, seconds: gate.probeSeconds })),
    );
    for (const choice of probes) {
      const probe = taken.get(choice.gate.endpointId);
      if (probe !== undefined) {
        choice.probe = probe;
        continue;
      }
      choice.want.count = 0;
      this.#keys.moveTo(choice.due, performance.now() + PROBE_TAKEN_MS);
    }
    return chosen.filter(({ want }) => want.count > 0);
  }

  /** How many were started. The next round releases those without a place. */
  #take({ due, limited, probe }: Chosen, { want, deliveries, nextDueInMs }: Claim): number {
    const now = performance.now();
    let nextAt = limited?.moreAt ?? now;
    if (deliveries.length < want.count)
      nextAt = Math.min(due.notifiedAt, nextDueInMs === null ? Number.POSITIVE_INFINITY : now + nextDueInMs);
    if (nextAt === Number.POSITIVE_INFINITY) this.#keys.delete(due);
    else this.#keys.moveTo(due, nextAt);
    let started = 0;
    for (const delivery of deliveries) {
      const { id, projectId, target } = delivery;
      if (!this.#deps.dispatcher.reserveClaimed(id, { projectId, endpointId: target })) {
        this.unsure();
        continue;
      }
      started += 1;
      if (delivery.kind === 'delivery') delivery.probeFence = probe?.fence ?? null;
      if (limited !== undefined) this.#deps.rateLeases.claimed(limited.group, delivery, this.#wantedAt);
      this.#deps.dispatcher.start(delivery);
    }
    return started;
  }
}
