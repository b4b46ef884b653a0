import { busyShare } from '../../platform/time/busy-share.ts';
import type { Clock } from '../../platform/time/clock.ts';

/**
 * Slows the claims of a backlog down while another project has new events on a busy node. A node that sends a backlog as
 * fast as it can keeps its event loop and its database busy, and the new events wait behind it.
 * free  -> no other project has new events: rounds follow each other at once;
 * paced -> a round claims a few rows, and the next one waits: longer after a busy time, shorter after an idle one.
 */
const BUSY_SHARE = 0.3;
/** A round of up to 50 ms claims so many. One of up to 0.8 s claims more, so that a node claims at least 250 rows per second. */
const ROWS = 25;
const LONGEST_MS = 50;
const LIVE_MS = 1_000;

interface Live {
  projectId: string;
  at: number;
}

const NONE: Live = { projectId: '', at: Number.NEGATIVE_INFINITY };

export class ClaimPace {
  readonly #clock: Pick<Clock, 'elapsed'>;
  readonly #busyShare: () => number;
  /** The two projects that had the latest new events, the latest first. */
  #live: [Live, Live] = [NONE, NONE];
  #paceMs = LONGEST_MS;
  /** How long the last round took. */
  #tookMs = 0;
  #isPaced = false;

  constructor(clock: Pick<Clock, 'elapsed'>, share = busyShare()) {
    this.#clock = clock;
    this.#busyShare = share;
  }

  /** A project has a new event. */
  live(projectId: string): void {
    const [latest] = this.#live;
    if (latest.projectId === projectId) latest.at = this.#clock.elapsed();
    else this.#live = [{ projectId, at: this.#clock.elapsed() }, latest];
  }

  /** The most rows of the next round. */
  get rows(): number {
    return this.#isPaced
      ? Math.floor(ROWS * Math.max(1, this.#tookMs / LONGEST_MS))
      : Number.POSITIVE_INFINITY;
  }

  /** After a round that claimed rows of these projects: how long the next one waits. */
  claimed(rows: number, { of, tookMs }: { of: Iterable<string>; tookMs: number }): number {
    this.#tookMs = tookMs;
    const factor = this.#busyShare() > BUSY_SHARE ? 1.5 : 0.9;
    this.#isPaced = this.#othersAreLive(new Set(of));
    this.#paceMs = this.#isPaced ? Math.min(LONGEST_MS, Math.max(1, this.#paceMs * factor)) : LONGEST_MS;
    return this.#isPaced ? (this.#paceMs * rows) / ROWS : 0;
  }

  #othersAreLive(claimed: ReadonlySet<string>): boolean {
    const since = this.#clock.elapsed() - LIVE_MS;
    return this.#live.some(
      ({ projectId, at }) => at > since && (claimed.size > 1 || !claimed.has(projectId)),
    );
  }
}
