import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/**
 * Every metric of the service: one table of name, type, meaning and labels. docs/metrics.md is generated from
 * it. Labels have only the listed values, so the number of series is bounded: no project, endpoint or path is
 * ever a label. Every series exists from the start, at zero, and is looked up once, so counting is a call on
 * an existing object. Counters are plain numbers until they are read (the library's own cost 230 ns with a
 * label and 540 with two). The library's histograms cost 320 ns.
 */
interface Label {
  name: string;
  values: readonly string[];
}

interface MetricDefinition {
  name: string;
  type: keyof Instruments;
  help: string;
  labels: readonly Label[];
  /** Upper bounds, of a histogram. */
  buckets?: readonly number[];
}

const counter = <const Labels extends readonly Label[]>(name: string, help: string, ...labels: Labels) =>
  ({ name, type: 'counter', help, labels }) as const;
const gauge = <const Labels extends readonly Label[]>(name: string, help: string, ...labels: Labels) =>
  ({ name, type: 'gauge', help, labels }) as const;
const histogram = <const Labels extends readonly Label[]>(
  name: string,
  help: string,
  buckets: readonly number[],
  ...labels: Labels
) => ({ name, type: 'histogram', help, labels, buckets }) as const;

const LANES = { name: 'lane', values: ['first', 'retry', 'replay', 'leased', 'batch'] } as const;
const BROKERS = {
  name: 'broker',
  values: ['kafka', 'sqs', 'amqp', 'google', 'postgres', 'schedule'],
} as const;
const POOLS = { name: 'pool', values: ['hot', 'general', 'lease'] } as const;

