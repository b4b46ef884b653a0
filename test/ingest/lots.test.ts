import { expect, test } from 'vitest';
import type { DeliverySink } from '../../src/domain/delivery-sink.ts';
import { IdFactory, type ProjectId, type SourceId } from '../../src/domain/ids.ts';
import { InFlightIds } from '../../src/domain/in-flight-ids.ts';
import { acceptLot, type LotIntake } from '../../src/ingest/accept-lot.ts';
import { DeliveryPlaces } from '../../src/ingest/delivery-places.ts';
import { IntakeLimits } from '../../src/ingest/intake-limits.ts';
import type { Lot, LotAnswer, LotMessage } from '../../src/ingest/lot.ts';
import type { NewEvent } from '../../src/ingest/new-event.ts';
import { prepareEvent } from '../../src/ingest/prepare-event.ts';
import { type EventResult, EventStore, isFault, type PreparedGroup } from '../../src/ingest/store-events.ts';
import { WaitingRoom } from '../../src/ingest/waiting-room.ts';
import { AcceptedCounts } from '../../src/metrics/accepted-counts.ts';
import { createMetrics } from '../../src/metrics/metrics.ts';
import { Sealer } from '../../src/platform/sealer.ts';
import { Turns } from '../../src/platform/turns.ts';
import { ConfigCache } from '../../src/routing/config-cache.ts';
import type { App } from '../../src/start/app.ts';
import { EndpointStore } from '../../src/store/config/endpoints.ts';
import { ProjectStore } from '../../src/store/config/projects.ts';
import { SourceStore } from '../../src/store/config/sources.ts';
import { startTestApp, subscribe } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { holdKey } from '../support/held-key.ts';
import { quietLog } from '../support/quiet-log.ts';
import { manySubscriptions } from '../support/samples/many-subscriptions.ts';
import { type DatabaseRelay, startDatabaseRelay } from '../support/servers/database-relay.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

/** Lots of brokers through the one intake, without a broker: what is stored, what is dropped, what may be acknowledged. */
const app = await shared(startTestApp({ POSTHORN_MAX_ORDERED_FANOUT: '1200' }));
const receiver = await shared(Receiver.start());

const second: App = await app.addNode();

interface Scene {
  project: ApiClient;
  projectId: ProjectId;
  source: Json;
}

/** Disabled, so that no node tries to reach a broker. */
async function scene(source: object = {}, given?: ApiClient): Promise<Scene> {
  const project = given ?? (await app.newProject());
  const projectId = project.projectId as ProjectId;
  const created = await project.post('/sources', {
    name: 'lots',
    type: 'pub_sub',
    is_disabled: true,
    pub_sub: { type: 'kafka', workers: 1, kafka: { brokers: ['127.0.0.1:1'], topic_name: 't' } },
    ...source,
  });
  return { project, projectId, source: created };
}

const position = (n: number) => String(n).padStart(19, '0');

function message({ projectId, source }: Scene, n: number, change: Partial<NewEvent> = {}): LotMessage {
  const event: NewEvent = {
    projectId,
    target: { kind: 'broadcast' },
    eventType: 'lot',
    payload: Buffer.from(JSON.stringify({ n })),
    contentType: null,
    headers: {},
    forwardedHeaders: null,
    credentials: [],
    trace: null,
    hops: 0,
    functionFailure: null,
    idempotencyKey: null,
    sourceId: source.uid as SourceId,
    appId: null,
    acknowledgedAtMs: null,
    urlQueryParams: null,
    urlPath: null,
    metadata: null,
    ...change,
  };
  return {
    key: position(n),
    event,
    refused: (reason) => ({
      ...event,
      eventType: 'broker.unreadable',
      headers: {},
      metadata: null,
      functionFailure: reason,
    }),
  };
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);

function lot(of: Scene, messages: LotMessage[], change: Partial<Lot> = {}): Lot {
  const { projectId, source } = of;
  return {
    projectId,
    sourceId: source.uid as SourceId,
    stream: 'topic/0',
    order: 'ordered',
    messages,
    ...change,
  };
}

const ordered = (of: Scene, from: number, to: number) =>
  lot(
    of,
    range(from, to).map((n) => message(of, n)),
  );

const accept = (given: Lot, node: App = app.app): Promise<LotAnswer> => node.acceptor.acceptLot(given);

const payloads = async ({ projectId }: Scene): Promise<number[]> => {
  const rows = await app.database.query(
    `select convert_from(payload, 'UTF8')::json ->> 'n' as n from events where project_id = $1 order by id`,
    [projectId],
  );
  return rows.map(({ n }) => Number(n));
};

