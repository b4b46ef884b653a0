import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import { Authenticator } from '../api/http/access/auth.ts';
import type { ApiContext } from '../api/http/context.ts';
import { registerRoutes } from '../api/routes.ts';
import { createServer } from '../api/server.ts';
import { ConfigChanges } from '../control/config-changes.ts';
import { HttpClient } from '../dispatch/client/http-client.ts';
import { fetchToken } from '../dispatch/client/oauth2-token.ts';
import type { DeliverySink } from '../domain/delivery-sink.ts';
import { IdFactory } from '../domain/ids.ts';
import { Engine } from '../engine/engine.ts';
import { EventAcceptor } from '../ingest/accept-event.ts';
import { EventReplayer } from '../ingest/event-replayer.ts';
import { batchCancel, batchRetry } from '../jobs/delivery-jobs.ts';
import { JobRunner } from '../jobs/job-runner.ts';
import { onboardWork } from '../jobs/onboard-job.ts';
import { batchReplay } from '../jobs/replay-job.ts';
import type { MetricsRegistry } from '../metrics/metrics.ts';
import { collectProcessMetrics } from '../metrics/process-metrics.ts';
import { Oidc } from '../people/oidc.ts';
import type { PeopleDeps } from '../people/people-deps.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sealer } from '../platform/sealer.ts';
import { StartupError } from '../platform/startup-error.ts';
import { systemClock } from '../platform/time/clock.ts';
import { OffsetClock } from '../platform/time/offset-clock.ts';
import { ConfigCache } from '../routing/config-cache.ts';
import { ConfigWatch } from '../routing/config-watch.ts';
import { Sandbox } from '../sandbox/sandbox.ts';
import { type Config, egressRule, servesMetrics, shownSettings } from '../settings/settings.ts';
import { EndpointStore } from '../store/config/endpoints.ts';
import { ProjectStore } from '../store/config/projects.ts';
import { SourceStore } from '../store/config/sources.ts';
import type { Connection, Database } from '../store/database/database.ts';
import { isConnectionError } from '../store/database/pg-errors.ts';
import { addKeyInUse } from '../store/secrets/secret-keys.ts';
import { migrate, newestMigration } from '../store/upkeep/migrate.ts';
import { ensurePartitions, partitionWidthMs } from '../store/upkeep/partitions.ts';
import { type Brokers, createBrokers } from './create-brokers.ts';
import { createObservers, type ObserverParts, observerParts } from './create-observers.ts';
import { createPeople } from './create-people.ts';
import { firstStart } from './first-start.ts';
import { GaugeReader } from './gauge-reader.ts';
import { connectDatabase, type OpenDatabase, openDatabase } from './open-database.ts';
import { refuseTakenPort } from './refuse-taken-port.ts';
import type { Running } from './running.ts';
import { loadSealer } from './secret-key.ts';

/** A connection for each place in the window: then a project that has its share of the places has no more of these. */
const LEAST_CONNECTIONS = 1_000;
const MAX_CONNECTIONS = 10_000;
const MIN_FLUSH_MS = 500;
const MAX_FLUSH_MS = 5_000;

/** The composition root: the one file that knows every concrete class. Built bottom up, stopped top down. */
export interface App extends Running {
  db: Database;
  engine: Engine;
  acceptor: EventAcceptor;
  changes: ConfigChanges;
  people: PeopleDeps;
  /** The metrics page of this node alone. */
  metrics(): Promise<string>;
}

/** The primary's side, where this node is one of several processes. See src/processes. */
export interface Shared {
  /** The number of this process, from 1. */
  number: number;
  connection: Connection;
  /** Why not all processes are ready. Null: they are. */
  problem(): string | null;
  metricsOfAll(): Promise<string>;
}

export async function startApp(
  config: Config,
  log: Logger,
  shared?: Shared,
  parts: ObserverParts = observerParts,
): Promise<App> {
  if (shared === undefined) await refuseTakenPort(config);
  const caPem = await readAuthorities(config.caFile);
  const http = createHttpClient(config, caPem);
  const database = await (shared === undefined
    ? openDatabase(config, log)
    : connectDatabase(shared.connection, config, log));
  try {
    return await build(config, log, { database, http, caPem, shared, parts });
  } catch (error) {
    await database.close();
    if (!isConnectionError(error)) throw error;
    const { message } = error as Error;
    throw new StartupError(`the database was lost during the start: ${message}`, { cause: error });
  }
}

