import { expect, test } from 'vitest';
import { httpSource, startTestApp, subscribe } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { atLeast, eventually } from '../../support/eventually.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shared } from '../../support/shared.ts';
import { storedRows } from '../../support/stored-rows.ts';

/** Payloads against the schemas of their types, as the project says. */
const app = await shared(startTestApp({ POSTHORN_METRICS: 'on' }));
const receiver = await shared(Receiver.start());

const INVOICE = {
  type: 'object',
  required: ['invoice'],
  properties: { invoice: { type: 'integer' }, note: { type: 'string', pattern: '^[a-z ]*$' } },
};

async function scene(schema_check: string, json_schema: object = INVOICE) {
  const client = await app.newProject({ schema_check });
  const { endpoint } = await subscribe(client, receiver.url, { endpoint: { owner_id: 'o' } });
  const type = await client.post('/event-types', { name: 'invoice.paid', json_schema });
  return { client, endpoint, type };
}

/** The whole answer, with its warnings. */
async function answer(client: ApiClient, path: string, body: object): Promise<[number, Json]> {
  const response = await client.raw('POST', path, { body });
  return [response.status, await response.json()];
}

const wrong = { event_type: 'invoice.paid', data: { invoice: 'seven', note: 'No!' } };
const right = { event_type: 'invoice.paid', data: { invoice: 7, note: 'all right' } };
const PROBLEMS = ['data.invoice: must be integer', 'data.note: does not match its pattern'];

// proves Projects: schema_check
test('refuse: each of the four calls refuses an event that does not fit, and stores nothing', async () => {
  const { client, endpoint } = await scene('refuse');
  const before = await storedRows(app.database);
  for (const [path, more] of [
    ['/events/broadcast', {}],
    ['/events', { endpoint_id: endpoint.uid }],
    ['/events/fanout', { owner_id: 'o' }],
  ] as const) {
    const [status, envelope] = await answer(client, path, { ...wrong, ...more });
    expect([status, envelope.code, envelope.message]).toEqual([
      400,
      'validation_failed',
      PROBLEMS.join('; '),
    ]);
  }
  const unsubscribed = await client.post('/endpoints', { name: 'n', url: receiver.url });
  const config = async () => {
    const [endpoints, subscriptions] = [await client.get('/endpoints'), await client.get('/subscriptions')];
    return [endpoints.content.length, subscriptions.content.length];
  };
  const [endpoints, subscriptions] = await config();
  // Nor is an endpoint or a subscription made for it.
  const dynamic = { ...wrong, url: `${receiver.url}/new`, secret: 'a secret' };
  expect((await answer(client, '/events/dynamic', dynamic))[1].message).toBe(PROBLEMS.join('; '));
  const direct = { ...wrong, endpoint_id: unsubscribed.uid };
  expect((await answer(client, '/events', direct))[0]).toBe(400);
  const together = [
    { kind: 'dynamic', ...dynamic },
    { kind: 'direct', ...direct },
  ];
  const batch = await client.post('/events/batch', { events: together }, 200);
  expect(batch.results.map(({ status }: Json) => status)).toEqual(['refused', 'refused']);
  const allOrNothing = [
    { kind: 'dynamic', ...right, url: dynamic.url },
    { kind: 'broadcast', ...wrong },
  ];
  await client.post('/events/batch', { events: allOrNothing, all_or_nothing: true }, 400);
  expect(await config()).toEqual([endpoints, subscriptions]);
  expect((await storedRows(app.database))['events']).toEqual(before['events']);
  await client.post('/events/dynamic', { ...dynamic, ...right });
  expect(await config()).toEqual([endpoints + 1, subscriptions + 1]);
  const [status, { data, warnings }] = await answer(client, '/events/broadcast', right);
  expect([status, data.status, warnings]).toEqual([201, 'Success', undefined]);
  // Types without a schema take anything.
  await client.post('/events/broadcast', { event_type: 'other', data: 'x' });
});

