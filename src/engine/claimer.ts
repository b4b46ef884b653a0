import type { RateGrant } from '../domain/event-delivery.ts';
import { START_DELAY_MS } from '../domain/rate-grants.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import { type Probe, releaseProbes, takeProbes } from '../store/breakers.ts';
import { claimBatch } from '../store/claim-batch.ts';
import { heldBy, releaseDeliveries, waitingKeys } from '../store/claim-deliveries.ts';
import type { Database } from '../store/database.ts';
import type { Claim, Want } from '../store/hold-due.ts';
import { takeGrants } from '../store/rate-limits.ts';
import type { Dispatcher, QueueListener } from './dispatcher.ts';
import type { GateDecision } from './gates.ts';
import type { Lease } from './lease.ts';

/**
 * Brings waiting deliveries to the dispatcher. In memory: for each (key, lane) with waiting rows the time its first
 * is due, learned from this node's own finishes, from claims, and every five seconds from a sweep of the queue,
 * which finds whatever other nodes left.
 *
 * idle    -> nothing is due; a timer stands at the next due time;
 * round   -> of the due keys, those whose gate is open and whose endpoint has room are chosen, each lane with its
 *            share; rate-limited ones get grants and half-open breakers their probe; then one statement claims a few
 *            rows per key, and the next round is planned.
 *
 * One round at a time. A round is also started when room becomes free or a gate may have opened.
 *
 * After a lost answer this node may hold rows in the database that it does not know. Until no statement from then can
 * still be running, rounds begin by giving such rows back (reconcile). Only a round may do that: beside one, rows just
 * claimed would look unknown.
 */
interface DueKey {
  projectId: string;
  key: string;
  lane: number;
  /** By the monotonic clock. */
  dueAt: number;
  /** The earliest due time told of since this key was last chosen: its row may be too new for the claim to see. */
  toldAt: number;
}

type OpenGate = Extract<GateDecision, { open: true }>;

/** A key chosen in this round, with what it may start and when. */
interface Chosen {
  due: DueKey;
  gate: OpenGate;
  want: Want;
  /** Rate-limited: what was granted. */
  grants?: Grants;
  /** Half-open breaker: the right to its probe. */
  probe?: Probe;
}

/**
 * Grants in this node's time. The database's clock was read somewhere between asking and being answered, so a send
 * starts no earlier than the answer allows and is void counted from the asking: right however long that took.
 */
interface Grants {
  grants: RateGrant[];
  startAt: number[];
  voidAt: number[];
  moreAt: number;
}

export interface ClaimerDeps {
  db: Database;
  nodeId: string;
  dispatcher: Dispatcher;
  lease: Lease;
  decideGate(projectId: string, key: string): GateDecision;
  expansionStored(): void;
  /** Never rejects. */
  returnGrants(grants: RateGrant[]): Promise<void>;
  metrics: Metrics;
  log: Logger;
}

const SWEEP_MS = 5_000;
const ROWS_PER_KEY = 50;
const ROWS_PER_ROUND = 400;
/** Shares of a round: first tries, retries, replays. What a lane leaves goes to the others. */
const LANE_SHARES = [0.6, 0.3, 0.1];
/** Below this much room a busy endpoint is not worth a round trip; it will soon have more. */
const WORTH_CLAIMING = 32;
const AFTER_ERROR_MS = 500;
const PROBE_TAKEN_MS = 1_000;
/** No statement of the hot path lives longer on the server, and no answer is awaited longer here. */
const UNSURE_MS = 12_000;

export class Claimer implements QueueListener {
  readonly #deps: ClaimerDeps;
  readonly #due = new Map<string, DueKey>();
  #timer: NodeJS.Timeout | undefined;
  #sweepTimer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #plannedAt = Number.POSITIVE_INFINITY;
  #stopped = false;
  #unsureUntil = Number.NEGATIVE_INFINITY;
  #reconcileAt = 0;
  #choseAt = Number.NEGATIVE_INFINITY;

