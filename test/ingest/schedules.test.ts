import { expect, test } from 'vitest';
import { Sealer } from '../../src/platform/sealer.ts';
import { Secret } from '../../src/platform/secret.ts';
import { SourceStore } from '../../src/store/config/sources.ts';
import { httpSource, SECRET_KEY, startTestApp, subscribe } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

/** Sources with a schedule, on two nodes. src/brokers/schedule/schedule.test.ts has the times, by a clock of its own. */
const app = await shared(startTestApp());
await app.addNode();
const receiver = await shared(Receiver.start());

const daily = { cron: '0 9 * * mon-fri', time_zone: 'Europe/Berlin', event_type: 'report.due' };
const make = (schedule: object, fields: object = {}) =>
  app.project.post('/sources', { name: 'times', type: 'schedule', schedule, ...fields });
const eventsOf = async ({ uid }: Json): Promise<Json[]> =>
  (await app.project.get(`/events?sourceId=${uid}`)).content;
const store = new SourceStore(new Sealer([Buffer.from(SECRET_KEY)]));

/** As if its times had been missed since then, and a node with the role broker had just come. */
async function missedSince(source: Json, since: string): Promise<void> {
  const schedule = { data: null, ...source.schedule, since };
  const secret = new Secret({
    verifier: { type: 'noop' },
    pub_sub: null,
    db_change_stream: null,
    schedule,
  } as const);
  await app.database.query(
    'update sources set sealed = $2, is_disabled = false, version = version + 1 where id = $1',
    [source.uid, store.seal(source.uid, secret)],
  );
}

// proves Sources: schedule.cron
// proves Sources: schedule.event_type
// proves Sources: schedule.data
test('times that were missed make one event, over all nodes, and its delivery names the time', async () => {
  const data = { report: 'yearly', total: 12.5 };
  const source = await make({ cron: '@yearly', event_type: 'report.due', data }, { is_disabled: true });
  await subscribe(app.project, receiver.url, {
    eventTypes: ['report.*'],
    subscription: { source_id: source.uid },
  });
  const year = new Date().getUTCFullYear();
  await missedSince(source, `${year - 3}-06-01T00:00:00.000Z`);
  await eventually(() => receiver.requests.length, atLeast(1));
  const [request] = receiver.requests;
  expect([request?.json, request?.headers['x-posthorn-scheduled-at']]).toEqual([
    data,
    `${year}-01-01T00:00:00.000Z`,
  ]);
  const { status } = await eventually(
    () => app.project.get(`/sources/${source.uid}`),
    (shown: Json) => shown.status.state === 'running' && shown.status.last_message_at !== null,
  );
  expect(status.last_error).toBe('');
  const [{ repeats }] = (await app.database.query(
    'select count(*)::int as repeats from broker_positions where source_id = $1',
    [source.uid],
  )) as [{ repeats: number }];
  const { content } = await app.project.get(`/events?sourceId=${source.uid}`);
  expect([repeats, content.map((event: Json) => event.event_type)]).toEqual([1, ['report.due']]);
});

// proves Sources: schedule.time_zone
test('the time is that of its zone, and the usual payload is the time', async () => {
  const source = await make(
    { cron: '0 0 1 1 *', time_zone: 'Asia/Tokyo', event_type: 'new.year' },
    { is_disabled: true },
  );
  const year = new Date().getUTCFullYear();
  await missedSince(source, `${year - 1}-06-01T00:00:00.000Z`);
  const events = await eventually(() => eventsOf(source), { length: atLeast(1) });
  expect(events.map(({ data }) => data)).toEqual([{ scheduled_at: `${year - 1}-12-31T15:00:00.000Z` }]);
});

test('an event that does not fit the schema of its type is kept as failed, with the reason', async () => {
  await app.project.post('/event-types', {
    name: 'checked',
    json_schema: { type: 'object', required: ['a'] },
  });
  await app.project.put('', { config: { schema_check: 'refuse' } });
  const source = await make(
    { cron: '@yearly', event_type: 'checked', data: { b: 1 } },
    { is_disabled: true },
  );
  await missedSince(source, '2020-01-01T00:00:00.000Z');
  const [event] = await eventually(() => eventsOf(source), { length: atLeast(1) });
  expect([event.status, event.event_type]).toEqual(['Failure', 'broker.unreadable']);
  expect(event.failure_reason).toBe('The event does not fit the schema of its type: data.a is required.');
});

test('what was missed while the source was disabled is not sent when it is enabled', async () => {
  const source = await make({ cron: '@yearly', event_type: 'late' }, { is_disabled: true });
  const { uid } = source;
  await missedSince(source, '2020-01-01T00:00:00.000Z');
  await eventually(() => eventsOf(source), { length: atLeast(1) });
  await app.project.put(`/sources/${uid}`, { is_disabled: true }, 202);
  await app.database.query('delete from broker_positions where source_id = $1', [uid]);
  await app.project.put(`/sources/${uid}`, { is_disabled: false }, 202);
  await eventually(() => app.project.get(`/sources/${uid}`), { status: { state: 'running' } });
  expect(await eventsOf(source)).toHaveLength(1);
});

test('a schedule is shown as it was given, and changes as a whole', async () => {
  const source = await make(daily);
  expect(source).toMatchObject({
    type: 'schedule',
    schedule: { ...daily, data: null },
    pub_sub: { type: '' },
  });
  const path = `/sources/${source.uid}`;
  expect((await app.project.put(path, { name: 'other' }, 202)).schedule).toEqual(source.schedule);
  const weekly = { cron: ' @weekly ', event_type: 'report.due', data: [1] };
  expect((await app.project.put(path, { schedule: weekly }, 202)).schedule).toEqual({
    ...weekly,
    cron: '@weekly',
    time_zone: 'UTC',
  });
  expect(await app.project.post(`${path}/test_connection`, {}, 200)).toEqual({ ok: true, reason: '' });
  const plain = await httpSource(app.project, { schedule: daily });
  expect(plain.schedule).toBeNull();
});

test.each([
  [{}, 'schedule.cron: is required', 'schedule.event_type: is required'],
  [{ ...daily, cron: '0 9 * *' }, 'schedule.cron: it must have five fields'],
  [{ ...daily, cron: '0 25 * * *' }, 'schedule.cron: the hour cannot be read: 25'],
  [{ ...daily, cron: '0 0 31 2 *' }, 'schedule.cron: it has no time in the next nine years'],
  [{ ...daily, time_zone: 'Berlin' }, 'schedule.time_zone: is no time zone'],
  [{ ...daily, data: 'x'.repeat(65_536) }, 'schedule.data: is larger than 65536 bytes'],
  [undefined, 'schedule: is required when type is schedule'],
])('a schedule is refused with what is wrong: %#', async (schedule, ...texts) => {
  const listed = async () => (await app.project.get('/sources')).content.map(({ uid }: Json) => uid);
  const before = await listed();
  const answer: Json = await app.project.post('/sources', { name: 'times', type: 'schedule', schedule }, 400);
  for (const text of texts) expect(answer.message).toContain(text);
  expect(await listed()).toEqual(before);
});
