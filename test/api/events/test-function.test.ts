import { expect, test } from 'vitest';
import { startTestApp, subscribe } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { shared } from '../../support/shared.ts';

const app = await shared(startTestApp());

test.each(['subscriptions', 'sources'])(
  'a function of %s is run and shows its result, log and cost',
  async (resource) => {
    const answer = await app.project.post(
      `/${resource}/test_function`,
      {
        payload: { a: 1 },
        function: 'function transform(p) { console.log("seen", p.a); return { ...p, b: 2 } }',
        type: 'body',
      },
      200,
    );
    expect(answer).toMatchObject({
      payload: { a: 1, b: 2 },
      log: ['seen 1'],
      limits: { cpu_ms: 100, heap_bytes: 33_554_432 },
    });
    expect(answer.duration_ms).toBeGreaterThanOrEqual(0);
  },
);

test.each([
  ['function transform( {', 'function:'],
  ['const x = 1', 'transform'],
  ['function transform() { throw new Error("broken") }', 'broken'],
  ['function transform() { for (;;); }', '100 ms'],
])('%s is refused with the reason', async (code, problem) => {
  const body = { payload: {}, function: code };
  // Asks again while the machine is too busy to run functions.
  const answer = await eventually(
    async (): Promise<Json> =>
      (await app.project.raw('POST', '/subscriptions/test_function', { body })).json(),
    ({ code }) => code !== 'overloaded',
  );
  expect(answer.code).toBe('validation_failed');
  expect(answer.message).toContain(problem);
});

test('a header function must return strings', async () => {
  const body = { payload: { a: 'b' }, function: 'function transform(h) { return { a: 1 } }', type: 'header' };
  expect((await app.project.post('/sources/test_function', body, 400)).message).toContain('strings');
});

const v2 = (result: string) =>
  `export const version = 2;\nfunction transform(payload, { event_type, variables }) { return ${result} }`;

const tryOut = (result: string, expected = 200): Promise<Json> =>
  app.project.post(
    '/subscriptions/test_function',
    { payload: { a: 1 }, function: v2(result), event_type: 'some.type' },
    expected,
  );

test('of a function with a version it shows the parts of the request, without credentials and variables', async () => {
  await app.project.put('', { variables: { TOKEN: 'tok "Zq7" secret' } });
  const parts = `{
    body: [variables.TOKEN], path: '/' + event_type, query: { q: variables.TOKEN },
    headers: { 'X-A': variables.TOKEN + '!', 'X-Api-Key': 'of the code' },
  }`;
  expect(await tryOut(`(console.log(variables), ${parts})`)).toMatchObject({
    payload: ['***'],
    log: ['{"TOKEN":"***"}'],
    request: {
      set_path: '/some.type',
      set_query: { q: '***' },
      set_headers: { 'X-A': '***!', 'X-Api-Key': '***' },
    },
    cancelled: null,
  });
  expect(await tryOut('{}')).toMatchObject({
    payload: { a: 1 },
    request: { set_path: null, set_headers: {} },
  });
  expect(await tryOut('{ cancel: "not now" }')).toMatchObject({
    payload: null,
    request: null,
    cancelled: "The subscription's function cancelled it: not now",
  });
  expect((await tryOut('{ headers: { Host: "a" } }', 400)).message).toContain('Host is set by the service');
  expect((await tryOut('variables.TOKEN.missing()', 400)).message).not.toContain('Zq7');
});

test('a preview shows the same of the latest events', async () => {
  const { subscription } = await subscribe(app.project, 'http://127.0.0.1:1/', { eventTypes: ['previewed'] });
  for (const n of [1, 2])
    await app.project.post('/events/broadcast', { event_type: 'previewed', data: { n } });
  const code = v2('payload.n > 1 ? { cancel: "too many" } : { path: "/" + event_type + variables.TOKEN }');
  const preview = { function: code };
  const { events } = await app.project.post(`/subscriptions/${subscription.uid}/preview`, preview, 200);
  expect(events).toMatchObject([
    { after: null, request: null, cancelled: expect.stringContaining('too many'), function_error: null },
    { after: { n: 1 }, request: { set_path: '/previewed***' }, cancelled: null },
  ]);
});

test.each([
  ['sources', 'export'],
  ['subscriptions', 'version 3 is not known'],
])('a version that %s do not know is refused, tried out and saved', async (resource, problem) => {
  const code = 'export const version = 3; function transform(p) { return p }';
  const tried = await app.project.post(`/${resource}/test_function`, { function: code }, 400);
  const fields = resource === 'sources' ? { type: 'http', body_function: code } : { function: code };
  const endpoint = await app.project.post('/endpoints', { name: 'e', url: 'http://127.0.0.1:1/' });
  const saved = await app.project.post(
    `/${resource}`,
    { name: 's', endpoint_id: endpoint.uid, ...fields },
    400,
  );
  expect([tried.message, saved.message]).toEqual(Array(2).fill(expect.stringContaining(problem)));
});
