import { beforeAll, describe, expect, test } from 'vitest';
import { Batch } from '../../src/domain/config/batch.ts';
import { BATCH_LANE, type LeasedBatch } from '../../src/domain/delivery.ts';
import { asId, type EndpointId, firstIdAt } from '../../src/domain/ids.ts';
import { back } from '../../src/engine/attempt/sent.ts';
import { groupFinish } from '../../src/engine/batching/regroup.ts';
import { usualOf } from '../../src/platform/json/schema-marks.ts';
import { AttemptTemplates } from '../../src/store/attempts/attempt-templates.ts';
import { formBatches } from '../../src/store/batching/form-batches.ts';
import { lookAtCollected } from '../../src/store/batching/look-at-collected.ts';
import { measureBatch, takeBatch } from '../../src/store/batching/take-batch.ts';
import type { Database } from '../../src/store/database/database.ts';
import { enterKeys } from '../../src/store/ordering/enter-keys.ts';
import { leavePlaces, releaseHeads } from '../../src/store/ordering/member-places.ts';
import { lockKeys } from '../../src/store/ordering/release-next.ts';
import { acceptEvents } from '../../src/store/queue/accept-events.ts';
import { claimDeliveries, claimMetaEvents, claimRows } from '../../src/store/queue/claim.ts';
import type { Finish } from '../../src/store/queue/finish.ts';
import { finishDeliveries } from '../../src/store/queue/finish-deliveries.ts';
import { finishMetaEvents } from '../../src/store/queue/finish-meta-events.ts';
import { finishRows } from '../../src/store/queue/finish-rows.ts';
import type { NewDelivery } from '../../src/store/queue/insert-deliveries.ts';
import { freeInPages, leasedInPages } from '../../src/store/queue/nodes.ts';
import {
  dueRows,
  handOutDeliveries,
  putBackDeliveries,
  takeForConsumer,
} from '../../src/store/queue/pull-deliveries.ts';
import { markStarted, releaseRows } from '../../src/store/queue/release-rows.ts';
import { createTestDatabase } from '../support/database.ts';
import { leasedDelivery } from '../support/samples/leased-delivery.ts';
import { shared } from '../support/shared.ts';

/**
 * The generic plans of the hot statements, on tables in every state that statistics can be in: a plan made while a
 * partition is young is kept for as long as nothing is analysed, so it must be right for a full one too. Each row is to
 * be looked up by the whole key; only claims read along their own index.
 */
const KEYS: Record<string, string[]> = {
  events: ['project_id', 'id'],
  event_deliveries: ['project_id', 'id'],
  delivery_attempts: ['project_id', 'delivery_id', 'id'],
  delivery_queue: ['project_id', 'delivery_id'],
  ordering_keys: ['project_id', 'id'],
  ordered_deliveries: ['project_id', 'ordering_id'],
};
const CLAIM_KEY = ['key', 'lane'];

const database = await shared(createTestDatabase());
const db = database.open();

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Cond'?: string;
  Plans?: Plan[];
}

const nodes = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];

const finish: Finish = {
  ...back(leasedDelivery()),
  status: 'Success',
  delayMs: null,
  numTrials: 1,
  latencyMs: 1,
};
const want = { key: asId<EndpointId>('e'), lane: 0, count: 10 };
const leased = leasedDelivery();
const templates = new AttemptTemplates();
const ordered = { ...leased, orderingId: 's:a' };
const newDelivery: NewDelivery = {
  ...ordered,
  isUngated: true,
  leased: true,
  dueAtMs: null,
  expiresAtMs: null,
};
const collected = {
  key: 'e',
  batch: usualOf(Batch.properties),
  seen: null,
  batchIds: ['b'],
  hasUnplaced: false,
};
const batch = { ...leased, kind: 'batch', deliveryIds: [leased.id] } as unknown as LeasedBatch;
const ofBatch = (delayMs: number | null) => groupFinish(batch, { members: [], parts: [] }, { delayMs });
/** The last statement of a transaction. */
const inTransaction = (hot: Database) =>
  ({
    hotTransaction: (work: (tx: Database) => Promise<unknown>) => work(hot),
  }) as unknown as Database;
/** Each statement finds a row. */
const held = (hot: Database) =>
  ({
    hot: async (...sent: Parameters<Database['hot']>) => [{}, ...(await hot.hot(...sent))],
  }) as unknown as Database;

