import type { InFlightIds } from '../../domain/in-flight-ids.ts';
import { Loop } from '../../platform/loop.ts';
import type { ClockChange } from '../../platform/time/offset-clock.ts';
import { SILENT_SECONDS } from '../../store/database/node-lease.ts';
import type { EnginePart } from '../deps/engine-deps.ts';
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
export interface HeartbeatDeps extends EnginePart<'clock' | 'databaseClock' | 'log'> {
  /**
   * Says that this node is alive and commits no event with an id below the given one. Returns the database's clock in
   * milliseconds.
   */
  beat(inFlightFrom: string): Promise<number>;
  inFlight: Pick<InFlightIds, 'oldest'>;
  lease: Lease;
  dispatcher: Pick<Dispatcher, 'forgetUnsent' | 'resume'>;
  claimer: Pick<Claimer, 'unsure'>;
  rateLeases: Pick<RateLeases, 'suspend'>;
}

const BEAT_MS = 2_000;
const CHANGES: Readonly<Record<ClockChange['kind'], string>> = {
  ahead: 'the clock of the database jumped ahead; ids follow it if it stays there for a minute',
  followed: 'the clock of the database stayed ahead; ids follow it',
  'set back': 'the clock of the database was set back; ids stand still until it reaches them',
};

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
    // While beats fail the next one is tried in its time.
    deps.databaseClock.onDoubt(() => {
      if (this.#connectedSince !== null) this.wake();
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
    const theirs = await this.#deps.beat(this.#inFlightFrom);
    const wasSure = databaseClock.isSure();
    const change = databaseClock.measured(theirs, sentAt, sentElapsed);
    this.#inFlightFrom = this.#deps.inFlight.oldest();
    // By both clocks, like the lease. Until the answer: the database may have got this beat just before, and seen none for
    // as long.
    const last = this.#lastConfirmed ?? { at: sentAt, elapsed: sentElapsed };
    const [wallMs, elapsedMs] = [clock.now() - last.at, clock.elapsed() - last.elapsed];
    if (!wasSure) this.#ownClockChanged(wallMs - elapsedMs);
    if (change !== null) this.#deps.log.warn({ seconds: seconds(change.ms) }, CHANGES[change.kind]);
    const silentMs = Math.max(wallMs, elapsedMs);
    if (silentMs > SILENT_SECONDS * 1000) {
      this.#connectedSince = null;
      this.#giveBack();
    }
    // While it stayed fresh, the database saw no gap between two heartbeats in which another node could take
    // over.
    if (!lease.isFresh()) rateLeases.suspend();
    lease.confirmed(sentAt, sentElapsed);
    this.#lastConfirmed = { at: sentAt, elapsed: sentElapsed };
    this.#connectedSince ??= sentElapsed;
    dispatcher.resume();
  }

  #ownClockChanged(ms: number): void {
    const { databaseClock, log } = this.#deps;
    log.warn(
      { seconds: seconds(ms) },
      'the clock of this node was set or the machine slept; events and sends waited for this beat',
    );
    // It was during this beat.
    if (!databaseClock.isSure()) this.wake();
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

const seconds = (ms: number): number => Math.round(ms / 1000);
