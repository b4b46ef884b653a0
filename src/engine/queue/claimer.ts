import { setImmediate as nextTurn } from 'node:timers/promises';
import { BATCH_LANE, type Place, type QueueKey } from '../../domain/delivery.ts';
import { placesOf, type QueueRowKey } from '../../domain/delivery-sink.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { isUndone } from '../../store/database/pg-errors.ts';
import { type Claim, claimRows } from '../../store/queue/claim.ts';
import { waitingKeys } from '../../store/queue/queue-depth.ts';
import type { EnginePart } from '../deps/engine-deps.ts';
import type { RateLeases } from '../limits/rate-leases.ts';
import { type Chosen, ClaimChoice, LANE_SHARES } from './claim-choice.ts';
import { ClaimPace } from './claim-pace.ts';
import type { Dispatcher } from './dispatcher.ts';
import { Doubts } from './doubts.ts';
import { DueKeys } from './due-keys.ts';
import type { GateDecision } from './gates.ts';
import type { Lease } from './lease.ts';
import { ProbeClaims } from './probe-claims.ts';

/**
 * Claims waiting deliveries for the dispatcher. In memory: for each (key, lane) with waiting rows the due
 * time of the first (due-keys.ts). It comes from this node's own finishes, from claims, and every five
 * seconds from a sweep of the queue, which finds the rows of other nodes.
 * idle    -> nothing is due; a timer is set to the next due time;
 * round   -> due keys whose gate is open and whose endpoint and project have room are chosen, each lane with its share
 *            and a key of each project in turn. Then one statement claims a few rows per key, and the next round is
 *            planned. The node with the rate lease claims rows under a rate limit, and no more of them than may soon be
 *            sent. Keys of half-open breakers are claimed outside of the rounds (probe-claims.ts).
 *
 * One round at a time. A round also starts when room becomes free, though no sooner than 10 ms after the last, or when a
 * gate may have opened. While another project has new events on a busy node, rounds are small and wait (claim-pace.ts). A
 * key whose gate is closed is set aside: rounds do not check it.
 *
 * After a lost answer this node may lease rows in the database that it does not know. Rounds begin by releasing such
 * rows (doubts.ts). Only a round may do that, and only while no probe is claimed: at any other time, rows just claimed
 * would look unknown.
 */
export interface ClaimerDeps extends EnginePart<'db' | 'nodeId' | 'clock' | 'metrics' | 'log'> {
  dispatcher: Dispatcher;
  lease: Lease;
  decideGate(place: { projectId: string; key: string; lane: number }): GateDecision;
  rateLeases: RateLeases;
  /** Rows of this place wait for their batch. */
  collects(place: Place): void;
  /** Batches of this key are claimed. */
  batchesClaimed(key: QueueKey): void;
}

const SWEEP_MS = 5_000;
/** A sweep hears so many keys in one turn of the event loop: some 2 ms. */
const HEARD_AT_ONCE = 1_000;
const AFTER_ERROR_MS = 500;
/** Many deliveries end at a time, so their places are assigned together. */
const ROOM_PACE_MS = 10;
const PROBE_TAKEN_MS = 1_000;
/** Deliveries that were passed over within this time start one round. */
const PASSED_OVER_MS = 20;
/** A timer takes 24 days at most. */
const LONGEST_TIMER_MS = 3_600_000;

/** The node that holds the rows ends its statement soon, or it is stuck. */
const missedMs = (misses: number): number => Math.min(SWEEP_MS, ROOM_PACE_MS * 2 ** misses);

export class Claimer {
  readonly #deps: ClaimerDeps;
  readonly #clock: Clock;
  readonly #keys: DueKeys;
  readonly #choice: ClaimChoice;
  readonly #probes: ProbeClaims;
  readonly #doubts: Doubts;
  readonly #pace: ClaimPace;
  #cancelRound = () => {};
  #cancelSweep = () => {};
  #round: Promise<void> | undefined;
  #plannedAt = Number.POSITIVE_INFINITY;
  #stopped = false;
  #startedAt = Number.NEGATIVE_INFINITY;
  #notBefore = Number.NEGATIVE_INFINITY;