const statements: [string, (hot: Database) => Promise<unknown>][] = [
  ['accept', (hot) => acceptEvents(hot, { events: [], deliveries: [], expansions: [], nodeId: 'n' })],
  [
    'accept in order',
    (hot) => acceptEvents(hot, { events: [], deliveries: [newDelivery], expansions: [], nodeId: 'n' }),
  ],
  ['lock of ordering keys', (hot) => lockKeys(hot, [ordered])],
  ['leave of places', (hot) => leavePlaces(hot, { nodeId: 'n', deliveries: [ordered] })],
  ['release of heads', (hot) => releaseHeads(hot, [ordered])],
  ['entry into ordering keys', (hot) => enterKeys(inTransaction(hot), [ordered])],
  [
    'finish in order',
    (hot) => finishDeliveries(hot, { nodeId: 'n', templates }, [{ ...finish, delivery: ordered }], ''),
  ],
  ['claim', (hot) => claimDeliveries(hot, { nodeId: 'n', wants: [want], free: 1_000 })],
  ['claim of meta events', (hot) => claimMetaEvents(hot, { nodeId: 'n', wants: [want], free: 1_000 })],
  ['finish', (hot) => finishDeliveries(hot, { nodeId: 'n', templates }, [finish], '')],
  [
    'finish again',
    (hot) => finishDeliveries(hot, { nodeId: 'n', templates }, [finish], 'on conflict do nothing'),
  ],
  ['finish of meta events', (hot) => finishMetaEvents(hot, 'n', [finish])],
  ['release', (hot) => releaseRows(hot, 'n', [leased])],
  ['release of rows in doubt', (hot) => releaseRows(hot, 'n', [leased])],
  ['mark started', (hot) => markStarted(hot, 'n', leased)],
  ['take for a consumer', (hot) => takeForConsumer(hot, { wants: [want], max: 10, maxBytes: 100 })],
  [
    'hand out',
    (hot) => handOutDeliveries(hot, { leaseSeconds: 30, rows: [{ ...leased, headers: '{}', body: null }] }),
  ],
  ['put back', (hot) => putBackDeliveries(hot, [leased])],
  ['look for due rows', (hot) => dueRows(hot, [{ key: 'e', lane: 0, most: 1 }])],
  ['look at collected rows', (hot) => lookAtCollected(hot, [collected])],
  ['form batches', (hot) => formBatches(hot, 'n', [collected])],
  [
    'claim of batches',
    (hot) => claimRows(hot, { nodeId: 'n', wants: [{ ...want, lane: BATCH_LANE.formed }], free: 1_000 }),
  ],
  ['take a batch', (hot) => takeBatch(Object.assign(hot, { query: () => [] }) as never, 'n', batch, true)],
  ['measure a batch', (hot) => measureBatch(hot, batch)],
  ['hold of a batch', (hot) => finishRows(inTransaction(hot), { nodeId: 'n', templates }, [ofBatch(null)])],
  [
    'end of a batch',
    (hot) => finishRows(inTransaction(held(hot)), { nodeId: 'n', templates }, [ofBatch(null)]),
  ],
  [
    'retry of a batch',
    (hot) => finishRows(inTransaction(held(hot)), { nodeId: 'n', templates }, [ofBatch(1)]),
  ],
  ['result of a consumer', (hot) => finishDeliveries(hot, { nodeId: null, templates }, [finish], '')],
];

/** Statements about the holder of rows, which no index has. They read a range of pages. */
const walks: [string, (db: Database) => Promise<unknown>][] = [
  ['a search for rows of this node', (all) => leasedInPages(all, 'n', 0)],
  ['a search for rows of silent nodes', (all) => freeInPages(all, 10, 0)],
];

/** The scans of the queue in the last statement of a call, with its values. */
async function queueScans(call: (db: Database) => Promise<unknown>): Promise<string[]> {
  let last: [text: string, values?: unknown[]] = [''];
  const noted = {
    query: (...sent: typeof last) => {
      last = sent;
      return Promise.resolve([]);
    },
  };
  await call(noted as unknown as Database);
  const [text, values] = last;
  const [row] = await db.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(`explain (format json) ${text}`, values);
  return (row?.['QUERY PLAN'] ?? [])
    .flatMap(({ Plan }) => nodes(Plan))
    .filter((node) => node['Relation Name'] === 'delivery_queue' && node['Node Type'].includes('Scan'))
    .map((node) => node['Node Type']);
}

/** The text that a call sends to the hot pool, explained there. */
async function explained(call: (hot: Database) => Promise<unknown>): Promise<Plan[]> {
  let text = '';
  const hot = {
    hot: (_: string, sent: string) => {
      text = sent;
      return Promise.resolve([]);
    },
  };
  await call(hot as unknown as Database);
  const [row] = await db.hotTransaction((tx) =>
    tx.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(`explain (generic_plan, format json) ${text}`),
  );
  return (row?.['QUERY PLAN'] ?? []).flatMap(({ Plan }) => nodes(Plan));
}

