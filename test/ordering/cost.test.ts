import { expect, onTestFinished, test } from 'vitest';
import { LANE, type LeasedBatch, WAITS_FOR_TURN } from '../../src/domain/delivery.ts';
import { asId, type EndpointId, firstIdAt } from '../../src/domain/ids.ts';
import { back } from '../../src/engine/attempt/sent.ts';
import { groupFinish } from '../../src/engine/batching/regroup.ts';
import { AttemptTemplates } from '../../src/store/attempts/attempt-templates.ts';
import { Database } from '../../src/store/database/database.ts';
import { enterKeys } from '../../src/store/ordering/enter-keys.ts';
import { claimDeliveries } from '../../src/store/queue/claim.ts';
import type { Finish } from '../../src/store/queue/finish.ts';
import { finishDeliveries } from '../../src/store/queue/finish-deliveries.ts';
import { finishRows } from '../../src/store/queue/finish-rows.ts';
import { startTestApp, subscribe } from '../support/app.ts';
import { createTestDatabase } from '../support/database.ts';
import { quietLog } from '../support/quiet-log.ts';
import { leasedDelivery } from '../support/samples/leased-delivery.ts';
import { startDatabaseRelay } from '../support/servers/database-relay.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

/** A claim and an end cost the same, whether ten or 100,000 deliveries wait in the key. */
const database = await shared(createTestDatabase());
const db = database.open();
const time = firstIdAt(Date.now()).slice(0, 10);
const idOf = (n: number) => time + String(n).padStart(16, '0');
const delivery = leasedDelivery({ id: idOf(0), eventId: idOf(0), orderingId: 's:a' });
const finish: Finish = {
  ...back(delivery),
  status: 'Success',
  delayMs: null,
  numTrials: 1,
};

/** The head with number 0 is leased by `n`. */
async function wait(from: number, to: number): Promise<void> {
  const key = `$1 || lpad(n::text, 16, '0')`;
  const rows = 'from generate_series($2::int, $3::int) n';
  const values = [time, from, to];
  await database.query(
    `insert into event_deliveries (id, project_id, event_id, endpoint_id, subscription_id, event_type, status,
       is_at_most_once, is_exponential, interval_seconds, max_retry_seconds, retry_limit, updated_at, ordering_id)
     select ${key}, 'p', ${key}, 'e', 's', 't', 'Scheduled', false, false, 1, 1, 1, now(), 's:a' ${rows}`,
    values,
  );
  await database.query(
    `insert into delivery_queue (delivery_id, event_id, project_id, key, lane, due_at, node_id, ordering_id, place)
     select ${key}, ${key}, 'p', 'e', case n when 0 then 0 else ${LANE.first + WAITS_FOR_TURN} end, now(),
       case n when 0 then 'n' end, 's:a', n ${rows}`,
    values,
  );
  await database.query(
    `insert into ordered_deliveries (project_id, ordering_id, place, delivery_id)
     select 'p', 's:a', n, ${key} ${rows} where n > 0`,
    values,
  );
  await database.query('vacuum (analyze) delivery_queue, ordered_deliveries, event_deliveries');
}

interface Plan {
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  Plans?: Plan[];
}

interface Explained {
  'QUERY PLAN': { Plan: Plan }[];
}

const pagesOf = (plan: Plan): number => (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);

/** The pages that a statement touches. It is undone. */
async function buffers(call: (hot: Database) => Promise<unknown>): Promise<number> {
  let sent: [text: string, values: unknown[]] = ['', []];
  const noted = {
    hot: (_: string, text: string, values: unknown[]) => {
      sent = [text, values];
      return Promise.resolve([]);
    },
  };
  await call(noted as unknown as Database);
  let pages = 0;
  const undo = new Error('undone');
  await db
    .hotTransaction(async (tx) => {
      const [row] = await tx.query<Explained>(`explain (analyze, buffers, format json) ${sent[0]}`, sent[1]);
      const plan = row?.['QUERY PLAN'][0]?.Plan ?? {};
      // The parts of a statement that nothing reads are not counted with the whole.
      pages = [plan, ...(plan.Plans ?? [])].reduce((sum, part) => sum + pagesOf(part), 0);
      throw undo;
    })
    .catch((error: unknown) => expect(error).toBe(undo));
  return pages;
}

const claim = (hot: Database) =>
  claimDeliveries(hot, {
    nodeId: 'n',
    wants: [{ key: asId<EndpointId>('e'), lane: LANE.first, count: 10 }],
    free: 1_000,
  });
const end = (hot: Database) =>
  finishDeliveries(hot, { nodeId: 'n', templates: new AttemptTemplates() }, [finish]);

test('100,000 deliveries that wait in one key cost a claim and an end no more than ten do', async () => {
  await database.query(
    `insert into ordering_keys (project_id, id, subscription_id, endpoint_id, last_place, head_id)
     values ('p', 's:a', 's', 'e', 0, $1)`,
    [idOf(0)],
  );
  await wait(0, 10);
  const few = { claim: await buffers(claim), end: await buffers(end) };
  await wait(11, 100_000);
  const many = { claim: await buffers(claim), end: await buffers(end) };
  // A larger index has a level more.
  expect(few.end).toBeGreaterThan(20);
  expect(many.claim).toBeLessThanOrEqual(few.claim + 10);
  expect(many.end).toBeLessThanOrEqual(few.end * 1.3);
});

test('an ordered delivery takes three round trips: its end, the commit, and the claim of the next', async () => {
  const relay = await startDatabaseRelay();
  onTestFinished(() => relay.close());
  const app = await startTestApp({ POSTHORN_ROLES: 'api' });
  onTestFinished(() => app.stop());
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  const ordering = { key: '$.body.account', on_failure: 'hold' };
  const { endpoint } = await subscribe(app.project, receiver.url, { subscription: { ordering } });
  await app.project.put(`/endpoints/${endpoint.uid}/pause`);
  const count = 10;
  for (let n = 0; n < count; n++)
    await app.project.post('/events/broadcast', { event_type: 'a', data: { account: 'a', n } });
  await app.addNode({ DATABASE_URL: relay.urlOf(app.database.name), POSTHORN_ROLES: 'deliver' });
  relay.slow(40);
  const trips = relay.countTrips('lock-ordering-keys', 'claim-deliveries');
  await app.project.put(`/endpoints/${endpoint.uid}/pause`);
  await receiver.received(count);
  expect(receiver.requests.map(({ json }) => json.n)).toEqual(Array.from({ length: count }, (_, n) => n));
  relay.slow(0);
  // A few for the first claim and the sweeps.
  expect(trips()).toBeLessThanOrEqual(3 * count + 5);
});

test('deliveries take their places, and those of a batch end, in one round trip and the commit', async () => {
  const relay = await startDatabaseRelay();
  onTestFinished(() => relay.close());
  const connection = { connectionString: relay.urlOf(database.name) };
  const far = new Database({ connection, connections: 6, log: quietLog });
  onTestFinished(() => far.close());
  const members = { kind: 'batch', id: idOf(1_000_000), deliveryIds: [delivery.id] };
  const batch = { ...delivery, ...members } as unknown as LeasedBatch;
  const group = groupFinish(batch, { members: [finish], parts: [] }, { delayMs: null });
  const calls = [
    () => enterKeys(far, [delivery]),
    () => finishRows(far, { nodeId: 'n', templates: new AttemptTemplates() }, [group]),
  ];
  relay.slow(40);
  for (const call of calls) {
    await call();
    const trips = relay.countTrips('lock-ordering-keys');
    await call();
    expect(trips()).toBe(2);
  }
});
