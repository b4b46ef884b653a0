import { describe, expect, onTestFinished, test } from 'vitest';
import type { QueueRowKey } from '../../src/domain/delivery-sink.ts';
import { asId } from '../../src/domain/ids.ts';
import { Doubts } from '../../src/engine/queue/doubts.ts';
import { startTestApp, subscribe } from '../support/app.ts';
import { eventually } from '../support/eventually.ts';
import { ManualClock } from '../support/samples/manual-clock.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

/** After a lost answer a node looks for rows that it leases without knowing, and gives those back: those alone. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());

const queueEmpty = () =>
  eventually(() => app.database.query('select delivery_id, node_id from delivery_queue'), { length: 0 });

const queued = async () =>
  (await app.database.query(
    'select project_id as "projectId", delivery_id as id from delivery_queue',
  )) as unknown as QueueRowKey[];

test('rows leased by a node that does not know them are released and sent', async () => {
  const { endpoint } = await subscribe(app.project, `${receiver.url}/unknown`, { eventTypes: ['unknown'] });
  await app.project.put(`/endpoints/${endpoint.uid}/pause`);
  for (let n = 0; n < 5; n++)
    await app.project.post('/events/broadcast', { event_type: 'unknown', data: { n } });
  // As a claim leaves them that was committed and whose answer was lost.
  const { nodeId, sink } = app.app.engine;
  await app.database.query('update delivery_queue set node_id = $1, fence = fence + 1', [nodeId]);
  await app.project.put(`/endpoints/${endpoint.uid}/pause`);
  sink.unsure(await queued());
  await queueEmpty();
  expect(receiver.requests.map(({ json }) => json.n as number).sort((a, b) => a - b)).toEqual([
    0, 1, 2, 3, 4,
  ]);
});

test('a check for unknown rows at any moment frees none that is accepted, claimed, sent or recorded', async () => {
  receiver.requests.length = 0;
  const tried = new Set<string>();
  receiver.answerAlways(({ path, headers }, response) => {
    const id = String(headers['webhook-id']);
    const isAgain = tried.size === tried.add(id).size;
    setTimeout(() => response.writeHead(path === '/retried' && !isAgain ? 500 : 200).end(), 10);
  });
  const retry_config = { type: 'linear', interval_seconds: 1, retry_count: 3 };
  for (const path of ['/plain', '/retried'])
    await subscribe(app.project, `${receiver.url}${path}`, {
      eventTypes: ['busy'],
      subscription: { retry_config },
    });
  const over = new AbortController();
  const looking = (async () => {
    while (!over.signal.aborted) {
      app.app.engine.sink.unsure(await queued());
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
  })();
  for (let n = 0; n < 20; n++)
    await Promise.all(
      Array.from({ length: 20 }, () =>
        app.project.post('/events/broadcast', { event_type: 'busy', data: {} }),
      ),
    );
  await queueEmpty().finally(() => over.abort());
  await looking;
  expect([receiver.at('/plain').length, receiver.at('/retried').length]).toEqual([400, 800]);
  expect(
    await app.database.query('select count(*)::int as stale from delivery_attempts where is_stale'),
  ).toEqual([{ stale: 0 }]);
});

describe('doubts', async () => {
  const NODE = 'a node';
  // A living node, so that the app does not free its rows.
  await app.database.query(
    `insert into nodes (id, roles, beat_at, seal_keys, knows)
     values ($1, '', now() + interval '1 day', '{}', ''), ('another node', '', now() + interval '1 day', '{}', '')`,
    [NODE],
  );
  const known = new Set<string>();
  const doubtsOf = () => {
    const clock = new ManualClock();
    const db = app.database.open();
    return {
      clock,
      doubts: new Doubts({ db, nodeId: NODE, clock, dispatcher: { has: (id) => known.has(id) } }),
    };
  };
  const key = (id: string): QueueRowKey => ({ projectId: asId('p'), id });
  /** Rows due in a day, so that the node of the app does not claim them. */
  const lease = (ids: string, node: string) =>
    app.database.query(
      `insert into delivery_queue (delivery_id, event_id, project_id, key, lane, due_at, node_id)
       select id, 'e', 'p', 'k', 0, now() + interval '1 day', $2 from unnest(string_to_array($1, ' ')) id
       on conflict (project_id, delivery_id) do update set node_id = $2`,
      [ids, node],
    );
  const leasedBy = async (node: string) =>
    (
      await app.database.query('select delivery_id as id from delivery_queue where node_id = $1 order by 1', [
        node,
      ])
    ).map(({ id }) => id);
  const remove = () => app.database.query("delete from delivery_queue where project_id = 'p'");

  test('of known rows release those alone, and those that the node leases', async () => {
    const { doubts } = doubtsOf();
    await lease('known other busy', NODE);
    await lease('foreign', 'another node');
    known.add('busy');
    doubts.add(['known', 'busy', 'foreign', 'ended'].map(key));
    expect(await doubts.release()).toEqual([{ projectId: 'p', key: 'k', lane: 0 }]);
    expect(await leasedBy(NODE)).toEqual(['busy', 'other']);
    expect(await leasedBy('another node')).toEqual(['foreign']);
    known.clear();
    await remove();
  });

  test('last until no statement from then can run, and are looked at every 5 s', async () => {
    const { doubts, clock } = doubtsOf();
    doubts.add([key('late')]);
    const released: number[] = [];
    for (let seconds = 0; seconds < 30; seconds += 1) {
      if (doubts.isDue()) {
        await lease('late', NODE);
        released.push(...(await doubts.release()).map(() => seconds));
      }
      await clock.advance(1_000);
    }
    expect(released).toEqual([0, 5, 10, 15]);
    expect(doubts.isEmpty).toBe(true);
    await remove();
  });

  test('of a lost claim find its rows wherever they are, a bounded number of pages at a time', async () => {
    const { doubts, clock } = doubtsOf();
    // 3,000 pages. A walk reads 2,048 at a time, and pages that earlier tests left may be free or not.
    await app.database.query(
      `insert into delivery_queue (delivery_id, event_id, project_id, key, lane, due_at, node_id)
       select lpad(n::text, 26, '0'), lpad(n::text, 26, '0'), 'p', 'k', 0, now() + interval '1 day',
         case when n in (1, 75000, 150000) then $1 end
       from generate_series(1, 150000) n`,
      [NODE],
    );
    doubts.claimLost();
    const found: number[] = [];
    while (doubts.isDue()) found.push((await doubts.release()).length);
    expect(found).toEqual([2, 1]);
    await clock.advance(12_000);
    expect(doubts.isClaimLost).toBe(true);
    while (doubts.isDue()) expect(await doubts.release()).toEqual([]);
    expect(doubts.isClaimLost).toBe(false);
    await remove();
  });

  test('at the end of a node are all released at once', async () => {
    const { doubts } = doubtsOf();
    doubts.add([key('late')]);
    await doubts.release();
    await lease('late', NODE);
    expect(doubts.isDue()).toBe(false);
    await doubts.releaseAll();
    expect(await leasedBy(NODE)).toEqual([]);
    await remove();
  });
});

