import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '../../src/platform/logger.ts';
import { readConfig } from '../../src/settings/settings.ts';
import { type App, startApp } from '../../src/start/app.ts';
import type { ObserverParts } from '../../src/start/create-observers.ts';
import { ApiClient, type Json } from './client.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { quietLog } from './quiet-log.ts';

/** The real service in this process, on its own database. */
export interface TestApp {
  app: App;
  url: string;
  database: TestDatabase;
  dataDir: string;
  projectId: string;
  /** Calls in the default project, with its key. */
  project: ApiClient;
  /** Calls anywhere, with the instance key. */
  instance: ApiClient;
  /** Calls in a new project with these settings, with its key. */
  newProject(config?: object): Promise<ApiClient>;
  /** A further node on the same database. */
  addNode(env?: Record<string, string>): Promise<App>;
  stop(): Promise<void>;
}

export const SECRET_KEY = 'a secret key for tests only, 32+ characters';

/** A node in this process, on the database of `env`. */
export function startNode(
  env: Record<string, string>,
  log: Logger = quietLog,
  parts?: ObserverParts,
): Promise<App> {
  const config = readConfig({
    POSTHORN_SECRET_KEY: SECRET_KEY,
    POSTHORN_PORT: '0',
    POSTHORN_EGRESS: 'any',
    // Few tests want a second try after 5 s. Those say so, and those of the defaults say `standard`.
    POSTHORN_DEFAULTS: 'convoy',
    // Tests walk over every operation faster than a person.
    POSTHORN_PORTAL_RATE: '0',
    // A busy machine does not meet the limit by accident.
    POSTHORN_SEARCH_SECONDS: '60',
    ...env,
  });
  return startApp(config, log, undefined, parts);
}

export async function startTestApp(
  env: Record<string, string> = {},
  log: Logger = quietLog,
  parts?: ObserverParts,
): Promise<TestApp> {
  const database = await createTestDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'posthorn-app-'));
  const nodes: App[] = [];
  const addNode = async (extra: Record<string, string> = {}) => {
    const own = { DATABASE_URL: database.url, POSTHORN_DATA_DIR: dataDir };
    const node = await startNode({ ...own, ...env, ...extra }, log, parts);
    nodes.push(node);
    return node;
  };
  const app = await addNode();
  const credentials = JSON.parse(await readFile(join(dataDir, 'credentials.json'), 'utf8')) as Json;
  const instance = new ApiClient(`${app.url}/api/v1`, credentials.instance_key);
  const inProject = (id: string, key: string) => new ApiClient(`${app.url}/api/v1/projects/${id}`, key);
  return {
    app,
    url: app.url,
    database,
    dataDir,
    projectId: credentials.project_id,
    project: inProject(credentials.project_id, credentials.api_key),
    instance,
    newProject: async (config = {}) => {
      const made = await instance.post('/projects', { name: randomUUID(), type: 'outgoing', config });
      return inProject(made.project.uid, made.api_key.key);
    },
    addNode,
    stop: async () => {
      await Promise.all(nodes.map((node) => node.stop()));
      await database.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** An endpoint at a URL, subscribed to event types. */
export async function subscribe(
  client: ApiClient,
  url: string,
  options: { eventTypes?: string[]; endpoint?: object; subscription?: object } = {},
): Promise<{ endpoint: Json; subscription: Json }> {
  const endpoint = await client.post('/endpoints', { name: 'endpoint', url, ...options.endpoint });
  const subscription = await client.post('/subscriptions', {
    name: 'subscription',
    endpoint_id: endpoint.uid,
    filter_config: { event_types: options.eventTypes ?? ['*'] },
    ...options.subscription,
  });
  return { endpoint, subscription };
}

/** A source of incoming webhooks that are not verified. */
export const httpSource = (client: ApiClient, fields: object = {}): Promise<Json> =>
  client.post('/sources', { name: 'source', type: 'http', verifier: { type: 'noop' }, ...fields });

/** Calls in the portal of a customer, by a new link. */
export async function portalOf(client: ApiClient, owner_id: string, rights: object = {}): Promise<ApiClient> {
  const { token } = await client.post('/portal-links', { name: 'link', owner_id, ...rights });
  return new ApiClient(`${new URL(client.base).origin}/portal-api`, token);
}
