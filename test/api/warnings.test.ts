import { expect, test } from 'vitest';
import { httpSource, startTestApp, subscribe } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { fetchOpenApi } from '../support/openapi.ts';
import { member } from '../support/session-client.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());

const URL = 'http://127.0.0.1:9/';

async function call(method: string, path: string, body: unknown, strict = false): Promise<Json> {
  const headers: Record<string, string> = strict ? { 'x-posthorn-strict': 'true' } : {};
  return (await app.project.raw(method, path, { body, headers })).json();
}

test('a misplaced field is named with its right place, and the call succeeds', async () => {
  const { endpoint } = await subscribe(app.project, URL);
  const body = {
    name: 'misplaced',
    endpoint_id: endpoint.uid,
    filter_config: { event_types: ['a'], body: { amount: 1 } },
  };
  const warning = 'unknown field filter_config.body; did you mean filter_config.filter.body?';
  const answer = await call('POST', '/subscriptions', body);
  expect(answer).toMatchObject({ status: true, data: { name: 'misplaced' }, warnings: [warning] });
  const refused = await call('POST', '/subscriptions', body, true);
  expect(refused).toMatchObject({ status: false, code: 'validation_failed', message: warning });
});

test('a field without a similar name is named alone, on events too; a call without any has no warnings', async () => {
  const event = { event_type: 'a', data: { evnt_type: 1 } };
  expect(await call('POST', '/events/broadcast', event)).not.toHaveProperty('warnings');
  expect((await call('POST', '/events/broadcast', { ...event, colour: 'red' })).warnings).toEqual([
    'unknown field colour',
  ]);
  expect((await call('POST', '/events/broadcast', { ...event, evnt_type: 'b' }, true)).message).toBe(
    'unknown field evnt_type; did you mean event_type?',
  );
  expect(await call('POST', '/events/broadcast', event, true)).toMatchObject({ status: true });
});

test('a refusal names unknown fields too', async () => {
  const answer = await call('POST', '/endpoints', { nmae: 'x', url: URL });
  expect(answer).toMatchObject({
    message: 'name: is required',
    warnings: ['unknown field nmae; did you mean name?'],
  });
});

test('whole objects written back give no warning, strict or not', async () => {
  const { endpoint, subscription } = await subscribe(app.project, URL);
  const source = await httpSource(app.project);
  const link = await app.project.post('/portal-links', { name: 'l', owner_id: 'o', endpoints: [] });
  await app.project.post('/event-types', { name: 'a.type' });
  const [filter] = await app.project.get(`/subscriptions/${subscription.uid}/filters`);
  for (const path of [
    `/endpoints/${endpoint.uid}`,
    `/subscriptions/${subscription.uid}`,
    `/sources/${source.uid}`,
    `/portal-links/${link.uid}`,
    `/subscriptions/${subscription.uid}/filters/${filter.uid}`,
    '',
  ]) {
    const whole = await app.project.get(path);
    const { status, message, warnings } = await call('PUT', path, whole, true);
    expect({ path, status, message, warnings }).toEqual({ path, status: true, message, warnings: undefined });
  }
});

test('a filter value that can never match is a warning', async () => {
  const { endpoint, subscription } = await subscribe(app.project, URL);
  const never = { amount: { $gt: 'abc' } };
  const at = (place: string) => [`${place}body.amount.$gt: "abc" is not a number, so it never matches`];
  const filters = `/subscriptions/${subscription.uid}/filters`;
  const config = { filter_config: { filter: { body: never } } };
  const made = { name: 'n', endpoint_id: endpoint.uid, ...config };
  const inConfig = at('filter_config.filter.');
  expect((await call('POST', '/subscriptions', made)).warnings).toEqual(inConfig);
  expect((await call('PUT', `/subscriptions/${subscription.uid}`, config)).warnings).toEqual(inConfig);
  expect((await call('POST', `/subscriptions/${subscription.uid}/preview`, config)).warnings).toEqual(
    inConfig,
  );
  const tried = { schema: { body: never }, request: { body: {} } };
  expect((await call('POST', '/subscriptions/test_filter', tried)).warnings).toEqual(at('schema.'));
  const record = { event_type: 'b.*', body: never };
  expect((await call('POST', filters, record)).warnings).toEqual(at(''));
  expect((await call('POST', `${filters}/bulk`, [{ ...record, event_type: 'c.*' }])).warnings).toEqual(
    at('0.'),
  );
  const refused = await call('POST', '/subscriptions', made, true);
  expect(refused).toMatchObject({ status: false, message: inConfig[0] });
});

interface Declared {
  name: string;
  id: string;
  method: string;
  path: string;
  acts: boolean;
  isSession: boolean;
  body: Json;
  flags: string[];
}

