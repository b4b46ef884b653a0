import type { Held } from '../../domain/delivery.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { Logger } from '../../platform/logger.ts';
import { Loop } from '../../platform/loop.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { OffsetClock } from '../../platform/time/offset-clock.ts';
import { SILENT_SECONDS } from '../../store/database/node-lease.ts';
import type { RateLeases } from '../limits/rate-leases.ts';
import type { Claimer } from './claimer.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Lease } from './lease.ts';

/**
 * Renews this node's lease and watches the others'. Each heartbeat also measures the database's clock.
 * connected -> heartbeats are confirmed. After SILENT_SECONDS without a break this node also frees the rows of silent
 *              nodes. The wait matters after an outage, and after a sleep of the whole machine: until then all nodes
 *              are only just returning.
 * silent    -> heartbeats fail; the lease expires and nothing is sent. If the silence lasted so long that others may
 *              have taken this node's rows, deliveries waiting in memory are released at the first confirmed one.
 */
/** The nodes in the database, as this node uses them. */
export interface NodeTable {
  /** Says that this node is alive; returns the database's clock in milliseconds. */
  beat(): Promise<number>;
  /** Frees the rows of silent nodes, with `strays` also those of nodes that are not remembered; returns how many. */
  reap(also: { strays: boolean }): Promise<number>;
  /** Gives back rows that this node holds. */
  release(deliveries: readonly Held[]): Promise<void>;
}

export interface HeartbeatDeps {
  nodes: NodeTable;
  clock: Clock;
  databaseClock: OffsetClock;
  lease: Lease;
  dispatcher: Pick<Dispatcher, 'forgetUnsent' | 'resume'>;
  claimer: Pick<Claimer, 'unsure' | 'sweep'>;
  rateLeases: Pick<RateLeases, 'lapse'>;
  metrics: Metrics;
  log: Logger;
}

const BEAT_MS = 2_000;
const LOOK_FOR_STRAYS_MS = 60_000;

export class Heartbeat {
  readonly #deps: HeartbeatDeps;
  readonly #loop: Loop;
  #connectedSince: number | null = null;
  #lastConfirmed: { at: number; elapsed: number } | null = null;
  #lastLookForStrays = Number.NEGATIVE_INFINITY;

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps;
    this.#loop = new Loop({
      turn: () => this.#tick(),
      onError: (error) => {
        this.#connectedSince = null;
        deps.log.warn({ err: error }, 'heartbeat failed');
      },
      everyMs: BEAT_MS,
      clock: deps.clock,
    });
  }

  /** The first heartbeat must succeed. Without it nothing could be sent. */
  async start(): Promise<void> {
    await this.#beat();
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #tick(): Promise<void> {
    await this.#beat();
    await this.#reap();
  }

  async #beat(): Promise<void> {
    const { nodes, clock, databaseClock, lease, dispatcher, rateLeases } = this.#deps;
    const sentAt = clock.now();
    const sentElapsed = clock.elapsed();
    databaseClock.measured(await nodes.beat(), sentAt);
    // By both clocks, like the lease.
    const last = this.#lastConfirmed ?? { at: sentAt, elapsed: sentElapsed };
    const silentMs = Math.max(sentElapsed - last.elapsed, sentAt - last.at);
    if (silentMs > SILENT_SECONDS * 1000) {
      this.#connectedSince = null;
      await this.#giveBack();
    }
    // While it stayed fresh, the database saw no gap between two heartbeats in which another node could take
    // over.
    if (!lease.isFresh()) rateLeases.lapse();
    lease.confirmed(sentAt, sentElapsed);
    this.#lastConfirmed = { at: sentAt, elapsed: sentElapsed };
    this.#connectedSince ??= sentElapsed;
    dispatcher.resume();
  }

  async #giveBack(): Promise<void> {
    const { nodes, dispatcher, claimer, log } = this.#deps;
    const waiting = dispatcher.forgetUnsent();
    log.warn(
      { deliveries: waiting.length },
      'this node was silent; its unsent deliveries return to the queue',
    );
    await nodes.release(waiting);
    claimer.unsure();
  }

  async #reap(): Promise<void> {
    const { clock, nodes, claimer, metrics, log } = this.#deps;
    const connectedMs = this.#connectedSince === null ? 0 : clock.elapsed() - this.#connectedSince;
    if (connectedMs < SILENT_SECONDS * 1000) return;
    const strays = clock.elapsed() - this.#lastLookForStrays > LOOK_FOR_STRAYS_MS;
    if (strays) this.#lastLookForStrays = clock.elapsed();
    const freed = await nodes.reap({ strays });
    if (freed === 0) return;
    metrics.reaped.inc(freed);
    log.warn({ deliveries: freed }, 'freed the deliveries of a silent node');
    await claimer.sweep();
  }
}
