import { agentsOf } from '../agents/mcp-endpoint.ts';
import { Authenticator } from '../api/http/access/auth.ts';
import type { ApiContext, CellView } from '../api/http/context.ts';
import type { Readiness } from '../api/operator/health.ts';
import type { readBuiltPages } from '../api/pages/built-pages.ts';
import { registerRoutes } from '../api/routes.ts';
import type { BodyRoom } from '../api/server/body-room.ts';
import { createServer } from '../api/server.ts';
import type { Workload } from '../brokers/module/workload.ts';
import { ConfigChanges } from '../control/config-changes.ts';
import type { HttpClient } from '../dispatch/client/http-client.ts';
import { fetchToken } from '../dispatch/client/oauth2-token.ts';
import { AppError } from '../domain/errors.ts';
import { IdFactory } from '../domain/ids.ts';
import { InFlightIds } from '../domain/in-flight-ids.ts';
import { Engine } from '../engine/engine.ts';
import { EventAcceptor } from '../ingest/accept-event.ts';
import { EventReplayer } from '../ingest/event-replayer.ts';
import type { MetricsRegistry } from '../metrics/metrics.ts';
import { Oidc } from '../people/oidc.ts';
import type { Logger } from '../platform/logger.ts';
import { systemClock } from '../platform/time/clock.ts';
import { OffsetClock } from '../platform/time/offset-clock.ts';
import { Turns } from '../platform/turns.ts';
import { ConfigCache } from '../routing/config-cache.ts';
import { ConfigWatch } from '../routing/config-watch.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { servesMetrics } from '../settings/exposure.ts';
import type { Config } from '../settings/settings.ts';
import { shownSettings } from '../settings/shown-settings.ts';
import { EndpointStore } from '../store/config/endpoints.ts';
import { ProjectStore } from '../store/config/projects.ts';
import { SourceStore } from '../store/config/sources.ts';
import type { Connection, Database } from '../store/database/database.ts';
import { NEW_JOB } from '../store/database/notify-nodes.ts';
import { databaseTime } from '../store/queue/nodes.ts';
import { addKeyInUse } from '../store/secrets/secret-keys.ts';
import type { Look } from '../store/upkeep/look.ts';
import { migrate, newestMigration } from '../store/upkeep/migrate.ts';
import { ensurePartitions, partitionWidthMs } from '../store/upkeep/partitions.ts';
import { createBrokers, createDestinations } from './create-brokers.ts';
import { createJobs } from './create-jobs.ts';
import { createObservers, type ObserverParts, type OnceObservers } from './create-observers.ts';
import { createPeople, peopleRules } from './create-people.ts';
import { GaugeReader } from './gauge-reader.ts';
import type { OpenDatabase } from './open-database.ts';
import { loadSealer } from './secret-key.ts';
import type { Service } from './services.ts';

/** The primary's side, where this node is one of several processes. See src/processes. */
export interface Shared {
  /** The number of this process, from 1. */
  number: number;
  connection: Connection;
  /** Why not all processes are ready. Null: they are. */
  problem(): string | null;
  metricsOfAll(): Promise<string>;
}

/** The parts that a process has once, however many cells it serves. */
export interface ProcessParts {
  http: HttpClient;
  workload: Workload;
  caPem: string | undefined;
  sandbox: Sandbox;
  bodies: BodyRoom;
  pages(): ReturnType<typeof readBuiltPages>;
  shared: Shared | undefined;
  observers: ObserverParts;
  /** The address is known once the server listens, which is before any request. */
  address: { url: string };
}

/** The place of a node among the cells that its process serves. */
export interface CellPlace {
  /** Null: the database is the only one. */
  name: string | null;
  /** The database of people, their sessions and the instance key. */
  home: Database;
  /** The observers that another node of the process has made. */
  once: OnceObservers | undefined;
  /** Access to a project, or the rights of a person, ended or narrowed: on every node of the process. */
  forgetCallers(id: string): void;
  /** Whether requests are taken. Absent: while the node's own server listens. */
  isOpen?(): boolean;
  /** A call was refused because its project moves. Absent: no project does. */
  projectMoves?(id: string): void;
  cells(own: CellView): ApiContext['cells'];
}