/** Every operation of the document but the stream, which has no envelope. */
async function operations(): Promise<Declared[]> {
  const { paths } = await fetchOpenApi(app.url);
  return Object.entries<Json>(paths)
    .filter(([path]) => !path.endsWith('/stream'))
    .flatMap(([path, methods]) =>
      Object.entries<Json>(methods).map(([method, operation]) => ({
        name: `${method.toUpperCase()} ${path}`,
        id: operation.operationId,
        method: method.toUpperCase(),
        path: path.replace('{projectID}', app.projectId).replaceAll(/\{\w+\}/g, 'none'),
        acts: operation['x-acts'] === true,
        isSession: operation['x-access'] === 'session',
        body: operation.requestBody?.content['application/json'].schema,
        flags: (operation.parameters ?? [])
          .filter((one: Json) => one.in === 'query' && one.schema.type === 'boolean')
          .map((one: Json) => one.name),
      })),
    );
}

const person = await member(app, 'instance', app.project);

/** The answer to a call of an operation by a caller who may make it. */
async function ask(
  { method, path, isSession }: Declared,
  { query, body, strict = false }: { query?: string; body?: unknown; strict?: boolean },
): Promise<Json> {
  const root = path.startsWith('/portal-api')
    ? new ApiClient(app.url, app.project.key)
    : isSession
      ? person.client.at(app.url)
      : new ApiClient(app.url, app.instance.key);
  const headers: Record<string, string> = strict ? { 'x-posthorn-strict': 'true' } : {};
  const response = await root.raw(method, query === undefined ? path : `${path}?${query}`, { body, headers });
  return response.json();
}

const emptyOf = ({ body }: Declared) => (body === undefined ? undefined : body.type === 'array' ? [] : {});

const acting = [
  'batchEvents',
  'batchReplayEvents',
  'batchRetryEventDeliveries',
  'cancelEventDeliveries',
  'cancelJob',
  'forceResendEventDeliveries',
  'onboard',
  'replayEvent',
  'resendEventDelivery',
  'resendMetaEvent',
  'revokePortalLink',
  'sendNowEventDeliveries',
  'skipOrderingKeys',
  'testEndpoint',
];

test('every call that acts, and every delete, says so in the OpenAPI document', async () => {
  const all = await operations();
  const plain = (id: string) => id.replace(/InPortal$/, '');
  const declared = all.filter(({ acts, method }) => acts && method !== 'DELETE');
  expect([...new Set(declared.map(({ id }) => plain(id)))].sort()).toEqual(acting);
  expect(all.filter(({ acts, method }) => method === 'DELETE' && !acts)).toEqual([]);
});

// differs Requests and answers: Calls that act refuse unknown parameters, fields and CSV columns, except paging,
//   sort and cursors; other calls [warn](errors.md#warnings). A misspelt filter would select everything.
test('an unknown query parameter is refused by calls that act, and by all under strict', async () => {
  const problem = 'unknown query parameter zzz_misspelt';
  const all = await operations();
  expect(all.length).toBeGreaterThan(150);
  for (const one of all)
    for (const strict of one.acts ? [false, true] : [true])
      for (const value of ['x', ...(one.acts ? [''] : [])])
        expect([
          one.name,
          await ask(one, { query: `zzz_misspelt=${value}`, body: emptyOf(one), strict }),
        ]).toEqual([
          one.name,
          expect.objectContaining({ code: 'validation_failed', status: false, message: problem }),
        ]);
});

test('other calls answer and name it in their warnings; an empty one is absent', async () => {
  for (const one of (await operations()).filter(({ method }) => method === 'GET')) {
    const answer = await ask(one, { query: 'zzz_misspelt=x' });
    expect([one.name, answer.warnings]).toEqual([one.name, ['unknown query parameter zzz_misspelt']]);
    expect([one.name, await ask(one, { query: 'zzz_misspelt=' })]).not.toHaveProperty('1.warnings');
  }
});

test('an unknown field of every body is refused under strict, and by calls that act', async () => {
  const withBody = (await operations()).filter(({ body }) => body !== undefined);
  expect(withBody.length).toBeGreaterThan(40);
  for (const one of withBody)
    for (const strict of one.acts ? [false, true] : [true]) {
      const [given, at] = one.body.type === 'array' ? [[{ zzz: 1 }], '0.zzz'] : [{ zzz: 1 }, 'zzz'];
      const answer = await ask(one, { body: given, strict });
      expect([one.name, answer.message]).toEqual([one.name, `unknown field ${at}`]);
    }
});

// differs Requests and answers: A flag in a query is `true` or `false`, else 400; Convoy takes any other word
//   for false. `dry_run=1` would not be a dry run.
test('a flag in a query is true or false', async () => {
  const flags = (await operations()).flatMap((one) => one.flags.map((flag) => ({ one, flag })));
  expect(flags.length).toBeGreaterThan(10);
  for (const { one, flag } of flags)
    for (const value of ['1', 'yes', 'TRUE'])
      expect([one.name, await ask(one, { query: `${flag}=${value}`, body: emptyOf(one) })]).toEqual([
        one.name,
        expect.objectContaining({
          code: 'bad_query',
          message: `Query parameter ${flag}: must be true or false`,
        }),
      ]);
});
