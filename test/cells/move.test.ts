import { expect, test } from 'vitest';
import { moveProject } from '../../src/cells/move/move-project.ts';
import { BATCH_LANE } from '../../src/domain/delivery.ts';
import { resultOf } from '../pull/consumer.ts';
import { startNode, startTestApp } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';
import { everything } from './everything.ts';
import { fillEmpty, type Rows, rowsOf } from './rows.ts';

const app = await shared(startTestApp());
const target = await shared(createTestDatabase());
const receiver = await shared(Receiver.start());

/** Columns that a move changes, and what it makes of them. */
function expected(before: Rows): Rows {
  const rows = structuredClone(before);
  for (const row of rows['projects'] ?? [])
    Object.assign(row, { version: Number(row['version']) + 3, cell_epoch: 1 });
  for (const row of rows['delivery_queue'] ?? [])
    if (row['pulled_at'] === null) row['fence'] = Number(row['fence']) + 1;
  for (const row of rows['rate_leases'] ?? []) row['node_id'] = null;
  return rows;
}

/** Both databases are on one server, so ages shift by its error alone. */
const AGES: Record<string, string[]> = {
  delivery_queue: ['due_at'],
  rate_leases: ['quiet_since'],
  endpoint_breakers: ['changed_at', 'probe_until'],
  intake_windows: ['times'],
};

function withoutAges(rows: Rows): Rows {
  for (const [table, names] of Object.entries(AGES))
    for (const row of rows[table] ?? [])
      for (const name of names)
        if (table !== 'delivery_queue' || isAge(Number(row['lane']))) delete row[name];
  return rows;
}

const isAge = (lane: number): boolean => lane % 2 === 1 || lane === BATCH_LANE.formed;

test('a project moves with everything in it, and goes on in the target as if nothing had been', async () => {
  const made = await everything(app, receiver);
  const { project, endpoint, subscription, source, link, pulled } = made;
  const id = project.projectId;
  const lists = ['/events?perPage=100', '/eventdeliveries?perPage=100', '/endpoints', '/audit?perPage=100'];
  const shownBefore = await Promise.all(lists.map((path) => project.get(path)));
  await app.app.stop();
  const known = { endpoint_id: endpoint.uid, subscription_id: subscription.uid, source_id: source.uid };
  const filled = await fillEmpty(app.database, id, { ...known, portal_link_id: link.uid });
  const before = await rowsOf(app.database, id);
  for (const [table, rows] of Object.entries(before)) expect(rows.length, table).toBeGreaterThan(0);

  const wanted = { projectId: id, fromCell: 1, toCell: 2 };
  await moveProject({ source: app.database.open(), target: target.open(), owner: 'test' }, wanted);
  const after = await rowsOf(target, id);
  expect(withoutAges(after)).toEqual(withoutAges(expected(before)));

  const left = await rowsOf(app.database, id);
  expect(left['projects']).toMatchObject([{ cell_state: 'moved', cell_epoch: 1 }]);
  for (const table of ['delivery_queue', 'change_stream_slots', 'jobs', 'endpoints'])
    expect(left[table], table).toEqual([]);

  // Rows that no program wrote are no use to one.
  for (const table of filled) await target.query(`delete from ${table}`);
  receiver.answerAlways(200);
  const node = await startNode({ DATABASE_URL: target.url, POSTHORN_DATA_DIR: app.dataDir });
  try {
    const there = new ApiClient(`${node.url}/api/v1/projects/${id}`, project.key);
    const [events, deliveries, endpoints, audit] = await Promise.all(lists.map((path) => there.get(path)));
    const uids = ({ content }: Json) => content.map(({ uid }: Json) => uid);
    expect([events, endpoints, audit].map(uids)).toEqual(
      [shownBefore[0], shownBefore[2], shownBefore[3]].map(uids),
    );
    expect(uids(deliveries)).toEqual(uids(shownBefore[1]));
    const results = { results: [resultOf(pulled.delivery)] };
    const { results: said } = await there.post(
      `/endpoints/${pulled.endpoint.uid}/pull/results`,
      results,
      200,
    );
    expect(JSON.stringify(said)).toContain('recorded');
    await there.post('/eventdeliveries/sendnow?eventType=failing', undefined, 200);
    await eventually(() => there.get('/eventdeliveries?eventType=failing&status=Success'), {
      content: { length: 3 },
    });
    const again = await there.post('/events/broadcast', {
      event_type: 'ok',
      data: {},
      idempotency_key: 'key 1',
    });
    expect(again.is_duplicate_event).toBe(true);
    expect(again.uid > events.content[0].uid).toBe(true);
  } finally {
    await node.stop();
  }
});