// differs Brokers: A repeat writes nothing. In Convoy it is a second event.
test('a lot is stored once, in its order, and delivered; a repeat of it writes nothing', async () => {
  const of = await scene();
  await subscribe(of.project, receiver.url);
  expect(await accept(ordered(of, 0, 50))).toEqual({ done: 50, stored: 50, repeats: 0, error: null });
  expect(await accept(ordered(of, 0, 50))).toEqual({ done: 50, stored: 0, repeats: 50, error: null });
  expect(await accept(ordered(of, 40, 60), second)).toEqual({
    done: 20,
    stored: 10,
    repeats: 10,
    error: null,
  });
  expect(await payloads(of)).toEqual(range(0, 60));
  const open = () => app.database.query('select 1 from delivery_queue where project_id = $1', [of.projectId]);
  await eventually(open, { length: 0 });
  const [{ sent }] = (await app.database.query(
    "select count(*)::int as sent from event_deliveries where project_id = $1 and status = 'Success'",
    [of.projectId],
  )) as [{ sent: number }];
  expect(sent).toBe(60);
});

test('streams are kept apart: another partition, another topic of the same name, another source', async () => {
  const of = await scene();
  const other = await scene();
  for (const stream of ['topic/0', 'topic/1', 'new topic/0'])
    expect(await accept({ ...ordered(of, 0, 5), stream })).toMatchObject({ stored: 5, repeats: 0 });
  expect(await accept(ordered(other, 0, 5))).toMatchObject({ stored: 5, repeats: 0 });
});

test('two nodes with the same lot at the same time store it once', async () => {
  const of = await scene();
  const both = range(0, 8).flatMap((n) => [
    accept({ ...ordered(of, 0, 30), stream: `p/${n % 4}` }),
    accept({ ...ordered(of, 0, 30), stream: `p/${n % 4}` }, second),
  ]);
  const answers = await Promise.all(both);
  expect(answers.every(({ done, error }) => done === 30 && error === null)).toBe(true);
  expect(answers.reduce((sum, { stored }) => sum + stored, 0)).toBe(4 * 30);
  expect(await payloads(of)).toHaveLength(4 * 30);
});

test('a message without an order is a repeat if its key was stored before', async () => {
  const of = await scene();
  const keyed = (...numbers: number[]) =>
    lot(
      of,
      numbers.map((n) => message(of, n)),
      { stream: 'queue', order: { keepMs: 60_000 } },
    );
  expect(await accept(keyed(3, 1, 2, 1))).toEqual({ done: 4, stored: 3, repeats: 1, error: null });
  expect(await accept(keyed(2, 0, 3), second)).toEqual({ done: 3, stored: 1, repeats: 2, error: null });
  expect((await payloads(of)).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3]);
});

test('what is over the limit of the source is handed back, and what is before it may be acknowledged', async () => {
  const of = await scene({ rate_limit: 30, rate_limit_duration: 600 });
  const first = await accept(ordered(of, 0, 50));
  expect(first).toMatchObject({ done: 30, stored: 30, error: { code: 'rate_limited' } });
  expect(await accept(ordered(of, 30, 50))).toMatchObject({
    done: 0,
    stored: 0,
    error: { code: 'rate_limited' },
  });
  await of.project.put(`/sources/${of.source.uid}`, { rate_limit: 0 });
  expect(await accept(ordered(of, 30, 50))).toMatchObject({ done: 20, stored: 20, error: null });
  expect(await payloads(of)).toEqual(range(0, 50));
});

test('a message that the database refuses is stored as unreadable in its place, the others as they are', async () => {
  // A refused message counts once against the limit.
  const of = await scene({ rate_limit: 21, rate_limit_duration: 600 });
  const messages = range(0, 21).map((n) => message(of, n, n % 10 === 3 ? { metadata: 'no\u0000text' } : {}));
  expect(await accept(lot(of, messages))).toEqual({ done: 21, stored: 21, repeats: 0, error: null });
  const rows = await app.database.query(
    'select event_type, status, failure_reason from events where project_id = $1 order by id',
    [of.projectId],
  );
  expect(await payloads(of)).toEqual(range(0, 21));
  const bad = rows.filter(({ event_type }) => event_type === 'broker.unreadable');
  expect(bad).toHaveLength(2);
  expect(bad[0]).toMatchObject({
    status: 'Failure',
    failure_reason: 'The message holds text that cannot be stored.',
  });
});

test('a poisoned lot does not fail the lots and events that share its batch', async () => {
  const [of, other] = [await scene(), await scene()];
  const poisoned = lot(of, [message(of, 0), message(of, 1, { metadata: '\u0000' })]);
  const [bad, good, event] = await Promise.all([
    accept(poisoned),
    accept(ordered(other, 0, 5)),
    other.project.post('/events/broadcast', { event_type: 'single', data: {} }),
  ]);
  expect(bad).toMatchObject({ done: 2, stored: 2, error: null });
  expect(good).toMatchObject({ done: 5, stored: 5, error: null });
  expect(event.event_type).toBe('single');
});

