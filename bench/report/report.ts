import type { Sample } from '../figure.ts';
import type { Figures, Goal } from './goals.ts';
import type { Machine } from './machine.ts';

/** The report tables as Markdown, to paste into docs/benchmark.md. */
export interface Results {
  machine: Machine;
  figures: Figures;
  skipped: Record<string, string>;
  goals: Goal[];
}

export function report({ machine, figures, skipped, goals }: Results): string {
  const { cores, cpu, memoryGb, node, postgres, system } = machine;
  return [
    `${cores} cores of ${cpu}, ${memoryGb} GB, ${system}, Node ${node}, PostgreSQL ${postgres} (fsync and synchronous_commit on).`,
    table(['figure', 'measured', 'next to it'], Object.entries(figures).map(figureRow(figures))),
    ...Object.entries(skipped).map(([name, reason]) => `Not measured: ${name}: ${reason}.`),
    table(['cores, CPU per event, memory', ...PROCESSES], Object.entries(figures).flatMap(costRow)),
    table(
      ['goal', 'asked', 'measured', 'met'],
      goals.map(({ name, goal, value, met }) => [name, goal, short(value), met ? 'yes' : 'NO']),
    ),
  ].join('\n\n');
}

const short = (value: number): string =>
  value.toLocaleString('en', {
    maximumFractionDigits: Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0,
  });

