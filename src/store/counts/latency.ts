/**
 * Latencies are counted in buckets. Their bounds grow by the square root of 2, from 1 ms to 37 hours. Bucket 0 is below
 * 1 ms.
 */
const LATENCY_BUCKETS = 56;
const PER_DOUBLING = 2;

export function latencyBucket(ms: number): number {
  if (!(ms >= 1)) return 0;
  return Math.min(LATENCY_BUCKETS - 1, 1 + Math.floor(PER_DOUBLING * Math.log2(ms)));
}

const upperBoundMs = (bucket: number) => 2 ** (bucket / PER_DOUBLING);
const lowerBoundMs = (bucket: number) => (bucket === 0 ? 0 : upperBoundMs(bucket - 1));

/** Estimated within its bucket, so at most 41 % too high or too low. Null without any. */
export function percentileMs(counts: ReadonlyMap<number, number>, share: number): number | null {
  const sorted = [...counts].sort(([a], [b]) => a - b);
  const wanted = share * sorted.reduce((sum, [, count]) => sum + count, 0);
  let before = 0;
  for (const [bucket, count] of sorted) {
    if (count > 0 && before + count >= wanted) {
      const low = lowerBoundMs(bucket);
      return low + ((wanted - before) / count) * (upperBoundMs(bucket) - low);
    }
    before += count;
  }
  return null;
}