export const metricTable = {
  events: counter(
    'posthorn_events_total',
    'Events received, by result. unmatched: stored, without a delivery. refused: answered with an error, not stored.',
    { name: 'result', values: ['stored', 'duplicate', 'unmatched', 'refused'] },
  ),
  schemaMismatches: counter(
    'posthorn_schema_mismatches_total',
    'Events that do not fit the schema of their type, by the `schema_check` of their project.',
    { name: 'check', values: ['warn', 'refuse'] },
  ),
  deliveriesFinished: counter('posthorn_deliveries_finished_total', 'Deliveries that ended, by status.', {
    name: 'status',
    values: ['success', 'failure', 'discarded'],
  }),
  retriesPlanned: counter('posthorn_retries_planned_total', 'Failed attempts that are followed by a retry.'),
  attempts: counter(
    'posthorn_attempts_total',
    'Requests to endpoints, by result. no_answer: no complete response.',
    { name: 'outcome', values: ['2xx', '3xx', '4xx', '5xx', 'no_answer'] },
  ),
  deliveryLatency: histogram(
    'posthorn_delivery_latency_seconds',
    'From the acceptance of an event to the success of its delivery, retries included.',
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200],
  ),
  attemptDuration: histogram(
    'posthorn_attempt_duration_seconds',
    'Length of one request to an endpoint, connecting included.',
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120],
  ),
  retryLateness: histogram(
    'posthorn_retry_lateness_seconds',
    'How long past its due time a retry was started. This includes time at a paused endpoint, a rate limit or an open circuit breaker.',
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800],
  ),
  batchSize: histogram(
    'posthorn_batch_size',
    'Events or deliveries in one commit, by operation.',
    [1, 2, 5, 10, 20, 50, 100, 200, 500],
    { name: 'batch', values: ['accept', 'finish', 'claim'] },
  ),
  queueWaiting: gauge(
    'posthorn_queue_waiting',
    'Deliveries in the queue that no node leases, due or not. Counted up to 20,000 in total, then a lower bound. batch: in batches that are made. The same on every node.',
    LANES,
  ),
  queueOldestDue: gauge(
    'posthorn_queue_oldest_due_seconds',
    'Age past due of the longest due delivery; 0 if none is due. Deliveries to paused endpoints count, deliveries that wait to be pulled do not. The same on every node.',
    LANES,
  ),
  queueOldestPull: gauge(
    'posthorn_queue_oldest_pull_seconds',
    'Age of the longest waiting delivery of a pull endpoint or a device; 0 if none waits. The same on every node.',
  ),
  breakersOpen: gauge(
    'posthorn_circuit_breakers_open',
    'Endpoints whose circuit breaker is open or half-open. The same on every node.',
  ),
  orderingKeysWaiting: gauge(
    'posthorn_ordering_keys_waiting',
    'Ordering keys in which deliveries wait for their turn, 5,000 at most. The same on every node.',
  ),
  orderingKeysHeld: gauge(
    'posthorn_ordering_keys_held',
    'Ordering keys that a failed delivery holds, 5,000 at most. The same on every node.',
  ),
  orderingOldestHeld: gauge(
    'posthorn_ordering_oldest_held_seconds',
    'Time since the longest held ordering key is held; 0 if none is. The same on every node.',
  ),
  databaseUp: gauge(
    'posthorn_database_up',
    '1 if the database answered this node within two seconds. At 0 the gauges read from it are NaN.',
  ),
  databaseWritable: gauge(
    'posthorn_database_writable',
    '1 if the database answers and takes writes; 0 also after a statement failed because its disk is full or it is read only, until there is room again.',
  ),
  standbyUp: gauge(
    'posthorn_standby_up',
    '1 if exports and time series are read from the standby at POSTHORN_READ_URL, 0 if it failed and the primary serves them. NaN without a standby.',
  ),
  idClockAhead: gauge(
    'posthorn_id_clock_ahead_seconds',
    "How far the ids of this node are ahead of the database's clock. Above 0 it was set back, and ids stand still until it reaches them. Below 0 it jumped ahead, and ids follow once that has lasted a minute.",
  ),
  oldPrimaryAccepted: gauge(
    'posthorn_old_primary_accepted_timestamp_seconds',
    'When an old primary of the database was last accepted in place of a newer one, in seconds since 1970; 0: never. NaN if DATABASE_URL names one server without target_session_attrs.',
  ),
  databaseConnections: gauge(
    'posthorn_database_connections',
    'Connections of this node to the database.',
    POOLS,
    { name: 'state', values: ['busy', 'idle'] },
  ),
  databaseWaiting: gauge('posthorn_database_waiting', 'Statements waiting for a connection.', POOLS),
  windowSize: gauge(
    'posthorn_window_size',
    'Places for deliveries that this node may lease; 0 if it does not deliver.',
  ),
  windowUsed: gauge(
    'posthorn_window_used',
    'Used places of the window: deliveries about to be stored, leased, or being recorded. One takes a place per 64 kB of payload.',
  ),
  deliveriesLeased: gauge('posthorn_deliveries_held', 'Deliveries this node leases, waiting or being sent.', {
    name: 'state',
    values: ['waiting', 'sending'],
  }),
  reaped: counter(
    'posthorn_deliveries_reaped_total',
    'Deliveries that this node freed because the lease of their node had expired.',
  ),
  lateOutcomes: counter(
    'posthorn_late_outcomes_total',
    'Outcomes that changed nothing, because another node had claimed the delivery or it was cancelled.',
  ),
  exportFailing: gauge(
    'posthorn_export_failing',
    '1 if the last export of expired data by this node failed. Nothing is removed until it succeeds.',
  ),
  upkeepFailures: counter(
    'posthorn_upkeep_failures_total',
    'Duties of upkeep that failed, all in all or for one project. The log names the error.',
    {
      name: 'duty',
      values: [
        'partitions',
        'leftovers',
        'audit',
        'removal',
        'templates',
        'discard',
        'ordering_keys',
        'batches',
        'expiry',
        'endpoint_expiry',
        'devices',
      ],
    },
  ),
  brokerMessages: counter(
    'posthorn_broker_messages_total',
    'Messages of brokers, by what became of them. repeat: dropped, since it was stored before. unreadable: of those stored, the ones that can never be an event.',
    BROKERS,
    { name: 'result', values: ['stored', 'repeat', 'unreadable'] },
  ),
  brokerFailures: counter(
    'posthorn_broker_failures_total',
    'Connections to brokers that failed, or could not be made.',
    BROKERS,
  ),
  brokerLag: gauge(
    'posthorn_broker_lag',
    'Messages that wait in brokers, in the parts of them that this node takes from. Of postgres: bytes of the log of databases.',
    BROKERS,
  ),
  brokerSources: gauge('posthorn_broker_sources', 'Sources of brokers that this node runs, by their state.', {
    name: 'state',
    values: ['connecting', 'running', 'waiting'],
  }),
  httpRequests: counter(
    'posthorn_http_requests_total',
    'Requests served, by group of routes and class of status. other: unknown route.',
    { name: 'family', values: ['api', 'portal', 'ingest', 'docs', 'health', 'metrics', 'other'] },
    { name: 'class', values: ['2xx', '3xx', '4xx', '5xx'] },
  ),
  observerFaults: counter(
    'posthorn_observer_faults_total',
    'Failures of observers, by observer. Deliveries and events continue without it. The log names the error once a minute.',
    { name: 'observer', values: ['metrics', 'log', 'trace', 'alert', 'meta_event'] },
  ),
  spans: counter(
    'posthorn_trace_spans_total',
    'Spans of traces, by result. dropped: too many waited, or the collector refused them.',
    { name: 'result', values: ['exported', 'dropped'] },
  ),
};