test('a duplicate by idempotency key is stored as one, and is done', async () => {
  const of = await scene();
  const messages = range(0, 3).map((n) => message(of, n, { idempotencyKey: 'same' }));
  expect(await accept(lot(of, messages))).toEqual({ done: 3, stored: 3, repeats: 0, error: null });
  const rows = await app.database.query('select is_duplicate from events where project_id = $1 order by id', [
    of.projectId,
  ]);
  expect(rows.map(({ is_duplicate }) => is_duplicate)).toEqual([false, true, true]);
});

test('config that moves on while a lot is stored is taken into account', async () => {
  const of = await scene();
  await accept(ordered(of, 0, 1), second);
  // The second node may not know the subscription when it matches.
  await subscribe(of.project, receiver.url);
  expect(await accept(ordered(of, 1, 20), second)).toMatchObject({ done: 19, stored: 19, error: null });
  const rows = await app.database.query(`select 1 from event_deliveries where project_id = $1`, [
    of.projectId,
  ]);
  expect(rows).toHaveLength(19);
});

test('of lots that are matched while the config changes, none is committed as an older config matched it', async () => {
  const of = await scene();
  const db = app.database.open();
  const sealer = new Sealer([Buffer.alloc(32)]);
  const projects = new ProjectStore(sealer);
  const stores = { projects, endpoints: new EndpointStore(sealer), sources: new SourceStore(sealer) };
  const cache = new ConfigCache({ db, ...stores, log: quietLog });
  const ids = new IdFactory(Date.now);
  const sink = { reserve: () => false, waiting: () => undefined } as unknown as DeliverySink;
  const common = { db, sink, nodeId: 'none', now: Date.now, makePartitions: () => Promise.resolve() };
  const deps = {
    ...common,
    inFlight: new InFlightIds(ids),
    counts: new AcceptedCounts(),
    metrics: createMetrics().metrics,
  };
  let changes = 0;
  const prepare = async (source: NewEvent) => {
    if (changes++ < 5) await subscribe(of.project, receiver.url);
    const context = { ids, nowMs: Date.now(), maxRetrySeconds: 60, sealer };
    return prepareEvent(source, await cache.refresh(of.projectId), context);
  };
  const limits = new IntakeLimits({ db, cache });
  const waits = { limits, places: new DeliveryPlaces(deps), largeTurns: new Turns(1) };
  const store = new EventStore({ ...deps, ...waits, log: quietLog });
  const lots = range(0, 3).map((n) => ({ ...ordered(of, n, n + 1), stream: `topic/${n}` }));
  // The first lot of a batch has the newest config.
  const open: { one: PreparedGroup; stored(results: EventResult[]): void }[] = [];
  let left = lots.length;
  const storeAll = async () => {
    const batch = open.splice(0).toReversed();
    // Lots of one turn share a batch, in this order.
    const results = await Promise.all(batch.map(({ one }) => store.store(one)));
    left = results.filter((found) => found.some(isFault)).length;
    for (const [n, { stored }] of batch.entries()) stored(results[n]!);
  };
  const turns = new Turns(1);
  const intake: LotIntake = {
    room: new WaitingRoom(),
    ready: () => ids.ready(),
    prepare: ({ event }) => turns.run('', () => prepare(event)),
    refresh: (projectId) => cache.refresh(projectId),
    store: (one) =>
      new Promise((stored) => {
        open.push({ one, stored });
        if (open.length === left) void storeAll();
      }),
  };
  const answers = await Promise.all(lots.map((one) => acceptLot(intake, one)));
  expect(answers).toEqual(lots.map(() => ({ done: 1, stored: 1, repeats: 0, error: null })));
  const counts = await app.database.query(
    'select count(*)::int as n from event_deliveries where project_id = $1 group by event_id',
    [of.projectId],
  );
  expect(counts.map(({ n }) => n)).toEqual([5, 5, 5]);
});

