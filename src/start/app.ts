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
import { IdFactory } from '../domain/ids.ts';
import { InFlightIds } from '../domain/in-flight-ids.ts';
import { Engine } from '../engine/engine.ts';
import { EventAcceptor } from '../ingest/accept-event.ts';
import { EventReplayer } from '../ingest/event-replayer.ts';
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
import { NEW_JOB } from '../store/database/notify-nodes.ts';
import { isConnectionError } from '../store/database/pg-errors.ts';
import { databaseTime } from '../store/queue/nodes.ts';
import { addKeyInUse } from '../store/secrets/secret-keys.ts';
import type { Look } from '../store/upkeep/look.ts';
import { migrate, newestMigration } from '../store/upkeep/migrate.ts';
import { ensurePartitions, partitionWidthMs } from '../store/upkeep/partitions.ts';
import { type Brokers, createBrokers } from './create-brokers.ts';
import { createJobs } from './create-jobs.ts';
import { createObservers, type ObserverParts, observerParts } from './create-observers.ts';
import { createPeople, peopleRules } from './create-people.ts';
import { firstStart } from './first-start.ts';
import { GaugeReader } from './gauge-reader.ts';
import { connectDatabase, type OpenDatabase, openDatabase } from './open-database.ts';
import { refuseTakenPort } from './refuse-taken-port.ts';
import type { Running } from './running.ts';
import { loadSealer } from './secret-key.ts';
import { type Service, Services } from './services.ts';

/** A connection for each place in the window: then a project that has its share of the places has no more of these. */
const LEAST_CONNECTIONS = 1_000;
const MAX_CONNECTIONS = 10_000;
const MIN_FLUSH_MS = 500;
const MAX_FLUSH_MS = 5_000;

/** The composition root: it makes the parts of a node, from the ground up, and lists those that start and stop. */
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

/** Everything below the doors of the node: what stores, delivers and observes, not yet started. */
async function buildCore(config: Config, rawLog: Logger, opened: Opened) {
  const { http, caPem, shared } = opened;
  const { db } = opened.database;
  await migrate(db, rawLog);
  const databaseClock = await measuredClock(db);
  const { now } = databaseClock;
  const ids = new IdFactory(now);
  const inFlight = new InFlightIds(ids);
  // The address is known once the server listens, which is before any request.
  const address = { url: config.publicUrl };
  const publicUrl = () => address.url;
  const nodeId = () => engine.nodeId;
  const observers = createObservers(
    config,
    { log: rawLog, http, caPem, ids, now, processNumber: shared?.number, nodeId, publicUrl },
    opened.parts,
  );
  const { log, alerts, metaEvents, tracing } = observers;
  const makePartitions = async () => {
    await ensurePartitions(db, now(), partitionWidthMs(config.retentionHours));
  };
  await makePartitions();
  const sealer = await loadSealer(db, config);
  const stores = createStores(sealer);
  const cache = new ConfigCache({
    db,
    ...stores,
    log,
    onChange: (routing, changedIds) => engine.configChanged(routing, changedIds),
  });
  const rules = peopleRules(config);
  const limits = { ...rules, callsPerSecond: config.apiRate, portalCallsPerSecond: config.portalRate };
  const known = { db, ids, now, sealer, publicUrl, retentionMs: config.retentionHours * 3_600_000 };
  const authenticator = new Authenticator({ ...known, cache, ...limits });
  const forgetCallers = (id: string) => authenticator.forget(id);
  const informed = { metaEvents, alerts, forgetCallers };
  const changes = new ConfigChanges({ ...known, defaults: config.defaults, cache, ...stores, ...informed });
  const people = createPeople({ ...observers, ...known, rules, forgetCallers });
  const sandbox = new Sandbox();
  const engine = new Engine({
    ...observers,
    config,
    changes,
    db,
    cache,
    http,
    sandbox,
    ids,
    inFlight,
    databaseClock,
    makePartitions,
    // This process has the lock on the embedded database's directory.
    isAlone: config.databaseUrl === null && shared === undefined,
    knows: await newestMigration(),
    sealer,
    tracer: tracing.tracer,
  });
  const node = { ...observers, ...known, inFlight, cache, stores, changes, people, sandbox, engine };
  return { ...node, address, authenticator, makePartitions, http };
}

/** The clock of the database, measured before the first id: ids never go back, so one from a fast clock would last. */
async function measuredClock(db: Database): Promise<OffsetClock> {
  const clock = new OffsetClock(systemClock);
  const sentAt = systemClock.now();
  clock.measured(await databaseTime(db), sentAt);
  return clock;
}

type Core = Awaited<ReturnType<typeof buildCore>>;

/** The ways in for events: calls, webhooks, brokers, replays. */
function buildIntake(config: Config, core: Core) {
  const { engine, tracing, stores, http, changes } = core;
  const intake = {
    ...core,
    nodeId: engine.nodeId,
    sink: engine.sink,
    maxRetrySeconds: config.maxRetrySeconds,
    tracer: tracing.tracer,
  };
  const acceptor = new EventAcceptor(intake);
  const replayer = new EventReplayer(intake);
  const brokers = createBrokers({ ...intake, acceptor, http, changes, ...stores });
  return { acceptor, replayer, brokers, jobs: createJobs({ ...intake, replayer, changes }) };
}

