import { AlertChannels } from '../alerts/alert-channels.ts';
import { Mailer } from '../alerts/mailer.ts';
import { AlertRecorder, type AlertRecorderDeps } from '../control/alert-recorder.ts';
import type { HttpClient } from '../dispatch/client/http-client.ts';
import type { AlertNotifier } from '../domain/alert.ts';
import type { IdFactory } from '../domain/ids.ts';
import { AcceptedCounts } from '../metrics/accepted-counts.ts';
import { createMetrics, type Metrics, type MetricsRegistry } from '../metrics/metrics.ts';
import { ObserverGuard } from '../metrics/observer-guard.ts';
import type { Logger } from '../platform/logger.ts';
import type { Config } from '../settings/settings.ts';
import { MetaEventRecorder } from '../store/queue/meta-event-recorder.ts';
import { SpanExporter } from '../tracing/span-exporter.ts';
import { type CreateExporter, createTracing, type Tracing } from './create-tracing.ts';

/** All observers, each behind the one guard. No other part of the program sees an unguarded observer. */
export interface Observers {
  guard: ObserverGuard;
  log: Logger;
  metrics: Metrics;
  registry: MetricsRegistry;
  counts: AcceptedCounts;
  tracing: Tracing;
  channels: AlertChannels;
  /** Null: no mail server is set. */
  mailer: Mailer | null;
  alerts: AlertRecorder;
  metaEvents: MetaEventRecorder;
}

/** Factories of the observers. A test injects faulty ones. */
export interface ObserverParts {
  createMetrics: typeof createMetrics;
  createExporter: CreateExporter;
  createAlerts(deps: AlertRecorderDeps): AlertRecorder;
  createMetaEvents(deps: ConstructorParameters<typeof MetaEventRecorder>[0]): MetaEventRecorder;
}

export const observerParts: ObserverParts = {
  createMetrics,
  createExporter: (options) => new SpanExporter(options),
  createAlerts: (deps) => new AlertRecorder(deps),
  createMetaEvents: (deps) => new MetaEventRecorder(deps),
};

/** The observers that a process has once, however many cells it serves. */
export type OnceObservers = Pick<Observers, 'guard' | 'channels' | 'mailer' | 'tracing'>;

interface ObserverDeps {
  log: Logger;
  http: HttpClient;
  caPem: string | undefined;
  ids: IdFactory;
  /** The database's time in milliseconds. */
  now(): number;
  /** The number of this process, from 1, if there are several. */
  processNumber: number | undefined;
  /** The cell of the node, if the process serves several. */
  cell: string | null;
  nodeId(): string;
  publicUrl(): string;
}

export function createObservers(
  config: Config,
  deps: ObserverDeps,
  { parts, once }: { parts: ObserverParts; once: OnceObservers | undefined },
): Observers {
  const { ids, publicUrl } = deps;
  const made = parts.createMetrics(deps.processNumber, deps.cell);
  const guard = once?.guard ?? new ObserverGuard(deps.log, made.metrics.observerFaults);
  const log = guard.log(deps.log);
  const metrics = guard.metrics(made.metrics);
  const shared = once ?? createOnce(config, deps, { guard, log, metrics, parts });
  const notifier = guard.wrap<AlertNotifier>('alert', shared.channels, { notify: undefined });
  return {
    ...shared,
    log,
    metrics,
    registry: made.registry,
    counts: guard.wrap('metrics', new AcceptedCounts(), {
      accepted: undefined,
      made: undefined,
      take: [],
      giveBack: undefined,
    }),
    alerts: guard.wrap('alert', parts.createAlerts({ notifier, publicUrl }), {
      record: [],
      notify: undefined,
    }),
    metaEvents: guard.wrap(
      'meta_event',
      parts.createMetaEvents({ ids, maxRetrySeconds: config.maxRetrySeconds }),
      { prepare: undefined },
    ),
  };
}

function createOnce(
  config: Config,
  { http, caPem, nodeId, publicUrl }: ObserverDeps,
  { guard, log, metrics, parts }: Pick<Observers, 'guard' | 'log' | 'metrics'> & { parts: ObserverParts },
): OnceObservers {
  const mailer = config.smtpUrl === null ? null : new Mailer({ url: config.smtpUrl, from: config.smtpFrom });
  const tracing = createTracing(config, { ...parts, metrics, guard, log, caPem, nodeId });
  return { guard, mailer, channels: new AlertChannels({ http, mailer, guard, log, publicUrl }), tracing };
}
