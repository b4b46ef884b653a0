import { HttpClient } from '../dispatch/client/http-client.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { ObserverGuard } from '../metrics/observer-guard.ts';
import type { Logger } from '../platform/logger.ts';
import { StartupError } from '../platform/startup-error.ts';
import { VERSION } from '../platform/version.ts';
import type { Config } from '../settings/settings.ts';
import type { SpanExporterOptions } from '../tracing/span-exporter.ts';
import { type SpanSink, Tracer } from '../tracing/tracer.ts';

export interface Tracing {
  /** Null: tracing is off. */
  tracer: Tracer | null;
  /** Flushes. */
  stop(graceMs: number): Promise<void>;
}

export type CreateExporter = (
  options: SpanExporterOptions,
) => SpanSink & { stop(graceMs: number): Promise<void> };

/** Tracing is on if a collector is configured. Without one there is no tracer. */
export function createTracing(
  config: Config,
  deps: {
    metrics: Metrics;
    guard: ObserverGuard;
    log: Logger;
    caPem: string | undefined;
    nodeId(): string;
    createExporter: CreateExporter;
  },
): Tracing {
  if (config.otlpEndpoint === '') return { tracer: null, stop: () => Promise.resolve() };
  const { metrics, guard, log, caPem } = deps;
  // The operator chooses the collector, so it may be on any address, and the deliveries' proxy is not used.
  const http = new HttpClient({
    egress: 'any',
    connectionsPerOrigin: 1,
    maxConnections: 1,
    ...(caPem !== undefined && { caPem }),
  });
  const url = `${config.otlpEndpoint}/v1/traces`;
  const verdict = http.guard.checkUrl(url);
  if (!verdict.allowed)
    throw new StartupError(`OTEL_EXPORTER_OTLP_ENDPOINT cannot be used: ${verdict.reason}`);
  const exporter = deps.createExporter({
    http,
    url,
    headers: config.otlpHeaders,
    resource: () => ({
      'service.name': config.otelServiceName,
      'service.version': VERSION,
      'service.instance.id': deps.nodeId(),
    }),
    metrics,
    guard,
    log,
  });
  const tracer = new Tracer({ sink: exporter, ratio: config.traceShare });
  return {
    tracer: guard.wrap('trace', tracer, { begin: null, child: null, end: undefined }),
    stop: (graceMs) => guard.settle('trace', () => exporter.stop(graceMs), undefined),
  };
}
