import { collectDefaultMetrics } from 'prom-client';
import { createRegistry, type MetricsRegistry } from './metrics.ts';

/** The metrics of the library are `posthorn_process_*` and `posthorn_nodejs_*`. */
const PREFIX = 'posthorn_';

/** Observes the event loop and garbage collections until the process ends. */
export function collectProcessMetrics(registry: MetricsRegistry): void {
  collectDefaultMetrics({ register: registry, prefix: PREFIX });
}

/** The page of a process without other metrics. */
export function processMetricsPage(processNumber: number): () => Promise<string> {
  const registry = createRegistry(processNumber);
  collectProcessMetrics(registry);
  return () => registry.metrics();
}
