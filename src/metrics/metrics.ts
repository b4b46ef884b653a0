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
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  labels: readonly Label[];
  /** Upper bounds, of a histogram. */
  buckets?: readonly number[];
}

const LANES = { name: 'lane', values: ['first', 'retry', 'replay', 'leased'] } as const;
const BROKERS = { name: 'broker', values: ['kafka', 'sqs', 'amqp', 'google', 'postgres'] } as const;
const POOLS = { name: 'pool', values: ['hot', 'general', 'lease'] } as const;

export const metricTable = {
  events: {
    name: 'posthorn_events_total',
    type: 'counter',
    help: 'Events received, by result. unmatched: stored, without a delivery. refused: answered with an error, not stored.',
    labels: [{ name: 'result', values: ['stored', 'duplicate', 'unmatched', 'refused'] }],
  },
  deliveriesFinished: {
    name: 'posthorn_deliveries_finished_total',
    type: 'counter',
    help: 'Deliveries that ended, by status.',
    labels: [{ name: 'status', values: ['success', 'failure', 'discarded'] }],
  },
  retriesPlanned: {
    name: 'posthorn_retries_planned_total',
    type: 'counter',
    help: 'Failed attempts that are followed by a retry.',
    labels: [],
  },
  attempts: {
    name: 'posthorn_attempts_total',
    type: 'counter',
    help: 'Requests to endpoints, by result. no_answer: no complete response.',
    labels: [{ name: 'outcome', values: ['2xx', '3xx', '4xx', '5xx', 'no_answer'] }],
  },
  deliveryLatency: {
    name: 'posthorn_delivery_latency_seconds',
    type: 'histogram',
    help: 'From the acceptance of an event to the success of its delivery, retries included.',
    labels: [],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200],
  },
  attemptDuration: {
    name: 'posthorn_attempt_duration_seconds',
    type: 'histogram',
    help: 'Length of one request to an endpoint, connecting included.',
    labels: [],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120],
  },
  retryLateness: {
    name: 'posthorn_retry_lateness_seconds',
    type: 'histogram',
    help: 'How long past its due time a retry was started. This includes time at a paused endpoint, a rate limit or an open circuit breaker.',
    labels: [],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800],
  },
  batchSize: {
    name: 'posthorn_batch_size',
    type: 'histogram',
    help: 'Events or deliveries in one commit, by operation.',
    labels: [{ name: 'batch', values: ['accept', 'finish', 'claim'] }],
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500],
  },
  queueWaiting: {
    name: 'posthorn_queue_waiting',
    type: 'gauge',
    help: 'Deliveries in the queue that no node leases, due or not. Counted up to 20,000 in total, then a lower bound. The same on every node.',
    labels: [LANES],
  },
  queueOldestDue: {
    name: 'posthorn_queue_oldest_due_seconds',
    type: 'gauge',
    help: 'Age past due of the longest due delivery; 0 if none is due. Deliveries to paused endpoints count, deliveries that wait to be pulled do not. The same on every node.',
    labels: [LANES],
  },
  queueOldestPull: {
    name: 'posthorn_queue_oldest_pull_seconds',
    type: 'gauge',
    help: 'Age of the longest waiting delivery of a pull endpoint or a device; 0 if none waits. The same on every node.',
    labels: [],
  },
  breakersOpen: {
    name: 'posthorn_circuit_breakers_open',
    type: 'gauge',
    help: 'Endpoints whose circuit breaker is open or half-open. The same on every node.',
    labels: [],
  },
  databaseUp: {
    name: 'posthorn_database_up',
    type: 'gauge',
    help: '1 if the database answered this node within two seconds. At 0 the gauges read from it are NaN.',
    labels: [],
  },
  databaseConnections: {
    name: 'posthorn_database_connections',
    type: 'gauge',
    help: 'Connections of this node to the database.',
    labels: [POOLS, { name: 'state', values: ['busy', 'idle'] }],
  },
  databaseWaiting: {
    name: 'posthorn_database_waiting',
    type: 'gauge',
    help: 'Statements waiting for a connection.',
    labels: [POOLS],
  },
  windowSize: {
    name: 'posthorn_window_size',
    type: 'gauge',
    help: 'Maximum deliveries this node may lease; 0 if it does not deliver.',
    labels: [],
  },
  windowUsed: {
    name: 'posthorn_window_used',
    type: 'gauge',
    help: 'Used places of the window: deliveries about to be stored, leased, or being recorded.',
    labels: [],
  },
  deliveriesLeased: {
    name: 'posthorn_deliveries_held',
    type: 'gauge',
    help: 'Deliveries this node leases, waiting or being sent.',
    labels: [{ name: 'state', values: ['waiting', 'sending'] }],
  },
  reaped: {
    name: 'posthorn_deliveries_reaped_total',
    type: 'counter',
    help: 'Deliveries that this node freed because the lease of their node had expired.',
    labels: [],
  },
  lateOutcomes: {
    name: 'posthorn_late_outcomes_total',
    type: 'counter',
    help: 'Outcomes that changed nothing, because another node had claimed the delivery or it was cancelled.',
    labels: [],
  },
  exportFailing: {
    name: 'posthorn_export_failing',
    type: 'gauge',
    help: '1 if the last export of expired data by this node failed. Nothing is removed until it succeeds.',
    labels: [],
  },
  brokerMessages: {
    name: 'posthorn_broker_messages_total',
    type: 'counter',
    help: 'Messages of brokers, by what became of them. repeat: dropped, since it was stored before. unreadable: of those stored, the ones that can never be an event.',
    labels: [BROKERS, { name: 'result', values: ['stored', 'repeat', 'unreadable'] }],
  },
  brokerFailures: {
    name: 'posthorn_broker_failures_total',
    type: 'counter',
    help: 'Connections to brokers that failed, or could not be made.',
    labels: [BROKERS],
  },
  brokerLag: {
    name: 'posthorn_broker_lag',
    type: 'gauge',
    help: 'Messages that wait in brokers, in the parts of them that this node takes from. Of postgres: bytes of the log of databases.',
    labels: [BROKERS],
  },
  brokerSources: {
    name: 'posthorn_broker_sources',
    type: 'gauge',
    help: 'Sources of brokers that this node runs, by their state.',
    labels: [{ name: 'state', values: ['connecting', 'running', 'waiting'] }],
  },
  httpRequests: {
    name: 'posthorn_http_requests_total',
    type: 'counter',
    help: 'Requests served, by group of routes and class of status. other: unknown route.',
    labels: [
      { name: 'family', values: ['api', 'portal', 'ingest', 'docs', 'health', 'metrics', 'other'] },
      { name: 'class', values: ['2xx', '3xx', '4xx', '5xx'] },
    ],
  },
  observerFaults: {
    name: 'posthorn_observer_faults_total',
    type: 'counter',
    help: 'Failures of observers, by observer. Deliveries and events continue without it. The log names the error once a minute.',
    labels: [{ name: 'observer', values: ['metrics', 'log', 'trace', 'alert', 'meta_event'] }],
  },
  spans: {
    name: 'posthorn_trace_spans_total',
    type: 'counter',
    help: 'Spans of traces, by result. dropped: too many waited, or the collector refused them.',
    labels: [{ name: 'result', values: ['exported', 'dropped'] }],
  },
} as const satisfies Record<string, MetricDefinition>;

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

/** With several processes, every series has the number of its process as a label. */
export function createRegistry(processNumber?: number): MetricsRegistry {
  const registry = new Registry();
  if (processNumber !== undefined) registry.setDefaultLabels({ process: String(processNumber) });
  return registry;
}

export function createMetrics(processNumber?: number): { metrics: Metrics; registry: MetricsRegistry } {
  const registry = createRegistry(processNumber);
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
