import type { Sample } from '../figure.ts';

/** Our goals. Ratios come from one run. A goal whose figures were not measured is omitted. */
export interface Goal {
  name: string;
  value: number;
  goal: string;
  met: boolean;
}

export type Figures = Record<string, Sample>;

interface Rule {
  name: string;
  least?: number;
  most?: number;
  unit?: string;
  value(figure: (name: string) => Sample): number | undefined;
}

const ratio = (above: number | undefined, below: number | undefined) =>
  above === undefined || below === undefined ? undefined : above / below;

const SOAKED = {
  memoryServiceMb: 'memory of the service',
  p99Ms: 'publish to receive, p99',
  queueMb: 'size of the queue',
};

const RULES: Rule[] = [
  {
    name: 'end to end over relay floor',
    least: 0.4,
    value: (figure) =>
      ratio(figure('end_to_end')['eventsPerSecond'], figure('relay_floor')['eventsPerSecond']),
  },
  {
    name: 'end to end over do it yourself',
    least: 5,
    value: (figure) =>
      ratio(figure('end_to_end')['eventsPerSecond'], figure('diy_graphile')['eventsPerSecond']),
  },
  { name: 'end to end with ten watchers over without', least: 0.9, value: (f) => f('watchers')['ratio'] },
  { name: 'ordered by 10,000 keys over unordered', least: 0.8, value: (f) => f('ordered')['ratio'] },
  { name: 'events lost', most: 0, value: (figure) => figure('end_to_end')['lost'] },
  { name: 'idle publish to receive, p50', most: 2, unit: 'ms', value: (f) => f('idle_latency')['p50Ms'] },
  { name: 'idle publish to receive, p99', most: 5, unit: 'ms', value: (f) => f('idle_latency')['p99Ms'] },
  { name: 'retry lateness, p99', most: 250, unit: 'ms', value: (f) => f('retry_lateness')['p99Ms'] },
  { name: "others' p99 next to a toxic endpoint", most: 1.2, value: (f) => f('toxic')['ratio'] },
  {
    name: "others' p99 next to eight worst callers, above their own",
    most: 60,
    unit: 'ms',
    value: (f) => f('worst_request')['aboveMs'],
  },
  {
    name: "others' p99 next to a burst of delayed events",
    most: 1.2,
    value: (f) => f('delayed_burst')['ratio'],
  },
  { name: 'delayed events sent early by', most: 0, unit: 'ms', value: (f) => f('delayed_burst')['earlyMs'] },
  {
    name: "others' p99 next to failing endpoints",
    most: 1.2,
    value: (f) => f('failing_endpoints')['ratio'],
  },
  { name: "others' p99 next to open portals", most: 1.2, value: (f) => f('open_portals')['ratio'] },
  {
    name: 'ingest over broadcast',
    least: 0.85,
    value: (figure) => ratio(figure('ingest')['eventsPerSecond'], figure('end_to_end')['eventsPerSecond']),
  },
  {
    name: 'kafka over broadcast',
    least: 0.8,
    value: (figure) => ratio(figure('kafka')['eventsPerSecond'], figure('end_to_end')['eventsPerSecond']),
  },
  {
    name: 'Kafka endpoint over HTTP endpoint',
    least: 1.2,
    value: (f) => f('broker_endpoints')['kafkaRatio'],
  },
  {
    name: 'RabbitMQ endpoint over HTTP endpoint',
    least: 1.2,
    value: (f) => f('broker_endpoints')['amqpRatio'],
  },
  { name: 'batches of 100 over single calls', least: 3, value: (f) => f('events_batch')['ratio'] },
  { name: 'their service CPU per event', most: 0.5, value: (f) => f('events_batch')['cpuRatio'] },
  { name: 'steady state over first minute', most: 1.2, value: (f) => f('first_minute')['ratio'] },
  { name: 'before over after a partition change', most: 1.2, value: (f) => f('partition_change')['ratio'] },
  { name: 'full tables over empty ones', least: 0.9, value: (f) => f('full_tables')['ratio'] },
  ...(['memoryServiceMb', 'p99Ms', 'queueMb'] as const).map((name) => ({
    name: `soak: ${SOAKED[name]}, last third over first`,
    most: 1.2,
    value: (figure: (name: string) => Sample) =>
      ratio(figure('soak')[`${name}Last`], figure('soak')[`${name}First`]),
  })),
  // The share counts events, deliveries and attempts together. Autovacuum starts when a tenth of the deliveries are dead.
  { name: 'soak: share of dead rows, most at a minute', most: 0.1, value: (f) => f('soak')['deadShareMost'] },
  { name: 'round trips per delivery', most: 0.2, value: (f) => f('end_to_end')['roundTripsPerDelivery'] },
  {
    name: 'WAL minus payload and attempt',
    most: 1_100,
    unit: 'bytes',
    value: (f) => f('end_to_end')['walBesidePayloadAndAttempt'],
  },
  {
    name: 'disk per million 800-byte events',
    most: 1.6,
    unit: 'GB',
    // Bytes per event, times a million, over a billion.
    value: (f) => ratio(f('end_to_end')['diskPerEvent'], 1_000),
  },
  {
    name: "service CPU per event over the relay's",
    most: 2,
    value: (f) => ratio(f('end_to_end')['microsService'], f('relay_floor')['microsService']),
  },
  { name: 'database CPU per event', most: 80, unit: 'µs', value: (f) => f('end_to_end')['microsDatabase'] },
  {
    name: 'p99 of the worst minute at 70 % load',
    most: 150,
    unit: 'ms',
    value: (f) => f('tail')['worst_p99Ms'],
  },
  {
    name: 'idle memory of service and database',
    most: 110,
    unit: 'MB',
    value: (f) => f('idle')['memoryMb'],
  },
  { name: 'CPU of a start', most: 0.5, unit: 's', value: (f) => f('start')['cpuSeconds'] },
  { name: 'HOT share of finishes', least: 1, value: (f) => f('end_to_end')['hotShare'] },
];

export function goalsOf(figures: Figures): Goal[] {
  return RULES.flatMap(({ name, least, most, unit, value: valueOf }) => {
    const value = valueOf((figure) => figures[figure] ?? {});
    if (value === undefined) return [];
    const bound = least === undefined ? `at most ${most}` : `at least ${least}`;
    const met = value >= (least ?? Number.NEGATIVE_INFINITY) && value <= (most ?? Number.POSITIVE_INFINITY);
    return [{ name, value, goal: unit === undefined ? bound : `${bound} ${unit}`, met }];
  });
}
