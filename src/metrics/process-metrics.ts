import { collectDefaultMetrics } from 'prom-client';
import { createRegistry, type MetricsRegistry } from './metrics.ts';

/** The metrics of the process itself, which the library collects, and their texts for docs/metrics.md. */
const PREFIX = 'posthorn_';

export const processMetrics: readonly { name: string; type: string; help: string }[] = [
  { name: `${PREFIX}process_cpu_user_seconds_total`, type: 'counter', help: 'CPU time in user mode.' },
  { name: `${PREFIX}process_cpu_system_seconds_total`, type: 'counter', help: 'CPU time in the kernel.' },
  { name: `${PREFIX}process_cpu_seconds_total`, type: 'counter', help: 'Total CPU time.' },
  {
    name: `${PREFIX}process_start_time_seconds`,
    type: 'gauge',
    help: 'When the process started, in seconds since 1970.',
  },
  { name: `${PREFIX}process_resident_memory_bytes`, type: 'gauge', help: 'Memory in RAM.' },
  { name: `${PREFIX}process_virtual_memory_bytes`, type: 'gauge', help: 'Virtual memory. Linux only.' },
  { name: `${PREFIX}process_heap_bytes`, type: 'gauge', help: 'Data segment. Linux only.' },
  { name: `${PREFIX}process_open_fds`, type: 'gauge', help: 'Open file descriptors. Linux only.' },
  {
    name: `${PREFIX}process_max_fds`,
    type: 'gauge',
    help: 'Maximum file descriptors of the process. Linux only.',
  },
  {
    name: `${PREFIX}nodejs_eventloop_lag_seconds`,
    type: 'gauge',
    help: 'Delay of the event loop, measured by this scrape.',
  },
  {
    name: `${PREFIX}nodejs_eventloop_lag_min_seconds`,
    type: 'gauge',
    help: 'Minimum delay of the event loop since the last scrape.',
  },
  {
    name: `${PREFIX}nodejs_eventloop_lag_max_seconds`,
    type: 'gauge',
    help: 'Maximum delay of the event loop since the last scrape.',
  },
  {
    name: `${PREFIX}nodejs_eventloop_lag_mean_seconds`,
    type: 'gauge',
    help: 'Mean delay of the event loop since the last scrape.',
  },
  {
    name: `${PREFIX}nodejs_eventloop_lag_stddev_seconds`,
    type: 'gauge',
    help: 'Standard deviation of the delays since the last scrape.',
  },
  {
    name: `${PREFIX}nodejs_eventloop_lag_p50_seconds`,
    type: 'gauge',
    help: 'Median delay since the last scrape.',
  },
  {
    name: `${PREFIX}nodejs_eventloop_lag_p90_seconds`,
    type: 'gauge',
    help: '90th percentile of the delays since the last scrape.',
  },
  {
    name: `${PREFIX}nodejs_eventloop_lag_p99_seconds`,
    type: 'gauge',
    help: '99th percentile of the delays since the last scrape.',
  },
  {
    name: `${PREFIX}nodejs_active_resources`,
    type: 'gauge',
    help: 'Resources that keep the event loop alive, by type.',
  },
  {
    name: `${PREFIX}nodejs_active_resources_total`,
    type: 'gauge',
    help: 'Resources that keep the event loop alive, in total.',
  },
  { name: `${PREFIX}nodejs_active_handles`, type: 'gauge', help: 'Open handles, by type.' },
  { name: `${PREFIX}nodejs_active_handles_total`, type: 'gauge', help: 'Open handles in total.' },
  {
    name: `${PREFIX}nodejs_active_requests`,
    type: 'gauge',
    help: 'Running requests to the system, by type.',
  },
  {
    name: `${PREFIX}nodejs_active_requests_total`,
    type: 'gauge',
    help: 'Running requests to the system, in total.',
  },
  { name: `${PREFIX}nodejs_heap_size_total_bytes`, type: 'gauge', help: 'Size of the JavaScript heap.' },
  { name: `${PREFIX}nodejs_heap_size_used_bytes`, type: 'gauge', help: 'JavaScript heap in use.' },
  {
    name: `${PREFIX}nodejs_external_memory_bytes`,
    type: 'gauge',
    help: 'Memory of objects outside the heap, such as buffers.',
  },
  { name: `${PREFIX}nodejs_heap_space_size_total_bytes`, type: 'gauge', help: 'Size of the heap, by space.' },
  { name: `${PREFIX}nodejs_heap_space_size_used_bytes`, type: 'gauge', help: 'Heap in use, by space.' },
  {
    name: `${PREFIX}nodejs_heap_space_size_available_bytes`,
    type: 'gauge',
    help: 'Free heap, by space.',
  },
  { name: `${PREFIX}nodejs_version_info`, type: 'gauge', help: 'Version of Node.js.' },
  {
    name: `${PREFIX}nodejs_gc_duration_seconds`,
    type: 'histogram',
    help: 'Length of garbage collections, by kind.',
  },
];

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
