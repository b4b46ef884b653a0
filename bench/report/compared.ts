import type { Sample } from '../figure.ts';

/** Compares deliveries without and with something next to them. */
export function compared(without: Sample, beside: Sample): Sample {
  const both = (name: string) => (without[name] ?? 0) + (beside[name] ?? 0);
  return {
    p50Ms: beside['p50Ms'] as number,
    p99Ms: beside['p99Ms'] as number,
    ackP99Ms: beside['ackP99Ms'] as number,
    p50WithoutMs: without['p50Ms'] as number,
    p99WithoutMs: without['p99Ms'] as number,
    ackP99WithoutMs: without['ackP99Ms'] as number,
    ratio: (beside['p99Ms'] as number) / (without['p99Ms'] as number),
    cpuRatio: (beside['coresService'] as number) / (without['coresService'] as number),
    events: both('events'),
    lost: both('lost'),
    duplicates: both('duplicates'),
  };
}
