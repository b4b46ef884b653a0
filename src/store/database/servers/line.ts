/**
 * A line of history of one database. A promotion begins a new one. An old primary that was accepted in place of a newer
 * one begins one too, though it keeps its timeline.
 */
export interface Line {
  /** When that was, by the database's clock. 0: never. */
  acceptedAtMs: number;
  /** Grows with each promotion. Of a standby: at least this. */
  timeline: number;
}

/** Above 0: the first is the newer one. */
export const compareLines = (one: Line, other: Line): number =>
  one.acceptedAtMs - other.acceptedAtMs || one.timeline - other.timeline;

/** A position in the log of a server, as a number. */
export function logBytes(lsn: string | null): number {
  const [high = '', low = ''] = (lsn ?? '').split('/');
  return Number.parseInt(high, 16) * 2 ** 32 + Number.parseInt(low, 16);
}
