import { performance } from 'node:perf_hooks';

/** A function that tells the share of the time since its last call in which the event loop was busy: 0 to 1. */
export function busyShare(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
