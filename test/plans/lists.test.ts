import { beforeAll, describe, expect, test } from 'vitest';
import { firstIdAt } from '../../src/domain/ids.ts';
import type { PageRequest } from '../../src/domain/pagination.ts';
import { addUpCounts } from '../../src/store/counts/add-up-counts.ts';
import { endpointStandings } from '../../src/store/counts/endpoint-standings.ts';
import { endpointCounts } from '../../src/store/counts/read-counts.ts';
import type { Queryable } from '../../src/store/database/database.ts';
import {
  type DeliveryFilter,
  listDeliveries,
  sampleDeliveriesByGate,
} from '../../src/store/history/event-deliveries.ts';
import { type EventFilter, listEvents } from '../../src/store/history/events.ts';
import {
  hasMoreOpen,
  keysWithRetries,
  lastFailures,
  sampleFailures,
} from '../../src/store/history/failure-groups.ts';
import { searchPayloads } from '../../src/store/history/search-payloads.ts';
import { removeLeftovers } from '../../src/store/upkeep/remove-leftovers.ts';
import { startTestApp } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { shared } from '../support/shared.ts';

/**
 * Lists over 250,000 deliveries of one project: every statement is explained as it runs, before and after the
 * tables are analysed, since statistics must not change the way it is served.
 */
const DELIVERIES = 250_000;
const OPEN = 5_000;
const ENDPOINTS = 50;

const app = await shared(startTestApp({ POSTHORN_ROLES: 'api' }));
const db = app.database.open();
const time = firstIdAt(Date.now() - 60_000).slice(0, 10);
const id = (letter: string, n: number) => `${time}${letter}${String(n).padStart(15, '0')}`;

beforeAll(async () => {
  await fill();
});

/** An event for every ten deliveries. The youngest deliveries are open, each thousandth of the others has failed. */
async function fill(): Promise<void> {
  const { database, projectId } = app;
  await database.query(
    `insert into events (id, project_id, event_type, status, is_duplicate, endpoints, payload, acknowledged_at,
       idempotency_key, headers)
     select $1 || 'E' || lpad(n::text, 15, '0'), $2, 'type.' || n % 20, 'Success', false, array['e' || n % $3],
       convert_to('{"n":' || n || '}', 'UTF8'), now(), 'key-' || n, '{"a":["b"]}'
     from generate_series(1, $4::int) n`,
    [time, projectId, ENDPOINTS, DELIVERIES / 10],
  );
  await database.query(
    `insert into event_keys (project_id, key, event_id)
     select project_id, idempotency_key, id from events where project_id = $1`,
    [projectId],
  );
  await database.query(
    `insert into event_deliveries (id, project_id, event_id, endpoint_id, subscription_id, event_type, status,
       is_at_most_once, is_exponential, interval_seconds, max_retry_seconds, retry_limit, updated_at)
     select $1 || 'F' || lpad(n::text, 15, '0'), $2, $1 || 'E' || lpad((1 + n / 10)::text, 15, '0'), 'e' || n % $3,
       's' || n % $3, 'type.' || n % 20,
       case when n > $4 - $5 then 'Scheduled' when n % 1000 = 0 then 'Failure' else 'Success' end,
       false, false, 60, 7200, 3, now()
     from generate_series(0, $4::int - 1) n`,
    [time, projectId, ENDPOINTS, DELIVERIES, OPEN],
  );
  await database.query(
    `insert into delivery_queue (delivery_id, event_id, project_id, key, lane, due_at)
     select id, event_id, project_id, endpoint_id, 0, now() + interval '1 day' from event_deliveries
     where id > $1`,
    [id('F', DELIVERIES - OPEN)],
  );
}

/** The random sample of an analysis may miss what is rare. So that each run has the same plans, this one always does. */
async function analyse(): Promise<void> {
  const rare = `event_deliveries where project_id = $1 and status = $2`;
  const failed = await app.database.query(`select id from ${rare}`, [app.projectId, 'Failure']);
  const become = (status: string) =>
    app.database.query('update event_deliveries set status = $1 where id = any($2)', [
      status,
      failed.map(({ id: failure }) => failure),
    ]);
  await become('Success');
  await app.database.query('analyze events, event_deliveries, delivery_queue, event_keys');
  await become('Failure');
}

interface Plan {
  'Node Type': string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
}

const nodes = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];

/** Runs every statement twice: explained, and for its answer. */
function explaining(tx: Queryable, plans: Plan[]): Queryable {
  return {
    query: async (text, values) => {
      const [row] = await tx.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
        `explain (analyze, timing off, format json) ${text}`,
        values,
      );
      plans.push((row?.['QUERY PLAN'] ?? []).map(({ Plan }) => Plan)[0] as Plan);
      return tx.query(text, values);
    },
  };
}

