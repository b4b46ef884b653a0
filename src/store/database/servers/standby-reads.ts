import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../../platform/logger.ts';
import { isDatabaseError, reasonOf } from '../pg-errors.ts';
import { LOOK, type ServerState } from './server-look.ts';

/**
 * Reads that may be some seconds old, of a standby. If it fails, the primary serves them:
 *   up   -> reads go to the standby. One that fails there is done again at the primary.
 *   down -> for PAUSE_MS all reads go to the primary, so that callers do not wait for a standby that is away.
 */
const PAUSE_MS = 10_000;
/** So long an export waits for the standby. */
const CATCH_UP_MS = 10_000;
const ASK_MS = 100;

interface Asked {
  query<R extends object>(text: string, values?: unknown[]): Promise<R[]>;
}

/** Where the log of the primary ends: the standby has all that was committed before, once it is there. */
export interface LogPosition {
  timeline: number;
  lsn: string;
}

export class StandbyReads<Reader extends Asked & { close(): Promise<void> }> {
  readonly #standby: Reader;
  readonly #log: Logger;
  #downUntil = 0;

  constructor(standby: Reader, log: Logger) {
    this.#standby = standby;
    this.#log = log;
  }

  get isUp(): boolean {
    return performance.now() >= this.#downUntil;
  }

  async read<T>(onStandby: (standby: Reader) => Promise<T>, onPrimary: () => Promise<T>): Promise<T> {
    if (!this.isUp) return onPrimary();
    try {
      return await onStandby(this.#standby);
    } catch (error) {
      if (!isDatabaseError(error)) throw error;
      this.#fellBack(reasonOf(error));
      return onPrimary();
    }
  }

  /** The standby, once it has replayed the log of the primary up to there. Null: it did not come so far in time. */
  async caughtUp(position: LogPosition): Promise<Reader | null> {
    const until = performance.now() + CATCH_UP_MS;
    for (;;) {
      const [at] = await this.#standby.query<ServerState & { hasReplayed: boolean }>(
        `select looked.*, pg_last_wal_replay_lsn() >= $1::pg_lsn as "hasReplayed" from (${LOOK}) looked`,
        [position.lsn],
      );
      // After a promotion a position of another timeline says nothing.
      const isThere = at?.isStandby === true && at.hasReplayed && at.timeline === position.timeline;
      if (isThere) return this.#standby;
      if (performance.now() > until) break;
      await sleep(ASK_MS);
    }
    this.#fellBack(`it has not replayed the log of the primary within ${CATCH_UP_MS / 1000} s`);
    return null;
  }

  close(): Promise<void> {
    return this.#standby.close();
  }

  #fellBack(reason: string): void {
    this.#log.warn(
      { reason },
      'the standby at POSTHORN_READ_URL cannot be read; the primary serves its reads',
    );
    this.#downUntil = performance.now() + PAUSE_MS;
  }
}