/** The scans of the four tables in a plan that do not use the key. */
function scansOf(plan: Plan[]): string[] {
  return plan.flatMap((node) => {
    const relation = node['Relation Name'];
    if (relation === undefined || !node['Node Type'].includes('Scan')) return [];
    const columns = KEYS[relation.replace(/_\d{10}$/, '')];
    if (columns === undefined) return [];
    const condition = node['Index Cond'] ?? '';
    const has = (names: string[]) => names.every((name) => new RegExp(`\\b${name} = `).test(condition));
    const isLookup = has(columns) || (relation === 'delivery_queue' && has(CLAIM_KEY));
    return node['Node Type'].startsWith('Index') && isLookup
      ? []
      : [`${node['Node Type']} on ${relation}: ${condition}`];
  });
}

const id = firstIdAt(Date.now()).slice(0, 10);
const FILLED =
  'events, event_deliveries, delivery_attempts, delivery_queue, meta_events, ordering_keys, ordered_deliveries';

async function fill(rows: number, projects: number): Promise<void> {
  const parameters = [id, rows, projects];
  const key = `$1 || lpad(n::text, 16, '0')`;
  const project = `'p' || n % $3::int`;
  const from = 'from generate_series(1, $2::int) n';
  await database.query(
    `insert into events (id, project_id, event_type, status, is_duplicate, endpoints, payload, acknowledged_at)
     select ${key}, ${project}, 't', 'Success', false, '{}', '', now() ${from}`,
    parameters,
  );
  await database.query(
    `insert into event_deliveries (id, project_id, event_id, endpoint_id, event_type, status, is_at_most_once, is_exponential,
       interval_seconds, max_retry_seconds, retry_limit, updated_at)
     select ${key}, ${project}, ${key}, 'e', 't', 'Scheduled', false, false, 1, 1, 1, now() ${from}`,
    parameters,
  );
  await database.query(
    `insert into delivery_queue (delivery_id, event_id, project_id, key, lane, due_at)
     select ${key}, ${key}, ${project}, 'e', 0, now() ${from}`,
    parameters,
  );
  await database.query(
    `insert into ordering_keys (project_id, id, subscription_id, endpoint_id, last_place, head_id)
     select ${project}, 's:' || n, 's', 'e', 1, ${key} ${from}`,
    parameters,
  );
  await database.query(
    `insert into ordered_deliveries (project_id, ordering_id, place, delivery_id)
     select ${project}, 's:1', n, ${key} ${from}`,
    parameters,
  );
}

const empty = () =>
  database.query(
    `delete from events; delete from event_deliveries; delete from delivery_queue; delete from ordering_keys;
     delete from ordered_deliveries`,
  );

/** Each leads on from the one before it. */
const states: [string, () => Promise<unknown>][] = [
  ['new', async () => {}],
  ['empty and analysed', () => database.query(`analyze ${FILLED}`)],
  ['filled since', () => fill(5_000, 1)],
  ['filled by one project and analysed', () => database.query(`analyze ${FILLED}`)],
  [
    'emptied and vacuumed',
    async () => {
      await empty();
      await database.query(`vacuum (analyze, truncate off) ${FILLED}`);
    },
  ],
  [
    'nearly empty',
    async () => {
      await fill(1, 1);
      await database.query(`vacuum (analyze, truncate off) ${FILLED}`);
    },
  ],
  [
    'filled by many projects and analysed',
    async () => {
      await empty();
      await fill(20_000, 500);
      await database.query(`vacuum (analyze) ${FILLED}`);
    },
  ],
];

describe.each(states)('tables that are %s', (_, prepare) => {
  beforeAll(async () => {
    await prepare();
  });

  test.each(statements)('%s finds its rows by the key', async (_name, call) => {
    const plan = await explained(call);
    expect(plan.length).toBeGreaterThan(1);
    expect(scansOf(plan)).toEqual([]);
  });
});

describe.each(['not analysed', 'analysed'])(
  'a queue of more pages than a walk reads at once, %s',
  (state) => {
    beforeAll(async () => {
      // Long rows, so that some thousand pages need few of them.
      await database.query(
        `insert into delivery_queue (delivery_id, event_id, project_id, key, lane, due_at, pulled_headers)
       select 'long ' || $1 || n, 'e', 'p', 'e', 0, now(), repeat('x', 1900) from generate_series(1, 10000) n`,
        [state],
      );
      if (state === 'analysed') await database.query('vacuum (analyze) delivery_queue');
    });

    test.each(walks)('%s reads its pages only', async (_name, call) => {
      expect(await queueScans(call)).toEqual(['Tid Range Scan']);
    });
  },
);
