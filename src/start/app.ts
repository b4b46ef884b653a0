import type { FastifyInstance } from 'fastify';
import { databasePart, partProblem } from '../api/operator/health.ts';
import { readBuiltPages } from '../api/pages/built-pages.ts';
import { BodyRoom } from '../api/server/body-room.ts';
import { MachineWorkload } from '../brokers/machine-workload.ts';
import type { ConfigChanges } from '../control/config-changes.ts';
import { HttpClient } from '../dispatch/client/http-client.ts';
import { DATABASE_FAULTS } from '../domain/errors.ts';
import type { Engine } from '../engine/engine.ts';
import type { EventAcceptor } from '../ingest/accept-event.ts';
import { collectProcessMetrics } from '../metrics/process-metrics.ts';
import type { PeopleDeps } from '../people/people-deps.ts';
import type { Logger } from '../platform/logger.ts';
import { StartupError } from '../platform/startup-error.ts';
import { Sandbox } from '../sandbox/sandbox.ts';
import { egressRule, servesMetrics } from '../settings/exposure.ts';
import type { Config } from '../settings/settings.ts';
import type { Database } from '../store/database/database.ts';
import { faultOf, reasonOf } from '../store/database/pg-errors.ts';
import type { OldPrimaryAccepted } from '../store/database/servers/servers.ts';
import { type ObserverParts, observerParts } from './create-observers.ts';
import { firstStart } from './first-start.ts';
import { knownCells } from './known-cells.ts';
import { buildNode, closeIntake, type Node, openIntake, type ProcessParts, type Shared } from './node.ts';
import { notYetConnected, type OpenDatabase, openDatabase, readAuthorities } from './open-database.ts';
import { refuseTakenPort } from './refuse-taken-port.ts';
import { Cells, type CellsDeps } from './served-cells.ts';
import { type Service, Services } from './services.ts';
import type { Running } from './stop-in-time.ts';

/** A connection for each place in the window: then a project that has its share of the places has no more of these. */
const LEAST_CONNECTIONS = 1_000;
const MAX_CONNECTIONS = 10_000;
const MIN_FLUSH_MS = 500;
const MAX_FLUSH_MS = 5_000;

/** The composition root: it makes the parts of the process and its node, from the ground up, and starts them. */
export interface App extends Running {
  db: Database;
  engine: Engine;
  acceptor: EventAcceptor;
  changes: ConfigChanges;
  people: PeopleDeps;
  /** The metrics page of this process alone. */
  metrics(): Promise<string>;
  /** Resolves when an old primary of one of its databases was accepted. Then it has to begin again. */
  oldPrimaryAccepted: Promise<OldPrimaryAccepted>;
  /** `stopBy`: the end of the grace, by `performance.now()`. */
  stop(stopBy?: number): Promise<void>;
}

export async function startApp(
  config: Config,
  log: Logger,
  shared?: Shared,
  observers: ObserverParts = observerParts,
): Promise<App> {
  if (shared === undefined) await refuseTakenPort(config);
  const parts = await createParts(config, shared, observers);
  const database =
    shared === undefined ? await openDatabase(config, log) : notYetConnected(shared.connection, config, log);
  try {
    const rows = await knownCells(database.db, config);
    return await (rows.length > 1
      ? startCells({ config, log, parts, database, rows })
      : startNode(config, log, parts, database));
  } catch (error) {
    await database.close();
    const fault = faultOf(error);
    if (fault === null) throw error;
    throw new StartupError(
      `the start failed, because the database ${DATABASE_FAULTS[fault]}: ${reasonOf(error)}`,
      { cause: error },
    );
  }
}

async function createParts(
  config: Config,
  shared: Shared | undefined,
  observers: ObserverParts,
): Promise<ProcessParts> {
  const caPem = await readAuthorities(config.caFile, 'POSTHORN_CA_FILE');
  let pages: ReturnType<typeof readBuiltPages> | undefined;
  const http = createHttpClient(config, caPem);
  const secureContext = () => http.secureContext();
  return {
    http,
    workload: new MachineWorkload({ allowed: config.workloadCredentials, env: config.cloud, secureContext }),
    caPem,
    sandbox: new Sandbox(),
    bodies: new BodyRoom(config.maxBodyBytes),
    pages: () => (pages === undefined ? (pages = readBuiltPages()) : pages),
    shared,
    observers,
    address: { url: config.publicUrl },
  };
}