test('warn: the event is stored and sent, and the answer names what is wrong', async () => {
  const { client } = await scene('warn');
  const seen = receiver.requests.length;
  const [status, { warnings }] = await answer(client, '/events/broadcast', wrong);
  expect([status, warnings]).toEqual([201, PROBLEMS]);
  await eventually(() => receiver.requests.length, atLeast(seen + 1));
  expect(receiver.requests[seen]?.json).toEqual(wrong.data);
  const page = await (await fetch(`${app.url}/metrics`)).text();
  expect(page).toMatch(/posthorn_schema_mismatches_total\{check="warn"\} 1/);
  expect(page).toMatch(/posthorn_schema_mismatches_total\{check="refuse"\} [4-9]/);
});

test('a dry run answers as the call would: refused, or with the warnings', async () => {
  const { client } = await scene('refuse');
  const dryRun = (body: object) => answer(client, '/events/broadcast?dry_run=true', body);
  const [refused, { message }] = await dryRun(wrong);
  expect([refused, message]).toEqual([400, PROBLEMS.join('; ')]);
  const [status, { data, warnings }] = await dryRun(right);
  expect([status, data.deliveries, warnings]).toEqual([200, 1, undefined]);
  await client.put('', { config: { schema_check: 'warn' } });
  const [warned, { data: tried, warnings: named }] = await dryRun(wrong);
  expect([warned, tried.deliveries, named]).toEqual([200, 1, PROBLEMS]);
  expect((await client.get('/events')).content).toEqual([]);
});

test('off, which is what a project has: nothing is checked', async () => {
  const { client } = await scene('off');
  const [status, { warnings }] = await answer(client, '/events/broadcast', wrong);
  expect([status, warnings, (await client.get('')).config.schema_check]).toEqual([201, undefined, 'off']);
  // A project of before the setting.
  await app.database.query(`update projects set config = (config::jsonb - 'schema_check') where id = $1`, [
    client.projectId,
  ]);
  expect((await client.get('')).config.schema_check).toBe('off');
  await client.put('', { config: { schema_check: 'refuse' } });
  expect((await answer(client, '/events/broadcast', wrong))[0]).toBe(400);
});

test('a batch refuses the events that do not fit, or all of them', async () => {
  const { client } = await scene('refuse');
  const events = [right, wrong, right].map((event) => ({ kind: 'broadcast', ...event }));
  const { results } = await client.post('/events/batch', { events }, 200);
  expect(results.map(({ status, code }: Json) => [status, code])).toEqual([
    ['stored', ''],
    ['refused', 'validation_failed'],
    ['stored', ''],
  ]);
  expect(results[1].message).toBe(PROBLEMS.map((one) => `events[1].${one}`).join('; '));
  const refused = await client.post('/events/batch', { events, all_or_nothing: true }, 400);
  expect(refused.message).toBe(PROBLEMS.map((one) => `events[1].${one}`).join('; '));
  expect((await client.get('/events')).content).toHaveLength(2);
  await client.put('', { config: { schema_check: 'warn' } });
  const warned = await client.post('/events/batch', { events, all_or_nothing: true }, 200);
  expect(warned.results.map(({ status, message }: Json) => [status, message])).toEqual([
    ['stored', ''],
    ['stored', PROBLEMS.join('; ')],
    ['stored', ''],
  ]);
});

