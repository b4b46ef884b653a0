import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/**
 * Loaded into the measured service (--import). It answers each message of the bench. The bytes are those of V8's
 * heap since the start, which V8 counts in any case; the contents of buffers are outside of the heap. The pauses are
 * those of the main thread.
 */
export interface HeapReport {
  allocatedBytes: number;
  pausedMs: number;
}

let pausedMs = 0;
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) pausedMs += duration;
}).observe({ entryTypes: ['gc'] });

process.on('message', () => {
  const { total_allocated_bytes: allocatedBytes } = getHeapStatistics();
  process.send?.({ allocatedBytes, pausedMs } satisfies HeapReport);
});
// The service ends when its own work is over.
process.channel?.unref();