async function explained(list: (tx: Queryable) => Promise<{ rows: unknown[] }>) {
  const plans: Plan[] = [];
  const { rows } = await db.reading(app.projectId, (tx) => list(explaining(tx, plans)));
  return { rows: rows.length, ...read(plans) };
}

/** The kinds of steps of some plans, and the rows that they read. */
function read(plans: readonly Plan[]) {
  const all = plans.flatMap(nodes);
  const scans = all.filter((node) => node['Node Type'].includes('Scan'));
  const touched = scans.reduce(
    (sum, node) => sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
    0,
  );
  return { types: new Set(all.map((node) => node['Node Type'])), touched };
}

const page: PageRequest = { perPage: 20, direction: 'next', cursor: null, order: 'DESC' };
const middle = id('F', DELIVERIES / 2);
/** The rows that a page of twenty may read if an index serves the whole filter: the page, its rows, its events. */
const FEW = 500;
/** Where conditions are tested on the way, here at most every thousandth row fits. */
const WALK = 50_000;

const gates = {
  nowMs: Date.now(),
  isMoving: false,
  pending: [],
  paused: [],
  pulled: [],
  breakers: {},
  limitedEndpoints: [],
  limitedSubscriptions: [],
  batched: [],
};

const deliveryLists: [string, DeliveryFilter & { page?: Partial<PageRequest> }, number][] = [
  ['everything', {}, FEW],
  ['from a cursor', { page: { cursor: middle } }, FEW],
  ['back from a cursor', { page: { cursor: middle, direction: 'prev' } }, FEW],
  ['oldest first', { page: { order: 'ASC' } }, FEW],
  ['dates', { fromMs: Date.now() - 3_600_000, toMs: Date.now() }, FEW],
  ['one endpoint', { endpointIds: ['e7'] }, FEW],
  ['three endpoints', { endpointIds: ['e1', 'e2', 'e3'] }, FEW],
  ['an endpoint that has none', { endpointIds: ['none'] }, FEW],
  ['an event', { eventId: id('E', 500) }, FEW],
  ['a subscription and its endpoint', { subscriptionId: 's7', endpointIds: ['e7'] }, FEW],
  ['an idempotency key', { idempotencyKey: 'key-777' }, FEW],
  ['open ones', { statuses: ['Scheduled', 'Retry'] }, FEW],
  ['a state that none is in', { statuses: ['Retry'] }, 4 * OPEN],
  ['open ones of an endpoint', { statuses: ['Scheduled'], endpointIds: ['e3'] }, 2 * OPEN],
  ['successful ones', { statuses: ['Success'] }, 2 * OPEN],
  ['failed ones', { statuses: ['Failure'] }, WALK],
  ['failed ones of an endpoint', { statuses: ['Failure'], endpointIds: ['e0'] }, WALK],
  ['an event type', { eventType: 'type.3' }, 2_000],
  ['an id', { text: id('F', 777).toLowerCase() }, FEW],
  ['the id of an event', { text: id('E', 500) }, FEW],
  ['part of a type', { text: 'PE.7' }, 2_000],
  ['what holds them', { gates: { names: ['node'], sets: gates } }, FEW],
  ['a gate that holds none', { gates: { names: ['paused', 'rate_limit'], sets: gates } }, 4 * OPEN],
];

const eventLists: [string, EventFilter & { page?: Partial<PageRequest> }, number][] = [
  ['everything', {}, FEW],
  ['from a cursor', { page: { cursor: id('E', 5_000) } }, FEW],
  ['dates', { fromMs: Date.now() - 3_600_000, toMs: Date.now() }, FEW],
  ['an idempotency key', { idempotencyKey: 'key-777' }, FEW],
  ['an id', { text: id('E', 777).toLowerCase() }, FEW],
  ['part of a type', { text: 'PE.7' }, 2_000],
  ['an endpoint', { endpointIds: ['e7'] }, 2_000],
  ['first of their keys', { withoutDuplicates: true }, FEW],
];

