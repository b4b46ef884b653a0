import type { InFlightIds } from '../../domain/in-flight-ids.ts';
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
 * Renews this node's lease. Each heartbeat also measures the database's clock.
 * connected -> heartbeats are confirmed. After SILENT_SECONDS without a break this node may free the rows of silent
 *              nodes (reaper.ts).
 * silent    -> heartbeats fail; the lease expires and nothing is sent. If the silence lasted so long that others may
 *              have taken this node's rows, deliveries waiting in memory are released at the first confirmed one.
 */
export interface HeartbeatDeps {
  /**
   * Says that this node is alive and commits no event with an id below the given one. Returns the database's clock in
   * milliseconds.
   */
  beat(inFlightFrom: string): Promise<number>;
  inFlight: Pick<InFlightIds, 'oldest'>;
  clock: Clock;
  databaseClock: OffsetClock;
  lease: Lease;
  dispatcher: Pick<Dispatcher, 'forgetUnsent' | 'resume'>;
  claimer: Pick<Claimer, 'unsure'>;
  rateLeases: Pick<RateLeases, 'lapse'>;
  log: Logger;
}

const BEAT_MS = 2_000;

export class Heartbeat {
  readonly #deps: HeartbeatDeps;
  readonly #loop: Loop;
  #connectedSince: number | null = null;
  /** As of the last beat: a new id takes the time of the clock, so the clock is measured first. */
  #inFlightFrom = '';
  #lastConfirmed: { at: number; elapsed: number } | null = null;

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps;
    this.#loop = new Loop({
      turn: () => this.#beat(),
      onError: (error) => {
        this.#connectedSince = null;
        deps.log.warn({ err: error }, 'heartbeat failed');
      },
      everyMs: BEAT_MS,
      clock: deps.clock,
    });
  }

  /**
   * The first heartbeat must succeed. Without it nothing could be sent. The second one measures the clock after other
   * nodes see this one, so that ids of this node are later than any moment at which it was not seen.
   */
  async start(): Promise<void> {
    await this.#beat();
    await this.#beat();
    this.#loop.start();
  }

  /** Beats at once. */
  wake(): void {
    this.#loop.wake();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** How long heartbeats have been confirmed without a break. */
  connectedMs(): number {
    return this.#connectedSince === null ? 0 : this.#deps.clock.elapsed() - this.#connectedSince;
  }

  async #beat(): Promise<void> {
    const { clock, databaseClock, lease, dispatcher, rateLeases } = this.#deps;
    const sentAt = clock.now();
    const sentElapsed = clock.elapsed();
    databaseClock.measured(await this.#deps.beat(this.#inFlightFrom), sentAt);
    this.#inFlightFrom = this.#deps.inFlight.oldest();
    // By both clocks, like the lease. Until the answer: the database may have got this beat just before, and seen none for
    // as long.
    const last = this.#lastConfirmed ?? { at: sentAt, elapsed: sentElapsed };
    const silentMs = Math.max(clock.elapsed() - last.elapsed, clock.now() - last.at);
    if (silentMs > SILENT_SECONDS * 1000) {
      this.#connectedSince = null;
      this.#giveBack();
    }
    // While it stayed fresh, the database saw no gap between two heartbeats in which another node could take
    // over.
    if (!lease.isFresh()) rateLeases.lapse();
    lease.confirmed(sentAt, sentElapsed);
    this.#lastConfirmed = { at: sentAt, elapsed: sentElapsed };
    this.#connectedSince ??= sentElapsed;
    dispatcher.resume();
  }

  #giveBack(): void {
    const { dispatcher, claimer, log } = this.#deps;
    const waiting = dispatcher.forgetUnsent();
    log.warn(
      { deliveries: waiting.length },
      'this node was silent; its unsent deliveries return to the queue',
    );
    claimer.unsure(waiting);
  }
}
