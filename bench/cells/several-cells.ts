import { once } from 'node:events';
import { createServer } from 'node:net';
import pg from 'pg';
import { pino } from 'pino';
import { addCell } from '../../src/cells/add-cell.ts';
import { Sealer } from '../../src/platform/sealer.ts';
import { Database } from '../../src/store/database/database.ts';
import { SECRET_KEY, Service } from '../service.ts';
import type { Stage } from '../stage.ts';
import { CellServer } from './cell-server.ts';

/** A service with several cells, and a project in each. The first cell is the home. */
export interface SeveralCells {
  service: Service;
  /** In order of the cells. */
  tenants: Service[];
  /** Each once. */
  servers: CellServer[];
  /** A connection of the bench to each cell. */
  databases: pg.Client[];
  /** A further node, with the settings and the data directory of the first. */
  addNode(): Promise<Service>;
  stop(): Promise<void>;
}

/** `servers`: one for all cells, or as many as cells. */
export async function startCells(
  stage: Stage,
  { cells, servers: count, tenants: perCell = 1 }: { cells: number; servers: number; tenants?: number },
): Promise<SeveralCells> {
  const servers: CellServer[] = [];
  for (let n = 0; n < count; n += 1) servers.push(await CellServer.start());
  const urls: string[] = [];
  for (let n = 0; n < cells; n += 1) urls.push(await (servers[n % count] as CellServer).createDatabase());
  const [databaseUrl, ...others] = urls as [string, ...string[]];
  const dataDir = await stage.newDirectory();
  const nodes: Service[] = [];
  const addNode = async () => {
    // The home may be away.
    const lookAt = urls[1] ?? databaseUrl;
    const node = await Service.start({ databaseUrl, dataDir, lookAt, port: await freePort() });
    nodes.push(node);
    return node;
  };
  // The first start makes the instance, the next one serves its cells.
  await (await addNode()).stop();
  for (const [n, url] of others.entries()) await add({ home: databaseUrl, name: String(n + 2), url });
  const service = await addNode();
  const tenants: Service[] = [];
  for (let n = 0; n < cells * perCell; n += 1) {
    const cell = cells === 1 ? undefined : String((n % cells) + 1);
    tenants.push(await service.newTenant(`tenant ${n}`, {}, cell));
  }
  const databases: pg.Client[] = [];
  for (const url of urls) databases.push(await connect(url));
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    await Promise.all(databases.map((db) => db.end().catch(() => {})));
    await Promise.all(servers.map((server) => server.stop()));
  };
  return { service, tenants, servers, databases, addNode, stop };
}

async function connect(url: string): Promise<pg.Client> {
  const db = new pg.Client(url);
  // Its server may be killed.
  db.on('error', () => {});
  await db.connect();
  await db.query('create extension if not exists pg_stat_statements');
  return db;
}

async function add({ home, name, url }: { home: string; name: string; url: string }): Promise<void> {
  const log = pino({ level: 'silent' });
  const open = (connectionString: string) =>
    new Database({ connection: { connectionString }, connections: 4, log });
  const databases = { home: open(home), target: open(url) };
  try {
    await addCell({ ...databases, sealer: new Sealer([Buffer.from(SECRET_KEY)]), log }, { name, url });
  } finally {
    await Promise.all(Object.values(databases).map((db) => db.close()));
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
