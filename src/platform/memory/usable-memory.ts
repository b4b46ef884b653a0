import { totalmem } from 'node:os';

/** With this much memory, or more, everything has its full size. */
const FULL_BYTES = 2 * 1024 ** 3;

/** The memory that this process may use: that of the machine, or the limit of its container. */
export function usableMemory(): number {
  // Without a limit this is 0, or more than the machine has.
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/** A size of a room in memory, smaller where there is less memory: with 512 MB a quarter. */
export const sizedTo = (bytes: number, usable = usableMemory()): number =>
  Math.floor(bytes * Math.min(1, usable / FULL_BYTES));
