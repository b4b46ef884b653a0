import { firstIdAt } from '../../src/domain/ids.ts';
import type { App } from '../../src/start/app.ts';
import { startNode, startTestApp, subscribe, type TestApp } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { Receiver } from '../support/servers/receiver.ts';

/** Two databases with a node each, under the same secret key. */
export class TwoCells {
  readonly app: TestApp;
  readonly target: TestDatabase;
  readonly there: App;
  readonly receiver: Receiver;

  private constructor(app: TestApp, target: TestDatabase, there: App, receiver: Receiver) {
    this.app = app;
    this.target = target;
    this.there = there;
    this.receiver = receiver;
  }

  /** `aheadMs`: how far the clock of the target is ahead. */
  static async start({ aheadMs = 0 } = {}): Promise<TwoCells> {
    const [app, target, receiver] = await Promise.all([
      startTestApp(),
      createTestDatabase(),
      Receiver.start(),
    ]);
    if (aheadMs !== 0) await setClock(target, aheadMs);
    const there = await startNode({ DATABASE_URL: target.url, POSTHORN_DATA_DIR: app.dataDir });
    return new TwoCells(app, target, there, receiver);
  }

  async stop(): Promise<void> {
    await this.there.stop();
    await Promise.all([this.target.stop(), this.app.stop(), this.receiver.stop()]);
  }

  deps(owner = 'test') {
    return { source: this.app.app.db, target: this.there.db, owner };
  }

  move(client: ApiClient) {
    return { projectId: client.projectId, fromCell: 1, toCell: 2 };
  }

  /** The same project at the other node. */
  other(client: ApiClient): ApiClient {
    return new ApiClient(`${this.there.url}/api/v1/projects/${client.projectId}`, client.key);
  }

  /** A project with an endpoint, and one that is paused with deliveries waiting. */
  async project(held = 3): Promise<{ client: ApiClient; paused: Json; path: string }> {
    const client = await this.app.newProject();
    const path = `/${client.projectId}`;
    await subscribe(client, `${this.receiver.url}${path}`, { eventTypes: ['now'] });
    const { endpoint: paused } = await subscribe(client, `${this.receiver.url}${path}`, {
      eventTypes: ['held'],
    });
    await client.put(`/endpoints/${paused.uid}/pause`);
    for (let n = 0; n < held; n += 1)
      await client.post('/events/broadcast', { event_type: 'held', data: { n } });
    return { client, paused, path };
  }

  /** The cells in which a project is open. */
  async openIn(client: ApiClient): Promise<string[]> {
    const open = async (database: TestDatabase) =>
      (
        await database.query(
          'select 1 from projects where id = $1 and deleted_at is null and cell_state is null',
          [client.projectId],
        )
      ).length > 0;
    const cells = [
      { name: 'source', isOpen: await open(this.app.database) },
      { name: 'target', isOpen: await open(this.target) },
    ];
    return cells.filter(({ isOpen }) => isOpen).map(({ name }) => name);
  }
}

/**
 * Every statement of new connections reads a clock that is off: functions of the same names come before those of the system.
 * Defaults of columns read the right one.
 */
export async function setClock(database: TestDatabase, aheadMs: number): Promise<void> {
  await database.query('create schema clock');
  for (const name of ['now', 'clock_timestamp', 'statement_timestamp'])
    await database.query(
      `create function clock.${name}() returns timestamptz language sql volatile as
       $$ select pg_catalog.${name}() + interval '${aheadMs} milliseconds' $$`,
    );
  await database.query(`alter database ${database.name} set search_path = clock, public, pg_catalog`);
  await database.query('set search_path = clock, public, pg_catalog');
}

/** As a node left it whose clock was ahead. Returns its id. */
export async function addFutureRow(
  database: TestDatabase,
  projectId: string,
  aheadMs: number,
): Promise<string> {
  const id = firstIdAt(Date.now() + aheadMs);
  await database.query(
    `insert into audit_entries select (jsonb_populate_record(a, jsonb_build_object('id', $2::text))).*
     from audit_entries a where project_id = $1 limit 1`,
    [projectId, id],
  );
  return id;
}
