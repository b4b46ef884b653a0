import type { ConfigChanges } from '../../control/config-changes.ts';
import type { HttpClient } from '../../dispatch/client/http-client.ts';
import type { TokenResult } from '../../dispatch/client/oauth2-token.ts';
import type { OAuth2Config } from '../../domain/config/endpoint-authentication.ts';
import type { ProjectConfig } from '../../domain/config/project-config.ts';
import type { Cloud } from '../../domain/config/workload.ts';
import type { QueueKey } from '../../domain/delivery.ts';
import type { IdFactory } from '../../domain/ids.ts';
import type { PullService } from '../../domain/pull-service.ts';
import type { EventAcceptor } from '../../ingest/accept-event.ts';
import type { EventReplayer } from '../../ingest/event-replayer.ts';
import type { Oidc } from '../../people/oidc.ts';
import type { PeopleDeps } from '../../people/people-deps.ts';
import type { JsonBounds } from '../../platform/json/json-shape.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Sealer } from '../../platform/sealer.ts';
import type { ConfigCache } from '../../routing/config-cache.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { Attempt } from '../../store/attempts/attempt.ts';
import type { EndpointRow, EndpointStore } from '../../store/config/endpoints.ts';
import type { ProjectRow, ProjectStore } from '../../store/config/projects.ts';
import type { SourceRow, SourceStore } from '../../store/config/sources.ts';
import type { Database } from '../../store/database/database.ts';
import type { MetaEventRecorder } from '../../store/queue/meta-event-recorder.ts';

/** A cell as operations over all projects see it. */
export interface CellView {
  /** Empty: it is the only one. */
  name: string;
  db: Database;
  projects: ProjectStore;
  changes: ConfigChanges;
}

/** A project that is about to be made. */
export interface PlacedProject {
  name: string;
  /** The cell by name. Undefined: the one with the fewest projects. */
  cell: string | undefined;
  /** The id of a call that may be made twice. */
  onceId: string | undefined;
}

/** For reads: the rows, the config in memory, and facts of the instance. */
export interface ReadContext {
  db: Database;
  cache: ConfigCache;
  endpoints: EndpointStore;
  sources: SourceStore;
  projects: ProjectStore;
  cells: {
    /** The cells that this process serves now. */
    all(): readonly CellView[];
    /** The names of the others. */
    away(): readonly string[];
    forNew(wanted: PlacedProject): Promise<CellView>;
  };
  ids: IdFactory;
  sealer: Sealer;
  log: Logger;
  /** The database's time in milliseconds. */
  now(): number;
  /** That of the instance. */
  retentionMs: number;
  jsonBounds: JsonBounds;
  /** The public URL of this service, without a slash at the end. */
  publicUrl(): string;
  /** Whether deliveries may go to a URL, as far as the URL alone shows. */
  checkUrl(url: string): { allowed: true } | { allowed: false; reason: string };
  /** The settings of this node, without secrets. */
  settings: readonly {
    name: string;
    value: string | null;
    isSet: boolean;
    fallback: string;
    description: string;
  }[];
  /** Addresses that deliveries come from, as the operator names them. */
  sourceAddresses: readonly string[];
  /** Clouds at which endpoints and sources may use the credentials of the machine. */
  workload: readonly Cloud[];
}

/** For changes of config and of accounts. */
export interface ChangeContext extends ReadContext {
  changes: ConfigChanges;
  people: PeopleDeps;
  oidc: Oidc;
}

/** For events and deliveries: to accept, send, hand out and try them. */
export interface SendContext extends ReadContext {
  acceptor: EventAcceptor;
  replayer: EventReplayer;
  sandbox: Sandbox;
  metaEvents: MetaEventRecorder;
  /** Meta events were queued without a config change. */
  metaEventsStored(projectId: string): void;
  /** Requests under the egress rule. */
  http: Pick<HttpClient, 'send'>;
  /** Requests a token from a token server, as a delivery would. */
  fetchToken(config: OAuth2Config): Promise<TokenResult>;
  /** Sends one test request to an endpoint that may not be saved. */
  tryEndpoint(trial: {
    row: EndpointRow;
    config: ProjectConfig;
    keys: ProjectRow['keys'];
    body: Buffer;
    mark?: string;
    messageId?: string;
  }): Promise<{ kind: 'tried'; attempt: Attempt } | { kind: 'untried'; reason: string }>;
  /** Hands out deliveries of pull endpoints. */
  pull: PullService;
  /** Connects to the broker of a source and takes nothing; the reason why that failed, or null. */
  testSource(source: SourceRow): Promise<string | null>;
  /** Call when deliveries wait in the queue that are due, now or after this time. */
  wake(projectId: string, where: { key: QueueKey; lane: number }, dueInMs?: number): void;
  /** There is a new job. */
  wakeJobs(): void;
}

/** All of them. A handler names the one that it takes. */
export interface ApiContext extends ChangeContext, SendContext {}
