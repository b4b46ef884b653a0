import { SILENT_SECONDS } from '../../domain/node-lease.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Logger } from '../../platform/logger.ts';
import type { OffsetClock } from '../../platform/offset-clock.ts';
import type { Database } from '../../store/database/database.ts';
import { releaseDeliveries } from '../../store/queue/claim-deliveries.ts';
import { type BeatingNode, beat, reapSilentNodes } from '../../store/queue/nodes.ts';
import type { RateLeases } from '../limits/rate-leases.ts';
import type { Claimer } from './claimer.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Lease } from './lease.ts';

/**
 * Keeps this node's lease and watches the others'. Each beat also measures the database's clock.
 *
 * connected -> beats are confirmed; after SILENT_SECONDS without a break this node also frees the rows of nodes
 *              that fell silent. The wait matters after an outage, and after a sleep of the whole machine: until then
 *              everybody is only just coming back.
 * silent    -> beats fail; the lease runs out and nothing is sent. If the silence lasted so long that others may have
 *              taken this node's rows, what waits in memory is given back at the first confirmed beat.
 */
export interface HeartbeatDeps {
  db: Database;
  node: BeatingNode;
  clock: Clock;
  databaseClock: OffsetClock;
  lease: Lease;
  dispatcher: Dispatcher;
  claimer: Claimer;
  rateLeases: RateLeases;
  metrics: Metrics;
  log: Logger;
}

const BEAT_MS = 2_000;
/** With beats every two seconds a silence shows after twelve at most: in time for fifteen. */
const REAP_MS = 1_500;
const LOOK_FOR_STRAYS_MS = 60_000;

export class Heartbeat {
  readonly #deps: HeartbeatDeps;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> = Promise.resolve();
  #stopped = false;
  #connectedSince: number | null = null;
  #lastConfirmed: { at: number; elapsed: number } | null = null;
  #lastReap = Number.NEGATIVE_INFINITY;
  #lastLookForStrays = Number.NEGATIVE_INFINITY;

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps;
  }

  /** The first beat must succeed: without it nothing could be sent. */
  async start(): Promise<void> {
    await this.#beat();
    this.#schedule();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#beating;
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#beating = this.#tick().finally(() => this.#schedule());
    }, BEAT_MS);
  }

  async #tick(): Promise<void> {
    try {
      await this.#beat();
      await this.#reap();
    } catch (error) {
      this.#connectedSince = null;
      this.#deps.log.warn({ err: error }, 'heartbeat failed');
    }
  }

  async #beat(): Promise<void> {
    const { db, node, clock, databaseClock, lease, dispatcher, rateLeases } = this.#deps;
    const sentAt = clock.now();
    const sentElapsed = clock.elapsed();
    databaseClock.measured(await beat(db, node), sentAt);
    // By both clocks, like the lease.
    const last = this.#lastConfirmed ?? { at: sentAt, elapsed: sentElapsed };
    const silentMs = Math.max(sentElapsed - last.elapsed, sentAt - last.at);
    if (silentMs > SILENT_SECONDS * 1000) {
      this.#connectedSince = null;
      await this.#giveBack();
    }
    // While it stayed fresh, the database has seen no gap between two beats that another node could take over in.
    if (!lease.isFresh()) rateLeases.lapse();
    lease.confirmed(sentAt, sentElapsed);
    this.#lastConfirmed = { at: sentAt, elapsed: sentElapsed };
    this.#connectedSince ??= sentElapsed;
    dispatcher.resume();
  }

  async #giveBack(): Promise<void> {
    const { db, node, dispatcher, claimer, log } = this.#deps;
    const waiting = dispatcher.forgetUnsent();
    log.warn(
      { deliveries: waiting.length },
      'this node was silent; its unsent deliveries return to the queue',
    );
    await releaseDeliveries(db, node.id, waiting);
    claimer.unsure();
  }

  async #reap(): Promise<void> {
    const { clock, db, claimer, metrics, log } = this.#deps;
    const connectedMs = this.#connectedSince === null ? 0 : clock.elapsed() - this.#connectedSince;
    if (connectedMs < SILENT_SECONDS * 1000 || clock.elapsed() - this.#lastReap < REAP_MS) return;
    this.#lastReap = clock.elapsed();
    const strays = clock.elapsed() - this.#lastLookForStrays > LOOK_FOR_STRAYS_MS;
    if (strays) this.#lastLookForStrays = clock.elapsed();
    const freed = await reapSilentNodes(db, SILENT_SECONDS, { strays });
    if (freed === 0) return;
    metrics.reaped.inc(freed);
    log.warn({ deliveries: freed }, 'freed the deliveries of a silent node');
    await claimer.sweep();
  }
}
