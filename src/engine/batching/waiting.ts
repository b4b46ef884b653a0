import type { Batch } from '../../domain/config/batch.ts';
import { MOST_WAITING, mostRows, type Seen } from '../../store/batching/look-at-collected.ts';
import type { Due } from '../queue/due-keys.ts';

/** A subscription with rows that wait for their batch. When it is due, it is looked at. */
export interface Waiting extends Due {
  /** By the last look. Null: there was none, or it saw nothing. */
  seen: Seen | null;
  /** Stored by this node since the last look began. */
  rows: number;
  bytes: number;
  /** It was found again since the last look began. */
  isFound: boolean;
  /** Not 0: so many batches of it wait for a node that rows change nothing. It is looked at after a claim, or after this time. */
  pauseMs: number;
}

export interface Decision {
  /** A batch can be made. */
  isReady: boolean;
  /** If not: when to look again. Infinity: nothing is there. */
  nextInMs: number;
  /** The new value of `Waiting`. */
  pauseMs: number;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 16_000;
/** Timers fire up to a millisecond early. */
const LATE_MS = 2;
/** The rows of a subscription that was not looked at. */
const UNKNOWN_ROWS = 100;

export const longestWaitMs = (batch: Batch): number => batch.max_wait_seconds * 1000 + LATE_MS;

export function decide({ count, bytes, waitMs, backlog }: Seen, batch: Batch, pausedMs: number): Decision {
  if (backlog >= MOST_WAITING) {
    const pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, 2 * pausedMs));
    return { isReady: false, nextInMs: pauseMs, pauseMs };
  }
  const isFull = count >= batch.max || (bytes ?? 0) >= batch.max_bytes;
  const nextInMs = count === 0 ? Number.POSITIVE_INFINITY : waitMs + LATE_MS;
  return { isReady: count > 0 && (isFull || waitMs <= 0), nextInMs, pauseMs: 0 };
}

/** Half of what is missing: other nodes store rows too. The last row of a full batch is always enough. */
export function isEnough({ rows, bytes, seen, pauseMs }: Waiting, { max, max_bytes }: Batch): boolean {
  const isHalf = (stored: number, missing: number) => stored >= Math.max(1, Math.ceil(missing / 2));
  return (
    pauseMs === 0 && (isHalf(rows, max - (seen?.count ?? 0)) || isHalf(bytes, max_bytes - (seen?.bytes ?? 0)))
  );
}

/** A look at it reads about so many rows. */
export const rowsOf = ({ rows, seen }: Waiting, batch: Batch): number =>
  Math.min(mostRows(batch), rows + (seen?.count ?? UNKNOWN_ROWS));
