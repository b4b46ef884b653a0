import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addCell } from '../../src/cells/add-cell.ts';
import { Sealer } from '../../src/platform/sealer.ts';
import type { App } from '../../src/start/app.ts';
import { SECRET_KEY, startNode, startTestApp, type TestApp } from '../support/app.ts';
import { ApiClient } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { quietLog } from '../support/quiet-log.ts';
import { type DatabaseRelay, startDatabaseRelay } from '../support/servers/database-relay.ts';

/** A service with two cells, `1` (the home) and `2`, on two databases of the test server. */
export interface TwoCells {
  home: TestApp;
  second: TestDatabase;
  /** A node that serves both. */
  node: App;
  /** Calls with the instance key, at that node. */
  instance: ApiClient;
  /** A new project in a cell, with calls at that node. */
  projectIn(cell: string, name?: string): Promise<ApiClient>;
  /** A further node. */
  addNode(env?: Record<string, string>): Promise<App>;
  /** The ways of the nodes to the databases. */
  relays: { home: DatabaseRelay; second: DatabaseRelay };
  stop(): Promise<void>;
}

export async function startTwoCells(env: Record<string, string> = {}): Promise<TwoCells> {
  const home = await startTestApp(env);
  const second = await createTestDatabase();
  const relays = { home: await startDatabaseRelay(), second: await startDatabaseRelay() };
  await addSecond(home.database, { database: second, url: relays.second.urlOf(second.name) });
  // A node of before the cells does not serve them.
  await home.app.stop();
  const dataDir = await mkdtemp(join(tmpdir(), 'posthorn-cells-'));
  const nodes: App[] = [];
  const addNode = async (extra: Record<string, string> = {}) => {
    const own = { DATABASE_URL: relays.home.urlOf(home.database.name), POSTHORN_DATA_DIR: dataDir };
    const node = await startNode({ ...own, ...env, ...extra });
    nodes.push(node);
    return node;
  };
  const node = await addNode();
  const instance = new ApiClient(`${node.url}/api/v1`, home.instance.key);
  let made = 0;
  return {
    home,
    second,
    node,
    instance,
    projectIn: async (cell, name = `project ${(made += 1)}`) => {
      const { project, api_key } = await instance.post('/projects', { name, type: 'outgoing', cell });
      return new ApiClient(`${node.url}/api/v1/projects/${project.uid}`, api_key.key);
    },
    addNode,
    relays,
    stop: async () => {
      await Promise.all(nodes.map((one) => one.stop()));
      await home.stop();
      relays.home.close();
      relays.second.close();
      await second.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function addSecond(
  home: TestDatabase,
  { database, url }: { database: TestDatabase; url: string },
): Promise<void> {
  const sealer = new Sealer([Buffer.from(SECRET_KEY)]);
  const databases = { home: home.open(), target: database.open() };
  await addCell({ ...databases, sealer, log: quietLog }, { name: '2', url });
}