type Intake = ReturnType<typeof buildIntake>;

/** The HTTP server with its routes, not yet listening. `problem` says why the node is not ready. */
async function buildServer(
  config: Config,
  { core, intake, shared }: { core: Core; intake: Intake; shared: Shared | undefined },
  problem: () => Promise<string | null>,
) {
  const { engine, http, db, ids, log, metrics, registry, authenticator, people, tracing } = core;
  const { brokers, jobs } = intake;
  const context: ApiContext = {
    ...core,
    ...core.stores,
    ...intake,
    tryEndpoint: (trial) => engine.tryEndpoint(trial),
    pull: engine.pull,
    metaEventsStored: (projectId) => engine.metaEventsStored(projectId),
    settings: shownSettings(config),
    sourceAddresses: config.sourceAddresses,
    oidc: new Oidc(config.oidcProviders, people),
    ...connections(http, brokers),
    wake: (projectId, where, dueInMs) => engine.sink.waiting(projectId, where, dueInMs),
    wakeJobs: () => jobs.wake(),
  };
  const server = await createServer({
    ids,
    log,
    maxBodyBytes: config.maxBodyBytes,
    trustedProxies: config.trustedProxies,
  });
  const hasMetrics = servesMetrics(config);
  const renderMetrics = hasMetrics
    ? metricsPage(registry, new GaugeReader({ db, engine, brokers: brokers.board, metrics, log }))
    : async () => '';
  await registerRoutes(server, {
    context,
    authenticator,
    roles: config.roles,
    isReady: problem,
    metrics,
    tracer: tracing.tracer,
    metricsPage: hasMetrics
      ? { contentType: registry.contentType, render: shared?.metricsOfAll ?? renderMetrics }
      : null,
  });
  return { server, renderMetrics };
}

/** From the ground up. */
function servicesOf(
  config: Config,
  { core, intake, server, database }: { core: Core; intake: Intake; server: FastifyInstance } & Opened,
): Service[] {
  const { db, cache, log, engine, sealer, tracing, channels, guard, http, sandbox, address } = core;
  const { acceptor, brokers, jobs } = intake;
  const notices = {
    onNotice: (id: string) => core.authenticator.forget(id),
    onDue: (payload: string) => engine.onDue(payload),
    onJobs: (payload: string) => (payload === NEW_JOB ? jobs.wake() : engine.beatNow()),
    onLook: (found: Look) => {
      if (found.hasJob) jobs.wake();
      engine.looked(found);
      brokers.runner.looked(found);
    },
  };
  const watch = new ConfigWatch({ db, cache, log, ...notices });
  const has = (role: Config['roles'][number]) => config.roles.includes(role);
  return [
    { name: 'database', stop: () => database.close() },
    { name: 'sandbox', stop: () => sandbox.close() },
    { name: 'http client', stop: () => http.close() },
    { name: 'observer guard', stop: async () => guard.stop() },
    { name: 'alerts', stop: () => channels.stop() },
    { name: 'tracing', stop: (stopBy) => tracing.stop(flushMs(stopBy)) },
    {
      name: 'engine',
      start: async () => {
        await engine.start();
        // Added again, now that other nodes see this one. A reseal in between may have removed the key.
        await addKeyInUse(db, sealer.keyId);
      },
      stop: (stopBy) => engine.stop(stopBy),
    },
    { name: 'config watch', start: () => watch.start(), stop: () => watch.stop() },
    { name: 'jobs', start: async () => void (has('janitor') && jobs.start()), stop: () => jobs.stop() },
    { name: 'intake', stop: () => acceptor.drain() },
    {
      name: 'doors',
      start: async () => {
        if (has('broker')) brokers.runner.start();
        const url = await server.listen({ host: config.host, port: config.port });
        address.url ||= url;
      },
      // Calls that wait for deliveries end, so that the server can close.
      stop: async (stopBy) => {
        await Promise.all([engine.pull.stop(), closeServer(server, stopBy), brokers.runner.stop()]);
      },
    },
  ];
}

async function build(config: Config, rawLog: Logger, opened: Opened): Promise<App> {
  const { shared } = opened;
  const core = await buildCore(config, rawLog, opened);
  const { db, engine, changes, people, address } = core;
  const intake = buildIntake(config, core);
  let isReady = false;
  const { server, renderMetrics } = await buildServer(config, { core, intake, shared }, async () =>
    isReady ? (shared?.problem() ?? db.problem()) : 'still starting',
  );
  const services = new Services(servicesOf(config, { core, intake, server, ...opened }), {
    log: core.log,
    graceMs: config.graceSeconds * 1_000,
  });
  const stop = () => {
    isReady = false;
    return services.stop();
  };
  await services.start();
  const credentials = await firstStart(changes, { url: address.url, dataDir: config.dataDir }).catch(
    async (error: unknown) => {
      await stop();
      throw error;
    },
  );
  isReady = true;
  return {
    url: address.url,
    credentials,
    nodes: [engine.nodeId],
    db,
    engine,
    acceptor: intake.acceptor,
    changes,
    people,
    metrics: renderMetrics,
    stop,
  };
}

/** The connections that the API makes to others. */
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
