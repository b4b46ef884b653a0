import type { ConfigChanges } from '../../control/config-changes.ts';
import type { HttpClient } from '../../dispatch/client/http-client.ts';
import type { MessageSender } from '../../dispatch/client/message-sender.ts';
import type { IdFactory } from '../../domain/ids.ts';
import type { InFlightIds } from '../../domain/in-flight-ids.ts';
import type { AcceptedCounts } from '../../metrics/accepted-counts.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { ObserverGuard } from '../../metrics/observer-guard.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Sealer } from '../../platform/sealer.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { OffsetClock } from '../../platform/time/offset-clock.ts';
import type { ConfigCache } from '../../routing/config-cache.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { Database } from '../../store/database/database.ts';
import type { MetaEventRecorder } from '../../store/queue/meta-event-recorder.ts';
import type { Tracer } from '../../tracing/tracer.ts';

/** The rest of the program, as the engine needs it. */
export interface EngineDeps {
  config: {
    roles: readonly string[];
    window: number;
    endpointConcurrency: number;
    graceSeconds: number;
    maxRetrySeconds: number;
    retentionHours: number;
    certificateDays: number;
    exportDir: string;
  };
  db: Database;
  cache: ConfigCache;
  metaEvents: MetaEventRecorder;
  changes: ConfigChanges;
  http: HttpClient;
  /** Deliveries to brokers. */
  messages: MessageSender;
  sandbox: Sandbox;
  ids: IdFactory;
  inFlight: InFlightIds;
  databaseClock: OffsetClock;
  makePartitions(): Promise<void>;
  /** No other node can be alive, so a killed node leased every leased row. */
  isAlone: boolean;
  sealer: Sealer;
  /** The number of the newest migration that this program knows. */
  knows: string;
  metrics: Metrics;
  counts: AcceptedCounts;
  guard: ObserverGuard;
  /** Null: tracing is off. */
  tracer: Tracer | null;
  log: Logger;
}

/** The dependencies of the parts: those of the engine, and three of its own. */
export interface PartDeps extends EngineDeps {
  nodeId: string;
  /** The database's time in milliseconds. */
  now(): number;
  clock: Clock;
}

/** The dependencies that one part names. */
export type EnginePart<Names extends keyof PartDeps> = Pick<PartDeps, Names>;