interface NodeOptions {
  config: Config;
  log: Logger;
  parts: ProcessParts;
  database: OpenDatabase;
  place: CellPlace;
  readiness(): Promise<Readiness>;
  /** The metrics page of the process. Absent: that of this node. */
  metricsOfAll?(): Promise<string>;
}

export type Node = Awaited<ReturnType<typeof buildNode>>;

/** A node on one database: everything that stores, delivers and answers, not yet started. */
export async function buildNode(options: NodeOptions) {
  const core = await buildCore(options);
  const intake = buildIntake(options.config, core);
  const { server, renderMetrics } = await buildServer(options, core, intake);
  return { ...core, ...intake, server, renderMetrics, services: servicesOf(options, core, intake) };
}

/** Everything below the intake of the node: what stores, delivers and observes, not yet started. */
async function buildCore({ config, log: rawLog, parts, database: { db }, place }: NodeOptions) {
  const { http, workload, caPem, shared, sandbox, address } = parts;
  await migrate(db, rawLog);
  const databaseClock = await measuredClock(db);
  const { now } = databaseClock;
  const ids = new IdFactory(now, databaseClock);
  const inFlight = new InFlightIds(ids);
  const publicUrl = () => address.url;
  const nodeId = () => engine.nodeId;
  const observers = createObservers(
    config,
    {
      log: rawLog,
      http,
      caPem,
      ids,
      now,
      processNumber: shared?.number,
      cell: place.name,
      nodeId,
      publicUrl,
    },
    { parts: parts.observers, once: place.once },
  );
  const { log, alerts, metaEvents, tracing } = observers;
  const makePartitions = async () => {
    await ensurePartitions(db, now(), partitionWidthMs(config.retentionHours));
  };
  await makePartitions();
  const sealer = await loadSealer(db, config);
  const stores = {
    projects: new ProjectStore(sealer),
    endpoints: new EndpointStore(sealer),
    sources: new SourceStore(sealer),
  };
  const cache = new ConfigCache({
    db,
    ...stores,
    log,
    onChange: (routing, changedIds) => engine.configChanged(routing, changedIds),
  });
  const rules = peopleRules(config);
  const limits = { ...rules, callsPerSecond: config.apiRate, portalCallsPerSecond: config.portalRate };
  const jsonBounds = { depth: config.maxJsonDepth, names: config.maxJsonNames };
  const retentionMs = config.retentionHours * 3_600_000;
  const known = { db, ids, now, sealer, publicUrl, retentionMs, jsonBounds };
  const { forgetCallers, home } = place;
  const authenticator = new Authenticator({ ...known, home, cache, ...limits });
  const informed = { metaEvents, alerts, forgetCallers, log };
  const changes = new ConfigChanges({ ...known, defaults: config.defaults, cache, ...stores, ...informed });
  const people = createPeople({ ...observers, ...known, db: home, rules, forgetCallers });
  const destinations = createDestinations(http, workload, observers.log);
  const engine = new Engine({
    ...observers,
    config,
    changes,
    db,
    cache,
    http,
    messages: destinations,
    sandbox,
    ids,
    inFlight,
    databaseClock,
    makePartitions,
    // This process has the lock on the embedded database's directory.
    isAlone: config.databaseUrl === null && shared === undefined && db === home,
    knows: await newestMigration(),
    sealer,
    tracer: tracing.tracer,
  });
  const node = { ...observers, ...known, inFlight, cache, stores, changes, people, sandbox, engine };
  return { ...node, databaseClock, authenticator, makePartitions, http, workload, destinations };
}

/** The clock of the database, measured before the first id: ids never go back, so one from a fast clock would last. */
async function measuredClock(db: Database): Promise<OffsetClock> {
  const clock = new OffsetClock(systemClock);
  do {
    const [sentAt, sentElapsed] = [systemClock.now(), systemClock.elapsed()];
    clock.measured(await databaseTime(db), sentAt, sentElapsed);
  } while (!clock.isSure());
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
    maxOrderedFanout: config.maxOrderedFanout,
    largeTurns: new Turns(1),
    tracer: tracing.tracer,
  };
  const acceptor = new EventAcceptor(intake);
  const replayer = new EventReplayer(intake);
  const brokers = createBrokers({ ...intake, acceptor, http, changes, ...stores });
  return { acceptor, replayer, brokers, jobs: createJobs({ ...intake, replayer, changes }) };
}