/** One node on the only database. */
async function startNode(
  config: Config,
  log: Logger,
  parts: ProcessParts,
  database: OpenDatabase,
): Promise<App> {
  const { shared, address } = parts;
  const { db } = database;
  let isReady = false;
  const node: Node = await buildNode({
    config,
    log,
    parts,
    database,
    place: {
      name: null,
      home: db,
      once: undefined,
      forgetCallers: (id) => node.authenticator.forget(id),
      cells: (own) => ({ all: () => [own], away: () => [], forNew: async () => own }),
    },
    readiness: async () => {
      const part = await databasePart('database', db);
      const problem = isReady ? (shared?.problem() ?? partProblem(part)) : 'still starting';
      return { problem, parts: [part] };
    },
    ...(shared !== undefined && { metricsOfAll: shared.metricsOfAll }),
  });
  if (servesMetrics(config)) collectProcessMetrics(node.registry);
  return serve(config, parts, {
    node,
    log: node.log,
    server: node.server,
    services: [...processServices(parts, node), ...node.services],
    open: () => openIntake(node, config),
    close: () => closeIntake(node),
    firstStart: () => firstStart(node.changes, { url: address.url, dataDir: config.dataDir }),
    ready: (is) => (isReady = is),
    nodes: () => [node],
    metrics: node.renderMetrics,
    oldPrimaryAccepted: db.oldPrimaryAccepted(),
  });
}

/** A node for each cell, behind one server. */
async function startCells(deps: CellsDeps): Promise<App> {
  const { config, parts, log } = deps;
  const cells = new Cells(deps);
  try {
    await cells.start();
  } catch (error) {
    await cells.stop();
    throw error;
  }
  const server = await cells.openServer();
  const all: Service = { name: 'cells', stop: (stopBy) => cells.stop(stopBy) };
  const keeper = cells.keepMoves();
  const moves: Service = { name: 'moves of projects', stop: () => keeper.stop() };
  const own: Service = { name: 'database server', stop: () => deps.database.close() };
  return serve(config, parts, {
    node: cells.first,
    log,
    server,
    services: [own, ...processServices(parts, cells.first), all, moves],
    open: () => undefined,
    close: () => cells.closeIntake(),
    firstStart: async () => null,
    ready: (is) => (cells.problem = is ? null : 'stopping'),
    nodes: () => cells.nodes(),
    metrics: () => cells.metrics(),
    oldPrimaryAccepted: cells.oldPrimaryAccepted(),
  });
}

interface Served extends Pick<App, 'metrics' | 'oldPrimaryAccepted'> {
  /** The only one, or that of the home. */
  node: Node;
  nodes(): Node[];
  log: Logger;
  server: FastifyInstance;
  /** From the ground up. The intake comes last. */
  services: readonly Service[];
  open(): void;
  close(): Promise<void>;
  firstStart(): Promise<App['credentials']>;
  ready(is: boolean): void;
}

/** Starts the services, and takes requests. */
async function serve(config: Config, { address }: ProcessParts, served: Served): Promise<App> {
  const { node, server, log, metrics, oldPrimaryAccepted } = served;
  const intake: Service = {
    name: 'intake',
    start: async () => {
      served.open();
      const url = await server.listen({ host: config.host, port: config.port });
      address.url ||= url;
    },
    stop: async (stopBy) => {
      await Promise.all([served.close(), closeServer(server, stopBy)]);
    },
  };
  const services = new Services([...served.services, intake], { log, graceMs: config.graceSeconds * 1_000 });
  const stop = (stopBy?: number) => {
    served.ready(false);
    return services.stop(stopBy);
  };
  await services.start();
  const credentials = await served.firstStart().catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  served.ready(true);
  const nodes = served.nodes().map(({ engine }) => engine.nodeId);
  const { db, engine, acceptor, changes, people } = node;
  const parts = { db, engine, acceptor, changes, people };
  return { ...parts, url: address.url, credentials, nodes, metrics, oldPrimaryAccepted, stop };
}

/** From the ground up. `node` has the observers. */
function processServices({ sandbox, http }: ProcessParts, { guard, channels, tracing }: Node): Service[] {
  return [
    { name: 'sandbox', stop: () => sandbox.close() },
    { name: 'http client', stop: () => http.close() },
    { name: 'observer guard', stop: async () => guard.stop() },
    { name: 'alerts', stop: () => channels.stop() },
    { name: 'tracing', stop: (stopBy) => tracing.stop(flushMs(stopBy)) },
  ];
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