interface Instruments {
  counter: { inc(by?: number): void };
  gauge: { set(value: number): void };
  histogram: { observe(value: number): void };
}
type Instrument = Instruments[keyof Instruments];

/** The instrument of each series, by the values of its labels in order. */
type Series<Labels, Leaf> = Labels extends readonly [infer First extends Label, ...infer Rest]
  ? { readonly [Value in First['values'][number]]: Series<Rest, Leaf> }
  : Leaf;

type Table = typeof metricTable;
export type Metrics = {
  readonly [Key in keyof Table]: Series<Table[Key]['labels'], Instruments[Table[Key]['type']]>;
};

export type MetricsRegistry = Registry;

/** With several processes or cells, every series has those of its node as labels. */
export function createRegistry(processNumber?: number, cell: string | null = null): MetricsRegistry {
  const registry = new Registry();
  registry.setDefaultLabels({
    ...(processNumber !== undefined && { process: String(processNumber) }),
    ...(cell !== null && { cell }),
  });
  return registry;
}

export function createMetrics(
  processNumber?: number,
  cell: string | null = null,
): { metrics: Metrics; registry: MetricsRegistry } {
  const registry = createRegistry(processNumber, cell);
  const metrics = Object.fromEntries(
    Object.entries<MetricDefinition>(metricTable).map(([key, definition]) => [
      key,
      series(definition.labels, [], create(definition, registry)),
    ]),
  );
  return { metrics: metrics as unknown as Metrics, registry };
}

class Tally {
  value = 0;

  inc(by = 1): void {
    this.value += by;
  }
}

type Nested = Instrument | { [value: string]: Nested };

function series(labels: readonly Label[], chosen: string[], one: (values: string[]) => Instrument): Nested {
  const [label, ...rest] = labels;
  if (label === undefined) return one(chosen);
  return Object.fromEntries(label.values.map((value) => [value, series(rest, [...chosen, value], one)]));
}

function create(definition: MetricDefinition, registry: Registry): (values: string[]) => Instrument {
  const { name, help, labels } = definition;
  const options = { name, help, labelNames: labels.map((label) => label.name), registers: [registry] };
  const labelled = (values: string[]) =>
    Object.fromEntries(labels.map((label, n) => [label.name, values[n] ?? '']));
  switch (definition.type) {
    case 'counter': {
      const tallies: { labels: Record<string, string>; tally: Tally }[] = [];
      void new Counter({
        ...options,
        collect() {
          this.reset();
          for (const { labels: ofSeries, tally } of tallies) this.inc(ofSeries, tally.value);
        },
      });
      return (values) => {
        const tally = new Tally();
        tallies.push({ labels: labelled(values), tally });
        return tally;
      };
    }
    case 'gauge': {
      const gauge = new Gauge(options);
      return (values) => {
        gauge.set(labelled(values), 0);
        return gauge.labels(...values);
      };
    }
    case 'histogram': {
      const histogram = new Histogram({ ...options, buckets: [...(definition.buckets ?? [])] });
      return (values) => {
        histogram.zero(labelled(values));
        return histogram.labels(...values);
      };
    }
  }
}