test('a message with many ordered deliveries has a commit of its own, and one with too many becomes a failed event', async () => {
  const { client, endpoint, add } = await manySubscriptions(app, 1_001, {
    url: receiver.url,
    subscription: { ordering: { key: '$.body.n', on_failure: 'skip' } },
  });
  const of = await scene({}, client);
  const large = {
    target: { kind: 'endpoints', endpointIds: [endpoint.uid] },
    eventType: 'big',
  } satisfies Partial<NewEvent>;
  const messages = (from: number, to: number, ...ofThem: number[]) =>
    range(from, to).map((n) => message(of, n, ofThem.includes(n) ? large : {}));
  const stored = () =>
    app.database.query(
      `select e.xmin::text as commit, e.event_type, failure_reason, count(d.id)::int as deliveries
       from events e left join event_deliveries d on d.event_id = e.id
       where e.project_id = $1 group by e.id, e.xmin::text, e.event_type, failure_reason order by e.id`,
      [of.projectId],
    );
  expect(await accept(lot(of, messages(0, 5, 2)))).toMatchObject({ done: 5, stored: 5, error: null });
  const commits = (await stored()).map(({ commit }) => commit);
  expect(commits.map((commit) => commits.indexOf(commit))).toEqual([0, 0, 2, 3, 3]);
  await add(200, 2_000);
  expect(await accept(lot(of, messages(5, 8, 6)))).toMatchObject({ done: 3, stored: 3, error: null });
  expect((await stored()).map(({ deliveries }) => deliveries)).toEqual([0, 0, 1_001, 0, 0, 0, 0, 0]);
  expect((await stored())[6]).toMatchObject({
    event_type: 'broker.unreadable',
    failure_reason: expect.stringContaining(
      '1201 ordered deliveries, and POSTHORN_MAX_ORDERED_FANOUT allows 1200',
    ),
  });
});

test('while the database is away nothing may be acknowledged, and a lost answer stores nothing twice', async () => {
  const relay: DatabaseRelay = await startDatabaseRelay();
  const node = await app.addNode({ DATABASE_URL: relay.urlOf(app.database.name), POSTHORN_GRACE: '1' });
  try {
    const of = await scene();
    expect(await accept(ordered(of, 0, 10), node)).toMatchObject({ done: 10, error: null });
    for (const text of ['lock-positions', 'move-positions', 'commit']) {
      relay.loseAnswersTo(text);
      expect(await accept(ordered(of, 0, 30), node)).toMatchObject({
        done: 0,
        error: { code: 'database_unavailable' },
      });
      relay.loseAnswersTo(null);
    }
    const again = await accept(ordered(of, 0, 30), node);
    // The commit whose answer was lost had been done.
    expect(again).toEqual({ done: 30, stored: 0, repeats: 30, error: null });
    expect(await payloads(of)).toEqual(range(0, 30));
  } finally {
    relay.loseAnswersTo(null);
    await node.stop();
    relay.close();
  }
});

test.each([
  ['fan-out', { 'X-Convoy-Message-Type': 'fanout' }, {}, ['mine']],
  ['broadcast', { 'x-convoy-message-type': 'broadcast' }, {}, ['mine', 'other']],
  [
    'its broker',
    { 'x-convoy-message-type': 'single' },
    { 'X-Convoy-Message-Type': ['broadcast'] },
    ['mine', 'other'],
  ],
])(
  'a message may name its type in custom_headers, as convoy-go does: %s',
  async (_, custom_headers, headers, got) => {
    const of = await scene();
    for (const owner_id of ['mine', 'other'])
      await subscribe(of.project, `${receiver.url}/${of.projectId}/${owner_id}`, { endpoint: { owner_id } });
    const envelope = { event_type: 'lot', owner_id: 'mine', data: { n: 1 }, custom_headers };
    const payload = Buffer.from(JSON.stringify(envelope));
    // As a message that could not be read is stored. A replay reads it as if it had just come.
    const unread = { eventType: 'broker.unreadable', payload, headers, functionFailure: 'unread' };
    await accept(lot(of, [message(of, 1, unread)]));
    const [stored] = (await of.project.get('/events')).content;
    await of.project.put(`/events/${stored.uid}/replay`, undefined, 200);
    const paths = () =>
      receiver.requests
        .filter(({ path }) => path.includes(of.projectId))
        .map(({ path }) => path.split('/').at(-1));
    await eventually(
      async () => paths(),
      ({ length }) => length >= got.length,
    );
    expect([paths().length, new Set(paths())]).toEqual([got.length, new Set(got)]);
  },
);

test('a batch replay reads a lot that another node began to store before it', async () => {
  const of = await scene();
  await subscribe(of.project, receiver.url);
  const held = await holdKey(app, of.projectId, 'held');
  const messages = [message(of, 0), message(of, 1, { idempotencyKey: 'held' })];
  const stored = accept(lot(of, messages), second);
  await held.waiting();
  const response = await of.project.raw('POST', '/events/batchreplay');
  const { job } = (await response.json()) as Json;
  const state = (until: (status: string) => boolean) =>
    eventually(
      () => of.project.get(`/jobs/${job.uid}`),
      ({ status }) => until(status),
    );
  expect(await state((status) => status !== 'queued')).toMatchObject({ status: 'running', done: 0 });
  await held.release();
  expect(await stored).toMatchObject({ done: 2, stored: 2, error: null });
  const ended = await state((status) => status !== 'running');
  expect(ended).toMatchObject({ status: 'completed', total: 2, done: 2 });
});