for (const state of ['before', 'after']) {
  describe(`${state} the tables are analysed`, () => {
    beforeAll(async () => {
      if (state === 'after') await analyse();
    });

    test.each(deliveryLists)('deliveries by %s are read by index', async (_, filter, most) => {
      const wanted = { ...filter, page: { ...page, ...filter.page } };
      const list = await explained((tx) => listDeliveries(tx, app.projectId, wanted));
      for (const type of ['Seq Scan', 'Bitmap Heap Scan', 'Aggregate', 'Hash Join', 'Merge Join'])
        expect(list.types).not.toContain(type);
      expect(list.touched).toBeLessThan(most);
    });

    test.each(eventLists)('events by %s are read by index', async (_, filter, most) => {
      const wanted = { ...filter, page: { ...page, ...filter.page } };
      const list = await explained((tx) => listEvents(tx, app.projectId, wanted));
      for (const type of ['Seq Scan', 'Bitmap Heap Scan', 'Aggregate', 'Hash Join'])
        expect(list.types).not.toContain(type);
      expect(list.touched).toBeLessThan(most);
    });

    test('a payload search reads by index, a bounded run at a time', async () => {
      const search = {
        filter: {},
        page: { ...page, perPage: 1 },
        patterns: [{ n: DELIVERIES / 10 - 1_500 }],
        limitMs: 20_000,
      };
      const list = await explained((tx) => searchPayloads(tx, app.projectId, search));
      expect(list.types).not.toContain('Seq Scan');
      expect(list.rows).toBe(1);
    });
  });
}

test('counts of endpoints read their totals and the last minutes, and outlive the retention', async () => {
  const ids: string[] = await Promise.all(
    [1, 2, 3].map(
      async () => (await app.project.post('/endpoints', { name: 'e', url: 'http://127.0.0.1:1' })).uid,
    ),
  );
  const count = (from: number, to: number) =>
    app.database.query(
      `insert into recent_counts (project_id, endpoint_id, minute, first_attempts, attempts, failed_attempts)
       select $4, id, date_trunc('minute', now()) - n * interval '1 minute', 2, 2, 1
       from unnest($1::text[]) id, generate_series($2::int, $3::int) n`,
      [ids, from, to, app.projectId],
    );
  await count(1, 10_000);
  const counted = (tx: Queryable, minutes: number) => endpointCounts(tx, app.projectId, { ids, minutes });
  const deliveries = async () => [...(await counted(db, 5)).values()].map((one) => one.deliveries);
  const { signal } = new AbortController();
  expect(await deliveries()).toEqual([20_000, 20_000, 20_000]);
  await addUpCounts(db, signal);
  await addUpCounts(db, signal);
  // The node of this test may add some up at the same time.
  await eventually(() => app.database.query('select from recent_counts'), { length: 0 });
  expect(await deliveries()).toEqual([20_000, 20_000, 20_000]);
  await removeLeftovers(db, { retentionMs: Date.now() - 86_400_000, configMs: 0 }, signal);
  await count(0, 0);
  expect(await deliveries()).toEqual([20_002, 20_002, 20_002]);
  await addUpCounts(db, signal);
  expect(await deliveries()).toEqual([20_002, 20_002, 20_002]);
  // The attempts are those of the last minutes, whatever is in the total.
  const [one] = (await counted(db, 60)).values();
  expect([59, 60, 61]).toContain(one?.successes);
  expect(one?.failures).toBe(one?.successes);
  await app.database.query('vacuum analyze traffic, recent_counts, endpoint_totals');
  const plans: Plan[] = [];
  await db.transaction((tx) => counted(explaining(tx, plans), 5));
  // The last minutes, and the total.
  expect(read(plans).touched).toBeLessThan(ids.length * 50);
});