type Intake = ReturnType<typeof buildIntake>;

/** The HTTP server with its routes, not yet listening. */
async function buildServer({ config, parts, place, ...options }: NodeOptions, core: Core, intake: Intake) {
  const { engine, http, db, ids, log, metrics, registry, authenticator, people, tracing } = core;
  const { brokers, jobs } = intake;
  const own = { name: place.name ?? '', db, projects: core.stores.projects, changes: core.changes };
  const context: ApiContext = {
    ...core,
    ...core.stores,
    ...intake,
    cells: place.cells(own),
    tryEndpoint: (trial) => engine.tryEndpoint(trial),
    pull: engine.pull,
    metaEventsStored: (projectId) => engine.metaEventsStored(projectId),
    settings: shownSettings(config),
    sourceAddresses: config.sourceAddresses,
    workload: config.workloadCredentials,
    oidc: new Oidc(config.oidcProviders, people),
    testSource: brokers.testSource,
    fetchToken: (oauth2) => fetchToken(http, oauth2),
    checkUrl: (url) => http.guard.checkUrl(url),
    wake: (projectId, where, dueInMs) => engine.sink.waiting({ projectId, ...where }, dueInMs),
    wakeJobs: () => jobs.wake(),
  };
  const { isOpen } = place;
  const server = await createServer({
    ids,
    log,
    maxBodyBytes: config.maxBodyBytes,
    bodies: parts.bodies,
    jsonBounds: core.jsonBounds,
    trustedProxies: config.trustedProxies,
    ...(isOpen && { isOpen }),
  });
  const { projectMoves } = place;
  if (projectMoves !== undefined)
    server.addHook('onError', (_request, _reply, error, done) => {
      if (error instanceof AppError && error.code === 'project_moving')
        projectMoves(String(error.params['id']));
      done();
    });
  const hasMetrics = servesMetrics(config);
  const renderMetrics = hasMetrics
    ? metricsPage(registry, new GaugeReader({ ...core, brokers: brokers.board }))
    : async () => '';
  const render = options.metricsOfAll ?? renderMetrics;
  await registerRoutes(server, {
    context,
    authenticator,
    pages: parts.pages,
    roles: config.roles,
    more: agentsOf(config),
    readiness: options.readiness,
    metrics,
    tracer: tracing.tracer,
    metricsPage: hasMetrics ? { contentType: registry.contentType, render } : null,
  });
  return { server, renderMetrics };
}

/** From the ground up. The intake is that of the process: see `openIntake`. */
function servicesOf(
  { config, database, place }: NodeOptions,
  core: Core,
  { acceptor, brokers, jobs }: Intake,
): Service[] {
  const { db, cache, log, engine, sealer } = core;
  const notices = {
    onNotice: place.forgetCallers,
    onDue: (payload: string) => engine.onDue(payload),
    onJobs: (payload: string) => (payload === NEW_JOB ? jobs.wake() : engine.beatNow()),
    onLook: (found: Look) => {
      if (found.hasJob) jobs.wake();
      engine.looked(found);
      brokers.runner.looked(found);
    },
  };
  const watch = new ConfigWatch({ db, cache, log, ...notices });
  return [
    { name: 'database', stop: () => database.close() },
    { name: 'destinations', stop: () => core.destinations.close() },
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
    {
      name: 'jobs',
      start: async () => void (config.roles.includes('janitor') && jobs.start()),
      stop: () => jobs.stop(),
    },
    { name: 'intake', stop: () => acceptor.drain() },
  ];
}

/** Takes what brokers have. Calls are taken by the server of the process. */
export function openIntake({ brokers }: Node, { roles }: Config): void {
  if (roles.includes('broker')) brokers.runner.start();
}

/** Calls that wait for deliveries end, so that the server can close. */
export async function closeIntake({ engine, brokers }: Node): Promise<void> {
  await Promise.all([engine.pull.stop(), brokers.runner.stop()]);
}

function metricsPage(registry: MetricsRegistry, gauges: GaugeReader): () => Promise<string> {
  return async () => {
    await gauges.read();
    return registry.metrics();
  };
}