interface Opened {
  database: OpenDatabase;
  http: HttpClient;
  caPem: string | undefined;
  shared: Shared | undefined;
  parts: ObserverParts;
}

async function build(config: Config, rawLog: Logger, opened: Opened): Promise<App> {
  const { database, http, caPem, shared } = opened;
  const { db } = database;
  await migrate(db, rawLog);
  const databaseClock = new OffsetClock(systemClock);
  const { now } = databaseClock;
  const ids = new IdFactory(now);
  const observers = createObservers(
    config,
    { log: rawLog, http, caPem, ids, now, processNumber: shared?.number, nodeId: () => engine.nodeId },
    opened.parts,
  );
  const { guard, log, metrics, registry, traffic, tracing, channels, alerts, metaEvents } = observers;
  const makePartitions = async () => {
    await ensurePartitions(db, now(), partitionWidthMs(config.retentionHours));
  };
  await makePartitions();
  const sealer = await loadSealer(db, config);
  const stores = createStores(sealer);
  // This process has the lock on the embedded database's directory.
  const isAlone = config.databaseUrl === null && shared === undefined;
  const cache = new ConfigCache({
    db,
    ...stores,
    log,
    onChange: (routing, changedIds) => engine.configChanged(routing, changedIds),
  });
  const forgetCallers = (id: string) => authenticator.forget(id);
  const informed = { metaEvents, alerts, forgetCallers };
  const changes = new ConfigChanges({ db, ids, now, sealer, cache, ...stores, ...informed });
  // Known once the server listens, which is before any request.
  let url = config.publicUrl;
  const known = { db, ids, now, sealer, publicUrl: () => url };
  const people = createPeople(config, { ...observers, ...known, forgetCallers });
  const sandbox = new Sandbox();
  const { tracer } = tracing;
  const engine = new Engine({
    ...observers,
    config,
    changes,
    db,
    cache,
    http,
    sandbox,
    ids,
    databaseClock,
    makePartitions,
    isAlone,
    knows: await newestMigration(),
    sealer,
    tracer,
  });
  const intake = {
    db,
    cache,
    ids,
    now,
    nodeId: engine.nodeId,
    sink: engine.sink,
    makePartitions,
    log,
    maxRetrySeconds: config.maxRetrySeconds,
    sandbox,
    sealer,
    metrics,
    traffic,
    tracer,
  };
  const acceptor = new EventAcceptor(intake);
  const replayer = new EventReplayer(intake);
  const brokers = createBrokers({ ...intake, acceptor, http, changes, ...stores });
  const context: ApiContext = {
    cache,
    ...stores,
    acceptor,
    replayer,
    sandbox,
    log,
    metaEvents,
    changes,
    tryEndpoint: (trial) => engine.tryEndpoint(trial),
    pull: engine.pull,
    metaEventsStored: (projectId) => engine.metaEventsStored(projectId),
    ...known,
    people,
    settings: shownSettings(config),
    oidc: new Oidc(config.oidcProviders, people),
    ...connections(http, brokers),
    wake: (projectId, where) => engine.sink.waiting(projectId, where),
    wakeJobs: () => jobs.wake(),
  };
  const jobs = createJobRunner(context, engine.sink, log);
  const server = await createServer({
    ids,
    log,
    maxBodyBytes: config.maxBodyBytes,
    trustedProxies: config.trustedProxies,
  });
  let isReady = false;
  const limits = { ...people.rules, callsPerSecond: config.apiRate, portalCallsPerSecond: config.portalRate };
  const authenticator = new Authenticator({ ...known, cache, ...limits });
  const renderMetrics = servesMetrics(config)
    ? metricsPage(registry, new GaugeReader({ db, engine, brokers: brokers.board, metrics, log }))
    : async () => '';
  await registerRoutes(server, {
    context,
    authenticator,
    roles: config.roles,
    isReady: async () => (isReady ? (shared?.problem() ?? db.problem()) : 'still starting'),
    metrics,
    tracer,
    metricsPage: servesMetrics(config)
      ? { contentType: registry.contentType, render: shared?.metricsOfAll ?? renderMetrics }
      : null,
  });
  const notices = { onNotice: forgetCallers, onDue: (payload: string) => engine.onDue(payload) };
  const watch = new ConfigWatch({ db, cache, log, ...notices });

  const stop = async () => {
    isReady = false;
    const stopBy = performance.now() + config.graceSeconds * 1000;
    // Calls that wait for deliveries end, so that the server can close.
    await Promise.all([engine.pull.stop(), closeServer(server, stopBy), brokers.runner.stop()]);
    await acceptor.drain();
    await jobs.stop();
    await engine.stop(stopBy);
    const flushed = tracing.stop(flushMs(stopBy));
    await watch.stop();
    await channels.stop();
    guard.stop();
    await http.close();
    await sandbox.close();
    await database.close();
    await flushed;
  };
  const start = async () => {
    await engine.start();
    // Added again, now that other nodes see this one. A reseal in between may have removed the key.
    await addKeyInUse(db, sealer.keyId);
    if (config.roles.includes('janitor')) jobs.start();
    await watch.start();
    if (config.roles.includes('broker')) brokers.runner.start();
    const address = await server.listen({ host: config.host, port: config.port });
    url ||= address;
    return firstStart(changes, { url, dataDir: config.dataDir });
  };
  const credentials = await start().catch(async (error: unknown) => {
    // The engine delivers already. What it sent is recorded, and what it holds goes back.
    await stop();
    throw error;
  });
  isReady = true;

  let stopping: Promise<void> | undefined;
  return {
    url,
    credentials,
    nodes: [engine.nodeId],
    db,
    engine,
    acceptor,
    changes,
    people,
    metrics: renderMetrics,
    stop: () => (stopping ??= stop()),
  };
}