describe('300,000 deliveries that wait for a retry', () => {
  let client: ApiClient;
  let endpointIds: string[];

  beforeAll(async () => {
    client = await app.newProject();
    const add = async () => (await client.post('/endpoints', { name: 'e', url: 'http://127.0.0.1:1' })).uid;
    endpointIds = [await add(), await add(), await add()];
    // The second endpoint has few, and they are the oldest.
    await app.database.query(
      `insert into event_deliveries (id, project_id, event_id, endpoint_id, subscription_id, event_type, status,
         is_at_most_once, is_exponential, interval_seconds, max_retry_seconds, retry_limit, num_trials, last_outcome, description, updated_at)
       select $1 || 'G' || lpad(n::text, 15, '0'), $2, $1, ($3::text[])[case when n <= 100 then 2 else 1 end], 's', 'type', 'Retry',
         false, false, 60, 7200, 3, 1, case when n <= 100 then 'http_500' when n % 10 = 0 then 'timeout' else 'http_503' end, 'reason', now()
       from generate_series(1, 300000) n`,
      [time, client.projectId, endpointIds],
    );
    await app.database.query(
      `insert into delivery_queue (delivery_id, event_id, project_id, key, lane, due_at)
       select id, event_id, project_id, endpoint_id, 1, now() + random() * interval '1 hour'
       from event_deliveries where project_id = $1`,
      [client.projectId],
    );
  });

  const causes = async (query = '') => {
    const { groups, complete } = await client.get(`/failures${query}`);
    const causesOf = groups.map(({ endpoint_id, outcome, at_least }: Json) => [
      endpointIds.indexOf(endpoint_id),
      outcome,
      at_least,
    ]);
    return { groups, causes: causesOf, complete };
  };

  test('are grouped by a part of each endpoint, and the answer says so', async () => {
    const found = await causes();
    expect(found.causes).toEqual([
      [0, 'http_503', true],
      [0, 'timeout', true],
      [1, 'http_500', false],
    ]);
    expect(found.complete).toBe(false);
    const [many, some, few] = found.groups;
    expect(many.retrying + some.retrying).toBe(10_000);
    expect(few).toMatchObject({ count: 100, retrying: 100, failed: 0, description: 'reason' });
    // An endpoint with few is counted whole.
    const narrow = await causes(`?endpointId=${endpointIds[1]}`);
    expect([narrow.causes, narrow.complete]).toEqual([[[1, 'http_500', false]], true]);
    expect(narrow.groups[0].count).toBe(100);
    expect(await causes(`?endpointId=${endpointIds[2]}`)).toEqual({ groups: [], causes: [], complete: true });
  });

  test('are read by index, as many as the answer may count', async () => {
    for (const state of ['before', 'after']) {
      if (state === 'after') await app.database.query('analyze event_deliveries, delivery_queue');
      const plans: Plan[] = [];
      await db.reading(client.projectId, async (tx) => {
        const explain = explaining(tx, plans);
        expect(await hasMoreOpen(explain, client.projectId, 20_000)).toBe(true);
        const keys = await keysWithRetries(explain, endpointIds);
        expect(keys).toEqual(endpointIds.slice(0, 2));
        await sampleFailures(explain, client.projectId, { filter: {}, keys, most: 10_000 });
      });
      const { types, touched } = read(plans);
      expect(types).not.toContain('Seq Scan');
      // 20,001 to see that there are many. Then 10,100, in each of five steps.
      expect(touched).toBeLessThan(20_100 + 5 * 10_200);
    }
  });

  const NO_GATES = {
    nowMs: Date.now(),
    isMoving: false,
    pending: [],
    paused: [],
    pulled: [],
    breakers: {},
    limitedEndpoints: [],
    limitedSubscriptions: [],
    batched: [],
  };

  test('are counted up to a bound by the health of endpoints, and the answer says so', async () => {
    const { endpoints, complete } = await client.get('/health');
    const found = endpoints.map((one: Json) => [
      endpointIds.indexOf(one.endpoint_id),
      one.open,
      one.last_failure?.description,
    ]);
    expect([found, complete]).toEqual([
      [
        [0, 16_666, 'reason'],
        [1, 100, 'reason'],
        [2, 0, undefined],
      ],
      false,
    ]);
    const waiting = async (query = '') => {
      const { node, retry, complete: isWhole } = await client.get(`/eventdeliveries/waitingtotals?${query}`);
      return [node, retry, isWhole];
    };
    expect(await waiting()).toEqual([16_766, 0, false]);
    expect(await waiting(`endpointId=${endpointIds[1]}`)).toEqual([100, 0, false]);
    expect(await waiting('eventType=none')).toEqual([0, 0, false]);
    const plans: Plan[] = [];
    await db.reading(client.projectId, async (tx) => {
      const explain = explaining(tx, plans);
      await sampleDeliveriesByGate(explain, client.projectId, {
        sets: NO_GATES,
        keys: endpointIds,
        most: 1_000,
      });
      await lastFailures(explain, client.projectId, { endpointIds, fromMs: 0, among: 200 });
      await endpointStandings(explain, client.projectId, endpointIds);
    });
    const { types, touched } = read(plans);
    expect(types).not.toContain('Seq Scan');
    // 1,100 in each of five steps, and at most 200 for the last failure of an endpoint.
    expect(touched).toBeLessThan(5 * 1_200 + 3 * 1_000);
  });
});

test('a search that times out says how to narrow it', async () => {
  const search = { filter: {}, page, patterns: [{ n: 'nowhere' }], limitMs: 1 };
  await expect(
    db.reading(app.projectId, (tx) => searchPayloads(tx, app.projectId, search)),
  ).rejects.toMatchObject({
    code: 'search_timeout',
    status: 504,
    message: expect.stringContaining('Narrow'),
  });
  await expect(db.reading(app.projectId, (tx) => tx.query('select pg_sleep(6)'))).rejects.toMatchObject({
    code: 'search_timeout',
  });
});