  constructor(deps: ClaimerDeps) {
    this.#deps = deps;
    this.#clock = deps.clock;
    this.#keys = new DueKeys(deps.clock);
    this.#doubts = new Doubts(deps);
    this.#pace = new ClaimPace(deps.clock);
    this.#probes = new ProbeClaims({
      ...deps,
      start: (chosen) => this.#claim(chosen),
      taken: ({ due }) => this.#keys.moveTo(due, this.#clock.elapsed() + PROBE_TAKEN_MS),
      failed: (error) => this.#failed(error),
      ended: () => this.wake(),
    });
    this.#choice = new ClaimChoice({
      ...deps,
      keys: this.#keys,
      probesUnderWay: () => this.#probes.underWay,
      probeAgainMs: PROBE_TAKEN_MS,
      sweepMs: SWEEP_MS,
    });
  }

  start(): Promise<void> {
    return this.sweep();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelRound();
    this.#cancelSweep();
    await this.#round;
    await this.#probes.settled();
  }

  waiting(place: Place, dueInMs: number): void {
    this.#rowsDue(place, { dueInMs, isOwn: true });
  }

  /** Another node reports that rows wait there. */
  onDue(place: Place): void {
    this.#rowsDue(place, { dueInMs: 0, isOwn: false });
  }

  /** Rows of a place under a rate limit can be claimed, or its lease requested again, after this time. */
  leased(place: Place, inMs: number): void {
    this.#rowsDue(place, { dueInMs: inMs, isOwn: false });
  }

  /** A delivery claimed by this key left unsent, so another can take its turn. */
  passedOver(key: string): void {
    for (const lane of LANE_SHARES.keys()) {
      const due = this.#keys.get(lane, key);
      if (due === undefined || due.shutBy !== undefined) continue;
      this.#keys.moveTo(due, Math.min(due.dueAt, this.#clock.elapsed() + PASSED_OVER_MS));
      this.#plan(due.dueAt);
    }
  }

  #rowsDue({ projectId, key, lane }: Place, { dueInMs, isOwn }: { dueInMs: number; isOwn: boolean }): void {
    // Rows of batches, and those that wait for their turn, are released by others.
    if (!LANE_SHARES.has(lane)) return;
    const dueAt = this.#clock.elapsed() + Math.max(0, dueInMs);
    const known = this.#keys.get(lane, key);
    if (known === undefined)
      this.#keys.add({ projectId, key, lane, dueAt, notifiedAt: dueAt, isOwn, misses: 0 });
    else {
      known.notifiedAt = Math.min(known.notifiedAt, dueAt);
      known.isOwn ||= isOwn;
      // Another row behind a closed gate changes nothing.
      if (known.shutBy !== undefined) return;
      this.#keys.moveTo(known, Math.min(known.dueAt, dueAt));
    }
    this.#plan(dueAt);
  }

  /** A project has a new event, which this node may send at once. */
  live(projectId: string): void {
    this.#pace.live(projectId);
  }

  roomFreed(): void {
    if (this.#keys.size > 0) this.#plan(Math.max(this.#clock.elapsed(), this.#startedAt + ROOM_PACE_MS));
  }

  unsure(rows: readonly QueueRowKey[]): void {
    this.#doubts.add(rows);
    this.wake();
  }

  /** After the stop. False: this node may still lease rows, somewhere in the queue. */
  async releaseRest(): Promise<boolean> {
    await this.#doubts.releaseAll();
    return !this.#doubts.isClaimLost;
  }

  /** The config of these endpoints or subscriptions changed, so their gates may have opened. */
  reopen(ids: Iterable<string>): void {
    if (this.#keys.reopen(ids)) this.wake();
  }

  wake(): void {
    this.#plan(this.#clock.elapsed());
  }

  async sweep(): Promise<void> {
    try {
      for (const [n, row] of (await waitingKeys(this.#deps.db)).entries()) {
        if (n % HEARD_AT_ONCE === HEARD_AT_ONCE - 1) await nextTurn();
        this.#rowsDue(row, { dueInMs: row.dueInMs, isOwn: false });
      }
    } catch (error) {
      this.#deps.log.debug({ err: error }, 'sweep failed; retrying in 5 s');
    }
    if (!this.#doubts.isEmpty) this.wake();
    // Other callers request sweeps too, so two may run at a time. One timer remains.
    this.#cancelSweep();
    if (!this.#stopped) this.#cancelSweep = this.#clock.after(SWEEP_MS, () => void this.sweep());
  }

  /** Releases rows that this node may lease in the database and the dispatcher does not know. */
  async #reconcile(): Promise<void> {
    if (!this.#doubts.isDue()) return;
    await this.#probes.settled();
    for (const place of await this.#doubts.release()) this.waiting(place, 0);
    // A walk goes on in the next round.
    if (this.#doubts.isDue()) this.wake();
  }

  /** A round will start at this time at the latest. */
  #plan(at: number): void {
    if (this.#stopped || at >= this.#plannedAt) return;
    this.#plannedAt = at;
    if (this.#round !== undefined) return;
    this.#cancelRound();
    const startAt = Math.max(at, this.#notBefore);
    const inMs = Math.min(LONGEST_TIMER_MS, Math.max(0, startAt - this.#clock.elapsed()));
    this.#cancelRound = this.#clock.after(inMs, () => this.#startRound());
  }

  /** The next round leaves time for new events. */
  #wait(claimed: number, of: readonly Chosen[]): void {
    const now = this.#clock.elapsed();
    const round = { of: of.map(({ due }) => due.projectId), tookMs: now - this.#startedAt };
    this.#notBefore = now + this.#pace.claimed(claimed, round);
  }

  #startRound(): void {
    this.#plannedAt = Number.POSITIVE_INFINITY;
    this.#round = this.#runRound()
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#round = undefined;
        // A key may have become due after the round chose. Timers fire up to a millisecond early, so a key
        // often becomes due while its round runs empty.
        const at = Math.min(this.#plannedAt, this.#keys.next());
        this.#plannedAt = Number.POSITIVE_INFINITY;
        if (at !== Number.POSITIVE_INFINITY) this.#plan(at);
      });
  }

  async #failed(error: unknown): Promise<void> {
    this.#deps.log.warn({ err: error }, 'claim failed; retrying');
    await this.#clock.sleep(AFTER_ERROR_MS);
    this.wake();
  }

  async #runRound(): Promise<void> {
    const startedAt = this.#clock.elapsed();
    this.#startedAt = startedAt;
    // Due keys that were not chosen wait for room, a gate or the lease.
    this.#keys.settle(startedAt);
    if (!this.#deps.lease.isFresh()) return;
    await this.#reconcile();
    const { chosen, isCut } = this.#choice.choose(this.#pace.rows);
    if (isCut) this.#plan(startedAt + ROOM_PACE_MS);
    const probes = chosen.filter(({ gate }) => gate.isProbe);
    if (probes.length > 0) this.#probes.begin(probes);
    const others = chosen.filter(({ gate }) => !gate.isProbe);
    if (others.length === 0) return;
    const started = await this.#claim(others);
    this.#wait(
      started.reduce((sum, each) => sum + each, 0),
      others,
    );
    // Keys omitted for lack of rows in this round, or due again already, get another round at once.
    this.wake();
  }

  /**
   * Claims the choices and starts what was claimed. Returns how many of each were started. A failed claim starts
   * nothing, even if it was committed. Later rounds release such rows.
   */
  async #claim(chosen: Chosen[]): Promise<number[]> {
    const wants = chosen.map(({ want }) => want);
    const { db, nodeId, dispatcher } = this.#deps;
    const { silences, free } = dispatcher;
    const claims = await claimRows(db, { nodeId, wants, free }).catch((error: unknown) => {
      if (!isUndone(error)) this.#doubts.claimLost();
      throw error;
    });
    const started = claims.map((claim, n) => this.#take(chosen[n] as Chosen, claim, silences));
    const claimed = claims.reduce((sum, { deliveries }) => sum + deliveries.length, 0);
    if (claimed > 0) this.#deps.metrics.batchSize.claim.observe(claimed);
    return started;
  }

  /**
   * How many were started. The next round releases those without a place, and those of an answer that outlasted a silence
   * of this node: another one may have their rows.
   */
  #take(chosen: Chosen, claim: Claim, silences: number): number {
    const { dispatcher } = this.#deps;
    const { due, limited, probe } = chosen;
    const { deliveries } = claim;
    if (probe === undefined) limited?.group.roundTook(this.#clock.elapsed() - this.#startedAt);
    const nextAt = this.#nextAt(chosen, claim);
    if (nextAt === Number.POSITIVE_INFINITY) this.#keys.delete(due);
    else this.#keys.moveTo(due, nextAt);
    if (due.lane === BATCH_LANE.formed && deliveries.length > 0) this.#deps.batchesClaimed(due.key);
    let started = 0;
    for (const delivery of deliveries) {
      const { id, projectId, target } = delivery;
      // The deliveries of a batch are read once there is room for them.
      const bytes = delivery.kind === 'batch' ? 0 : delivery.body.length;
      const isOld = dispatcher.silences !== silences;
      const to = { projectId, endpointId: target };
      if (isOld || !dispatcher.reserveClaimed(id, to, placesOf(bytes))) {
        this.unsure([delivery]);
        continue;
      }
      started += 1;
      if (delivery.kind !== 'meta') delivery.probeFence = probe?.fence ?? null;
      if (limited !== undefined) this.#deps.rateLeases.claimed(limited.group, delivery);
      dispatcher.start(delivery);
    }
    return started;
  }

  /** When the place is claimed again. */
  #nextAt({ due, limited }: Chosen, { want, deliveries, isCut, isMissed, nextDueInMs }: Claim): number {
    const now = this.#clock.elapsed();
    if (isCut) return now;
    due.misses = isMissed && deliveries.length === 0 ? due.misses + 1 : 0;
    if (deliveries.length === want.count) return limited?.moreAt ?? now;
    const missedAt = isMissed ? now + missedMs(due.misses) : Number.POSITIVE_INFINITY;
    return Math.min(due.notifiedAt, missedAt, nextDueInMs === null ? missedAt : now + nextDueInMs);
  }
}
