import { expect } from 'vitest';
import { SECRET_KEY, startTestApp, type TestApp } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { Program } from '../support/program.ts';
import type { TestMessage } from './broker-driver.ts';

/** Brokers take seconds to share out their queues, and the machine may be busy. */
export const PATIENCE_MS = 180_000;

/** The fields of a source that has such settings: of a database, or `pub_sub`. */
export function fieldsOf(settings: object): object {
  if (!('connection_url' in settings)) return { type: 'pub_sub', pub_sub: settings };
  return { type: 'db_change_stream', db_change_stream: settings };
}

/** A node in a process of its own, on the database of an app that reads no broker. */
export const startBrokerNode = (app: TestApp): Program =>
  new Program({
    args: ['serve'],
    env: {
      DATABASE_URL: app.database.url,
      POSTHORN_SECRET_KEY: SECRET_KEY,
      POSTHORN_PORT: '0',
      POSTHORN_EGRESS: 'any',
      POSTHORN_ROLES: 'broker,deliver',
    },
  });

/** A project with sources of brokers, on the app of a test file. */
export class BrokerScene {
  readonly app: TestApp;
  readonly project: ApiClient;
  readonly projectId: string;

  private constructor(app: TestApp, project: ApiClient, projectId: string) {
    this.app = app;
    this.project = project;
    this.projectId = projectId;
  }

  static async on(app: TestApp): Promise<BrokerScene> {
    const made = await app.instance.post('/projects', { name: `p ${Math.random()}`, type: 'outgoing' });
    const id = made.project.uid as string;
    return new BrokerScene(app, new ApiClient(`${app.url}/api/v1/projects/${id}`, made.api_key.key), id);
  }

  source(settings: object, fields: object = {}): Promise<Json> {
    return this.project.post('/sources', { name: 'broker', ...fieldsOf(settings), ...fields });
  }

  /** The result of the test of its connection. */
  tested(source: Json): Promise<Json> {
    return this.project.post(`/sources/${source.uid}/test_connection`, undefined, 200);
  }

  /**
   * The events of a source, in the order of acceptance: by transaction, and by id within one. Ids alone are in
   * that order as far as the clocks of several nodes agree.
   */
  async stored(source: Json): Promise<StoredEvent[]> {
    const rows = await this.app.database.query(
      `select id, event_type, status, failure_reason, headers, payload, is_duplicate from events
       where source_id = $1 order by xmin::text::bigint, id`,
      [source.uid],
    );
    return rows as unknown as StoredEvent[];
  }

  async numbers(source: Json): Promise<number[]> {
    return (await this.stored(source)).map(({ payload }) => {
      const data = JSON.parse(payload.toString()) as { n: number; after?: { n: number } };
      return (data.after ?? data).n;
    });
  }

  async count(source: Json): Promise<number> {
    const [row] = await this.app.database.query(
      'select count(*)::int as count from events where source_id = $1',
      [source.uid],
    );
    return row?.['count'] as number;
  }

  async waitFor(source: Json, count: number): Promise<void> {
    await eventually(() => this.count(source), atLeast(count), PATIENCE_MS);
    expect(await this.count(source)).toBe(count);
  }

  /** The status is written each second, so the state may be there before the rest. */
  status(source: Json, state: string, isWhole: (status: Json) => boolean = () => true): Promise<Json> {
    const read = async () => (await this.project.get(`/sources/${source.uid}`)).status as Json;
    return eventually(read, (status) => status.state === state && isWhole(status), PATIENCE_MS);
  }
}

export interface StoredEvent {
  id: string;
  event_type: string;
  status: string;
  failure_reason: string | null;
  headers: string;
  payload: Buffer;
  is_duplicate: boolean;
}

export const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, n) => from + n);

export const BROADCAST = { 'x-convoy-message-type': 'broadcast' };

/** A message that makes an event with this number. */
export const numbered = (n: number, data: object = {}): TestMessage => ({
  body: JSON.stringify({ event_type: 'broker.test', data: { n, ...data } }),
  headers: BROADCAST,
});

export const numberedFrom = (from: number, to: number): TestMessage[] =>
  range(from, to).map((n) => numbered(n));

export const startScene = (env: Record<string, string> = {}): Promise<TestApp> =>
  startTestApp({ POSTHORN_GRACE: '5', ...env });