const figureRow =
  (figures: Figures) =>
  ([name, sample]: [string, Sample]): string[] => {
    const n = (key: string) => short(sample[key] ?? Number.NaN);
    const times = (other: string) => {
      const reference = figures[other]?.['eventsPerSecond'];
      return reference === undefined
        ? []
        : `${short((sample['eventsPerSecond'] as number) / reference)} of ${other}`;
    };
    const tail = `p50 ${n('p50Ms')} ms, p99 ${n('p99Ms')} ms`;
    const reconciled = `lost ${n('lost')}, doubled ${n('duplicates')} of ${n('events')}`;
    const ofThird = (third: 'First' | 'Last') =>
      `p99 ${n(`p99Ms${third}`)} ms, memory ${n(`memoryServiceMb${third}`)} MB, queue ${n(`queueMb${third}`)} MB`;
    const ofBroker = (): [string, (string | string[])[]] => [
      `${n('eventsPerSecond')} events/s`,
      [times('end_to_end'), reconciled],
    ];
    const lines: Record<string, () => [string, (string | string[])[]]> = {
      end_to_end: () => [
        `${n('eventsPerSecond')} events/s, ${tail}`,
        [
          times('relay_floor'),
          times('diy_graphile'),
          reconciled,
          `${n('roundTripsPerDelivery')} round trips, ${n('walPerDelivery')} bytes of WAL per delivery, HOT ${n('hotShare')}`,
          `bytes per event: ${n('diskPerEvent')} of disk (${diskParts(sample)}), ${n('allocatedBytes')} of heap, ${n('microsGc')} µs of its collection`,
        ],
      ],
      tail: () => [
        `${n('ratePerSecond')} events/s for ${n('minutes')} minutes, ${tail}`,
        [
          `worst minute: p50 ${n('worst_p50Ms')} ms, p99 ${n('worst_p99Ms')} ms, ${n('worst_checkpoints')} checkpoints (${n('worst_checkpointMb')} MB), ${n('worst_vacuums')} vacuums`,
          reconciled,
        ],
      ],
      idle: () => [
        `${n('memoryMb')} MB of service and database (PSS ${n('pssMb')} MB)`,
        [
          `${n('transactionsPerSecond')} transactions/s, ${n('statementsPerSecond')} statements/s`,
          `cores: service ${n('coresService')}, database ${n('coresDatabase')}`,
        ],
      ],
      start: () => [
        `ready after ${n('seconds')} s, ${n('cpuSeconds')} s of CPU`,
        [`service ${n('cpuServiceSeconds')} s, database ${n('cpuDatabaseSeconds')} s`],
      ],
      watchers: () => [
        `${n('eventsPerSecond')} events/s with ${n('watchers')} watchers, ${tail}`,
        [`${n('without')} without them`, reconciled],
      ],
      all_cores: () => [
        `${n('eventsPerSecond')} events/s, ${tail}`,
        [`${n('processes')} processes`, times('end_to_end'), reconciled],
      ],
      ordered: () => [
        `${n('eventsPerSecond')} events/s by 10,000 keys, ${tail}`,
        [
          `${n('perSecondWithout')} unordered, ${n('perSecond100Keys')} by 100 keys, ${n('perSecondOneKey')} by one`,
          `database ${n('microsDatabase')} µs per event, unordered ${n('microsDatabaseWithout')} µs`,
          reconciled,
        ],
      ],
      relay_floor: () => [`${n('eventsPerSecond')} events/s, ${tail}`, [reconciled]],
      diy_graphile: () => [`${n('eventsPerSecond')} events/s, ${tail}`, [reconciled]],
      ingest: () => [`${n('eventsPerSecond')} events/s, ${tail}`, [times('end_to_end'), reconciled]],
      events_batch: () => [
        `${n('eventsPerSecond')} events/s stored`,
        [
          `${n('alone')} by single calls (${n('aloneByFew')} over as few connections), ${n('cpuRatio')} of their CPU (${n('microsAlone')} µs)`,
          `sent too: ${n('sentPerSecond')} and ${n('sentAlone')} events/s, ${n('microsSent')} and ${n('microsSentAlone')} µs`,
          reconciled,
        ],
      ],
      kafka: ofBroker,
      amqp: ofBroker,
      sqs: ofBroker,
      change_stream: ofBroker,
      broker_endpoints: () => [
        `Kafka ${n('kafkaPerSecond')}, RabbitMQ ${n('amqpPerSecond')}, HTTP ${n('httpPerSecond')} events/s`,
        [
          `service CPU per event: ${n('kafkaMicrosService')}, ${n('amqpMicrosService')}, ${n('httpMicrosService')} µs (${n('kafkaCpuRatio')} and ${n('amqpCpuRatio')} of HTTP)`,
          `by single calls ${n('kafkaAlonePerSecond')}, ${n('amqpAlonePerSecond')}, ${n('httpAlonePerSecond')} events/s`,
          reconciled,
        ],
      ],
      idle_latency: () => [tail, [`answered: p50 ${n('ackP50Ms')} ms, p99 ${n('ackP99Ms')} ms`]],
      retry_lateness: () => [`${tail} after due`, [reconciled]],
      fan_out: () => [
        `${n('endpoints')} endpoints reached in ${n('lastMs')} ms`,
        [`${n('deliveriesPerSecond')} deliveries/s`, `lost ${n('lost')}`],
      ],
      toxic: () => [
        tail,
        [`without it p50 ${n('p50WithoutMs')} ms, p99 ${n('p99WithoutMs')} ms`, `${n('backlog')} due`],
      ],
      worst_request: () => [
        tail,
        [`without them p50 ${n('p50WithoutMs')} ms, p99 ${n('p99WithoutMs')} ms`, `${n('calls')} calls`],
      ],
      delayed_burst: () => [
        tail,
        [
          `before p50 ${n('p50WithoutMs')} ms, p99 ${n('p99WithoutMs')} ms`,
          `${n('backlog')} due, late p50 ${n('lateP50Ms')} ms, p99 ${n('lateP99Ms')} ms, early ${n('earlyMs')} ms`,
          reconciled,
        ],
      ],
      failing_endpoints: () => [
        tail,
        [
          `before they failed p50 ${n('p50WithoutMs')} ms, p99 ${n('p99WithoutMs')} ms`,
          `${n('cpuRatio')} times the CPU time`,
          `${n('open')} of ${n('endpoints')} breakers open`,
          reconciled,
        ],
      ],
      open_portals: () => [
        tail,
        [
          `without them p50 ${n('p50WithoutMs')} ms, p99 ${n('p99WithoutMs')} ms`,
          `${n('portals')} pages made ${n('pageRequestsPerSecond')} requests/s, answered: p50 ${n('pageP50Ms')} ms, p99 ${n('pageP99Ms')} ms`,
          `${n('cpuRatio')} times the CPU time`,
          reconciled,
        ],
      ],
      first_minute: () => [
        `${n('eventsPerSecond')} events/s`,
        [`${n('steady')} after the first ${n('seconds')} s`],
      ],
      partition_change: () => [`${n('eventsPerSecond')} events/s`, [`${n('steady')} before it`]],
      full_tables: () => [
        `${n('eventsPerSecond')} events/s, ${tail}`,
        [`${n('empty')} without the ${n('stored')} stored deliveries`],
      ],
      soak: () => [
        `${n('ratePerSecond')} events/s for ${n('seconds')} s, ${tail}`,
        [reconciled, `first third: ${ofThird('First')}`, `last third: ${ofThird('Last')}`],
      ],
    };
    const [measured, beside] = lines[name]?.() ?? [JSON.stringify(sample), []];
    return [name, measured, beside.flat().join('; ')];
  };

const diskParts = (sample: Sample): string =>
  Object.keys(sample)
    .filter((key) => key.startsWith('disk_') && (sample[key] as number) >= 1)
    .map((key) => `${key.slice('disk_'.length)} ${short(sample[key] as number)}`)
    .join(', ');

const PROCESSES = ['Service', 'Database', 'Load', 'Sink'];

function costRow([name, sample]: [string, Sample]): string[][] {
  if (sample['coresLoad'] === undefined) return [];
  const n = (key: string) => short(sample[key] as number);
  const cell = (process: string) =>
    `${n(`cores${process}`)}, ${n(`micros${process}`)} µs, ${n(`memory${process}Mb`)} MB`;
  return [[name, ...PROCESSES.map(cell)]];
}

function table(head: string[], rows: string[][]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] as string).length)),
  );
  const line = (cells: string[]) =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] as number)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