  constructor(deps: ClaimerDeps) {
    this.#deps = deps;
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

  waiting(projectId: string, where: { key: string; lane: number }, dueInMs: number): void {
    const { key, lane } = where;
    const dueAt = performance.now() + Math.max(0, dueInMs);
    const id = `${lane} ${key}`;
    const known = this.#due.get(id);
    if (known === undefined) this.#due.set(id, { projectId, key, lane, dueAt, toldAt: dueAt });
    else {
      known.dueAt = Math.min(known.dueAt, dueAt);
      known.toldAt = Math.min(known.toldAt, dueAt);
    }
    this.#plan(dueAt);
  }

  roomFreed(): void {
    if (this.#due.size > 0) this.wake();
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

  /** Something may be claimable now that was not before: room, or an open gate. */
  wake(): void {
    this.#plan(performance.now());
  }

  async sweep(): Promise<void> {
    try {
      for (const row of await waitingKeys(this.#deps.db)) {
        this.waiting(row.project_id, { key: row.key, lane: row.lane }, row.due_in_ms);
      }
    } catch (error) {
      this.#deps.log.debug({ err: error }, 'sweep failed; the next one comes in five seconds');
    }
    if (this.#reconcileAt < this.#unsureUntil) this.wake();
    // Others ask for sweeps too, so two may run at a time: one timer is left all the same.
    clearTimeout(this.#sweepTimer);
    if (!this.#stopped) this.#sweepTimer = setTimeout(() => void this.sweep(), SWEEP_MS);
  }

  /** Gives back rows that the database says this node holds and the dispatcher does not know. */
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
        this.#deps.log.warn({ err: error }, 'claim failed; trying again');
        await new Promise((resolve) => setTimeout(resolve, AFTER_ERROR_MS));
        this.unsure();
      })
      .finally(() => {
        this.#round = undefined;
        const at = Math.min(this.#plannedAt, this.#nextDue());
        this.#plannedAt = Number.POSITIVE_INFINITY;
        if (at !== Number.POSITIVE_INFINITY) this.#plan(at);
      });
  }

  /**
   * When the first key will be due that was not when the round chose. It may be by now: timers fire up to a millisecond
   * early, so one often becomes due while a round that came for it runs empty. Keys that were due and passed over wait
   * for room or a gate instead.
   */
  #nextDue(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { dueAt } of this.#due.values()) if (dueAt > this.#choseAt && dueAt < next) next = dueAt;
    return next;
  }

  async #runRound(): Promise<void> {
    this.#choseAt = performance.now();
    if (!this.#deps.lease.isFresh()) return;
    await this.#reconcile();
    const chosen = await this.#admit(this.#choose());
    if (chosen.length === 0) return;
    const claims = await this.#claim(chosen);
    const started = claims.map((claim, n) => this.#take(chosen[n] as Chosen, claim));
    const claimed = claims.reduce((sum, { deliveries }) => sum + deliveries.length, 0);
    if (claimed > 0) this.#deps.metrics.batchSize.claim.observe(claimed);
    await this.#returnUnused(chosen, started);
    // What was left out for want of rows in this round, or is due again already, gets another one at once.
    this.wake();
  }

  /** A claim that fails starts nothing, even if it was committed: the next round gives such rows back. */
  async #claim(chosen: Chosen[]): Promise<Claim[]> {
    const wants = chosen.map(({ want }) => want);
    try {
      return await claimBatch(this.#deps.db, this.#deps.nodeId, wants);
    } catch (error) {
      await this.#returnUnused(chosen, []).catch((alsoFailed: unknown) => {
        this.#deps.log.debug({ err: alsoFailed }, 'probes not released; they lapse by themselves');
      });
      throw error;
    }
  }

  /** Rate grants and probes that nothing was started for are free for others. `started`: how many of each choice. */
  async #returnUnused(chosen: Chosen[], started: number[]): Promise<void> {
    const unused = chosen.flatMap(({ grants }, n) => grants?.grants.slice(started[n] ?? 0) ?? []);
    if (unused.length > 0) await this.#deps.returnGrants(unused);
    const unsent = chosen.flatMap(({ probe }, n) =>
      probe !== undefined && (started[n] ?? 0) === 0 ? [probe] : [],
    );
    await releaseProbes(this.#deps.db, unsent);
  }

  #choose(): Chosen[] {
    const now = performance.now();
    this.#choseAt = now;
    const due = [...this.#due.values()].filter((key) => key.dueAt <= now).sort((a, b) => a.dueAt - b.dueAt);
    const chosen: Chosen[] = [];
    const taken = new Map<string, number>();
    let left = ROWS_PER_ROUND;
    const lanes = LANE_SHARES.map((share, lane) => ({ share, keys: due.filter((key) => key.lane === lane) }));
    for (const { share, keys } of lanes) {
      const others = lanes.filter((lane) => lane.keys !== keys).some((lane) => lane.keys.length > 0);
      let budget = Math.min(left, others ? Math.ceil(ROWS_PER_ROUND * share) : left);
      for (const key of keys) {
        const choice = budget > 0 ? this.#chooseKey(key, { budget, taken }) : null;
        if (choice === null) continue;
        chosen.push(choice);
        budget -= choice.want.count;
        left -= choice.want.count;
      }
    }
    return chosen;
  }

  #chooseKey(due: DueKey, context: { budget: number; taken: Map<string, number> }): Chosen | null {
    const gate = this.#deps.decideGate(due.projectId, due.key);
    if (!gate.open) return null;
    const { dispatcher } = this.#deps;
    const takenSoFar = context.taken.get(gate.endpointId) ?? 0;
    const room = dispatcher.room(gate.endpointId) - takenSoFar;
    if (gate.isProbe && (takenSoFar > 0 || dispatcher.isBusy(gate.endpointId))) return null;
    if (room < WORTH_CLAIMING && dispatcher.isBusy(gate.endpointId) && gate.limits.length === 0) return null;
    const count = gate.isProbe ? Math.min(1, room) : Math.min(room, ROWS_PER_KEY, context.budget);
    if (count < 1) return null;
    context.taken.set(gate.endpointId, takenSoFar + count);
    due.toldAt = Number.POSITIVE_INFINITY;
    return { due, gate, want: { key: due.key, lane: due.lane, count } };
  }

  /** Keeps those that may start something, after asking for grants and probes where those are needed. */
  async #admit(chosen: Chosen[]): Promise<Chosen[]> {
    const limited = chosen.filter(({ gate }) => gate.limits.length > 0);
    if (limited.length > 0) {
      const requests = limited.map(({ gate, want }) => ({ limits: gate.limits, wanted: want.count }));
      const asked = performance.now();
      const answers = await takeGrants(this.#deps.db, requests);
      const answered = performance.now();
      for (const [n, { grants, startsInMs, freeInMs }] of answers.entries()) {
        const choice = limited[n] as Chosen;
        choice.grants = {
          grants,
          startAt: startsInMs.map((ms) => answered + ms),
          voidAt: startsInMs.map((ms) => asked + ms + START_DELAY_MS),
          moreAt: answered + freeInMs,
        };
        choice.want.count = startsInMs.length;
        if (choice.want.count === 0) choice.due.dueAt = choice.grants.moreAt;
      }
    }
    const probes = chosen.filter(({ gate, want }) => gate.isProbe && want.count > 0);
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
      choice.due.dueAt = performance.now() + PROBE_TAKEN_MS;
      if (choice.grants !== undefined) await this.#deps.returnGrants(choice.grants.grants);
    }
    return chosen.filter(({ want }) => want.count > 0);
  }

  /** How many were started, each with the next of the grants; those without a place are given back by the next round. */
  #take({ due, probe, grants }: Chosen, { want, deliveries, nextDueInMs }: Claim): number {
    const now = performance.now();
    if (deliveries.length === want.count) due.dueAt = grants?.moreAt ?? now;
    else
      due.dueAt = Math.min(due.toldAt, nextDueInMs === null ? Number.POSITIVE_INFINITY : now + nextDueInMs);
    if (due.dueAt === Number.POSITIVE_INFINITY) this.#due.delete(`${want.lane} ${want.key}`);
    let started = 0;
    for (const delivery of deliveries) {
      if (!this.#deps.dispatcher.reserveClaimed(delivery.id, delivery.endpointId)) {
        this.unsure();
        continue;
      }
      const n = started++;
      delivery.probeFence = probe?.fence ?? null;
      delivery.grant = grants?.grants[n] ?? null;
      if (grants === undefined) this.#deps.dispatcher.start(delivery);
      else this.#deps.dispatcher.startBetween(delivery, grants.startAt[n] ?? 0, grants.voidAt[n] ?? 0);
    }
    return started;
  }
}