test('an incoming webhook is checked after the functions of its source', async () => {
  const { client } = await scene('refuse');
  const source = await httpSource(client, {
    event_type_location: 'request.body.type',
    body_function: 'function transform(body) { return { invoice: body.number }; }',
  });
  const send = (body: object) =>
    fetch(source.url, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    });
  expect((await send({ type: 'invoice.paid', number: 7 })).status).toBe(200);
  const refused = await send({ type: 'invoice.paid', number: 'x' });
  expect([refused.status, ((await refused.json()) as Json).message]).toEqual([
    400,
    'data.invoice: must be integer',
  ]);
  expect((await client.get('/events')).content).toHaveLength(1);

  // With a warning the sender learns of it, in the answer or, if that is another, in a header.
  await client.put('', { config: { schema_check: 'warn' } });
  const warned = await send({ type: 'invoice.paid', number: 'x' });
  expect([warned.status, warned.headers.get('x-posthorn-warnings'), await warned.json()]).toEqual([
    200,
    '1',
    expect.objectContaining({ warnings: ['data.invoice: must be integer'] }),
  ]);
  const fine = await send({ type: 'invoice.paid', number: 7 });
  expect([fine.headers.get('x-posthorn-warnings'), await fine.json()]).toEqual([
    null,
    expect.not.objectContaining({ warnings: expect.anything() }),
  ]);
  await client.put(`/sources/${source.uid}`, { custom_response: { body: 'ok', content_type: 'text/plain' } });
  const custom = await send({ type: 'invoice.paid', number: 'x' });
  expect([custom.headers.get('x-posthorn-warnings'), await custom.text()]).toEqual(['1', 'ok']);
  const cloud = ['x', 7].map((invoice, n) => ({
    specversion: '1.0',
    id: `${n}`,
    source: '/s',
    type: 'invoice.paid',
    data: { number: invoice },
  }));
  const batch = await fetch(source.url, {
    method: 'POST',
    body: JSON.stringify(cloud),
    headers: { 'content-type': 'application/cloudevents-batch+json' },
  });
  expect([batch.status, batch.headers.get('x-posthorn-warnings')]).toEqual([200, '1']);
});

test('a changed schema holds for the next event, on every node', async () => {
  const { client, type } = await scene('refuse');
  const other = await app.addNode();
  const there = new ApiClient(client.base.replace(app.url, other.url), client.key);
  expect((await answer(there, '/events/broadcast', wrong))[0]).toBe(400);
  await client.put(`/event-types/${type.uid}`, { json_schema: { type: 'object', required: ['note'] } }, 201);
  expect((await answer(client, '/events/broadcast', wrong))[0]).toBe(201);
  await eventually(
    () => answer(there, '/events/broadcast', wrong),
    ([status]) => status === 201,
  );
  // An empty schema is none.
  await client.put(`/event-types/${type.uid}`, { json_schema: {} }, 201);
  expect((await answer(client, '/events/broadcast', { ...wrong, data: 1 }))[0]).toBe(201);
});

test('a schema that cannot be checked is refused while checks are on, and before they begin', async () => {
  const { client, type } = await scene('off', { properties: { a: { pattern: '(a)\\1' } } });
  const refused = await client.put('', { config: { schema_check: 'warn' } }, 400);
  expect(refused.message).toContain('the schema of invoice.paid');
  expect((await client.get('')).config.schema_check).toBe('off');
  await client.put(`/event-types/${type.uid}`, { json_schema: INVOICE }, 201);
  await client.put('', { config: { schema_check: 'warn' } });
  const remote = { $ref: 'https://example.com/schema.json' };
  const problem =
    'json_schema: payloads cannot be checked by it: the reference https://example.com/schema.json';
  for (const answered of [
    await client.put(`/event-types/${type.uid}`, { json_schema: remote }, 400),
    await client.post('/event-types', { name: 'new', json_schema: remote }, 400),
  ])
    expect(answered.message).toContain(problem);
  await client.put('', { config: { schema_check: 'maybe' } }, 400);
});

test('a replay sends what was stored, whatever the schema says now', async () => {
  const { client } = await scene('off');
  const event = await client.post('/events/broadcast', wrong);
  await client.put('', { config: { schema_check: 'refuse' } });
  const seen = receiver.requests.length;
  await client.put(`/events/${event.uid}/replay`, {}, 200);
  await eventually(() => receiver.requests.length, atLeast(seen + 1));
});