/** Of the API to the outside. */
function connections(
  http: HttpClient,
  brokers: Brokers,
): Pick<ApiContext, 'testSource' | 'fetchToken' | 'checkUrl'> {
  return {
    testSource: brokers.testSource,
    fetchToken: (oauth2) => fetchToken(http, oauth2),
    checkUrl: (url) => http.guard.checkUrl(url),
  };
}

function createStores(sealer: Sealer): Pick<ApiContext, 'projects' | 'endpoints' | 'sources'> {
  return {
    projects: new ProjectStore(sealer),
    endpoints: new EndpointStore(sealer),
    sources: new SourceStore(sealer),
  };
}

/** A request that is still being received may take half the grace. Deliveries in flight need the rest. */
async function closeServer(server: FastifyInstance, stopBy: number): Promise<void> {
  const halfMs = Math.max(0, stopBy - performance.now()) / 2;
  const hurry = setTimeout(() => server.server.closeAllConnections(), halfMs);
  await server.close();
  clearTimeout(hurry);
}

/** The rest of the grace, at least half a second. OVERTIME_MS after the grace the process ends. */
function flushMs(stopBy: number): number {
  return Math.min(MAX_FLUSH_MS, Math.max(MIN_FLUSH_MS, stopBy - performance.now()));
}

function metricsPage(registry: MetricsRegistry, gauges: GaugeReader): () => Promise<string> {
  collectProcessMetrics(registry);
  return async () => {
    await gauges.read();
    return registry.metrics();
  };
}

function createJobRunner(context: ApiContext, sink: DeliverySink, log: Logger): JobRunner {
  const { db, cache, replayer, metaEvents, now } = context;
  return new JobRunner({
    db,
    works: {
      batch_replay: batchReplay({ replayer, db, cache, now }),
      batch_retry: batchRetry({ cache, sink }),
      batch_cancel: batchCancel({ metaEvents, sink }),
      onboard: onboardWork(context.changes),
    },
    log,
  });
}

function createHttpClient(config: Config, caPem: string | undefined): HttpClient {
  return new HttpClient({
    egress: egressRule(config),
    allow: config.egressAllow,
    deny: config.egressDeny,
    maxConnections: Math.min(MAX_CONNECTIONS, Math.max(LEAST_CONNECTIONS, config.window)),
    ...(config.httpProxy !== null && { proxyUrl: config.httpProxy.reveal() }),
    ...(caPem !== undefined && { caPem }),
  });
}

async function readAuthorities(file: string): Promise<string | undefined> {
  if (file === '') return undefined;
  try {
    const pem = await readFile(file, 'utf8');
    // Throws if the file has no certificate.
    void new X509Certificate(pem);
    return pem;
  } catch (error) {
    throw new StartupError(`POSTHORN_CA_FILE cannot be read: ${(error as Error).message}`);
  }
}