/** An app of its own: it has no search of an earlier test under way. It stops, because the counters of a connection are complete when it has ended. */
test('a cancel of deliveries in flight reads no more of a long queue than those deliveries', async () => {
  const WAITING = 200_000;
  const alone = await startTestApp();
  onTestFinished(() => alone.stop());
  const hanging: (() => void)[] = [];
  receiver.answerAlways((_, response) => void hanging.push(() => response.writeHead(200).end()));
  const { endpoint } = await subscribe(alone.project, `${receiver.url}/hanging`, { eventTypes: ['hanging'] });
  // Holds off the search for rows of unknown nodes.
  await alone.database.query('select pg_advisory_lock(7305503)');
  await alone.database.query('alter table delivery_queue set (autovacuum_enabled = off)');
  await alone.database.query(
    `insert into delivery_queue (delivery_id, event_id, project_id, key, lane, due_at)
     select lpad(n::text, 26, '0'), lpad(n::text, 26, '0'), 'another', 'k', 0, now() + interval '1 day'
     from generate_series(1, ${WAITING}) n`,
  );
  await alone.database.query('vacuum analyze delivery_queue');
  const pagesRead = async () => {
    await alone.database.query('select pg_stat_force_next_flush()');
    const [row] = await alone.database.query(
      "select (heap_blks_read + heap_blks_hit)::int as pages from pg_statio_user_tables where relname = 'delivery_queue'",
    );
    return row?.['pages'] as number;
  };
  const before = await pagesRead();
  receiver.requests.length = 0;
  for (let n = 0; n < 5; n++)
    await alone.project.post('/events/broadcast', { event_type: 'hanging', data: {} });
  await receiver.received(5);
  await alone.project.post(`/eventdeliveries/cancel?endpointId=${endpoint.uid}`, undefined, 200);
  await eventually(() => alone.database.query("select 1 from event_deliveries where status = 'Discarded'"), {
    length: 5,
  });
  for (const answer of hanging) answer();
  await eventually(() => alone.database.query('select 1 from delivery_attempts where is_stale'), {
    length: 5,
  });
  await alone.app.stop();
  const [size] = await alone.database.query(
    "select (pg_relation_size('delivery_queue') / 8192)::int as pages",
  );
  expect(size?.['pages']).toBeGreaterThan(4_000);
  expect((await pagesRead()) - before).toBeLessThan(1_000);
});
