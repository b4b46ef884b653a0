import { expect, test } from 'vitest';
import { httpSource, startTestApp, subscribe } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { newestDelivery, shown } from '../../support/settled.ts';
import { shared } from '../../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());

const TOKEN = 'tok_Zq7/+ &"é-secret';
await app.project.put('', { variables: { TOKEN, PLAIN: 'tok-Zq7-plain' } });

const v2 = (result: string, context = '{ variables }') =>
  `export const version = 2;\nfunction transform(payload, ${context}) { return ${result} }`;

const send = (type: string, data: unknown = { n: 1 }, fields: object = {}): Promise<Json> =>
  app.project.post('/events/broadcast', { event_type: type, data, ...fields });

const listen = (type: string, code: string, fields: { subscription?: object; endpoint?: object } = {}) =>
  subscribe(app.project, `${receiver.url}/${type}?own=1&keep=%20`, {
    eventTypes: [type],
    endpoint: fields.endpoint ?? {},
    subscription: { function: code, ...fields.subscription },
  });

const requestsOf = (start: string) => receiver.requests.filter(({ path }) => path.startsWith(start));

test('a function sets headers, path and query, and the receiver sees them signed; a retry and a resend send the same', async () => {
  const code = v2(
    `{ body: { was: payload.n }, path: '/made/' + context.event_type, query: { own: '2&3', at: context.event_id },
       headers: { 'X-Set': 'ä', 'X-Event': 'function', 'User-Agent': 'custom', Authorization: 'mine' } }`,
    'context',
  );
  const authentication = {
    type: 'api_key',
    api_key: { header_name: 'Authorization', header_value: 'the endpoint' },
  };
  const retry_config = { type: 'linear', interval_seconds: 1, retry_count: 2 };
  const { subscription } = await listen('set', code, {
    subscription: { retry_config },
    endpoint: { authentication },
  });
  receiver.answerNext(500);
  const event = await send('set', { n: 7 }, { custom_headers: { 'X-Event': 'event', 'X-Other': 'kept' } });
  const query = `?keep=%20&own=2%263&at=${event.uid}`;
  await receiver.received(1, `/made/set${query}`);
  await app.project.put(`/subscriptions/${subscription.uid}`, { function: v2('{ path: "/later" }') });
  const delivery = await newestDelivery(app.project, `eventId=${event.uid}`, 'Success');
  await app.project.post('/eventdeliveries/forceresend', { ids: [delivery.uid] }, 200);
  const requests = await receiver.received(3, `/made/set${query}`);
  for (const { headers, json } of requests) {
    expect(json).toEqual({ was: 7 });
    expect(headers).toMatchObject({
      'x-event': 'function',
      'x-other': 'kept',
      'user-agent': 'custom',
      authorization: 'the endpoint',
      'content-type': 'application/json',
      'webhook-id': delivery.uid,
      'webhook-signature': expect.stringMatching(/^v1,/),
    });
    expect(Buffer.from(String(headers['x-set']), 'latin1').toString('latin1')).toBe('ä');
  }
  expect(requestsOf('/later')).toEqual([]);
});

test('without a body the payload is sent as it came, also one that is no JSON', async () => {
  const source = await httpSource(app.project);
  const { endpoint } = await listen('plain', v2('{ headers: { "X-Length": String(payload.length) } }'), {
    subscription: { source_id: source.uid, filter_config: { event_types: ['*'] } },
  });
  const headers = { 'content-type': 'text/plain' };
  await fetch(source.url, { method: 'POST', body: 'no json', headers });
  await newestDelivery(app.project, `endpointId=${endpoint.uid}`, 'Success');
  const [request] = requestsOf('/plain');
  expect([request?.body.toString(), request?.headers['content-type'], request?.headers['x-length']]).toEqual([
    'no json',
    'text/plain',
    '7',
  ]);
});

test('a function that cancels leaves a discarded delivery with its reason and no attempt; a resend runs it again', async () => {
  const { subscription, endpoint } = await listen(
    'cancel',
    v2('{ cancel: "no address\\n for " + payload.n }'),
  );
  await send('cancel');
  const delivery = await newestDelivery(app.project, `endpointId=${endpoint.uid}`, 'Discarded');
  expect([delivery.description, delivery.metadata.num_trials]).toEqual([
    "The subscription's function cancelled it: no address for 1",
    0,
  ]);
  expect(await app.project.get(`/eventdeliveries/${delivery.uid}/deliveryattempts`)).toEqual([]);
  await app.project.put(`/subscriptions/${subscription.uid}`, { function: v2('{ cancel: false }') });
  await app.project.put(`/eventdeliveries/${delivery.uid}/resend`, undefined, 200);
  await shown(app.project, `/eventdeliveries/${delivery.uid}`, { status: 'Success' });
  expect(requestsOf('/cancel')).toHaveLength(1);
});

test('a function of before that returns headers sends them as its body', async () => {
  const code = 'const version = 2; function transform(p, context) { return { headers: typeof context } }';
  await listen('before', code);
  await send('before');
  const [request] = await receiver.received(1, '/before?own=1&keep=%20');
  expect(request?.json).toEqual({ headers: 'undefined' });
});

test.each([
  ['{ headers: { "X-A": "1\\r\\nX-Evil: 1" } }', /X-A is not one line/],
  ['{ headers: { "webhook-signature": "v1,x" } }', /webhook-signature is set by the service/],
  ['{ headers: { "X-A": "x".repeat(1e6) } }', /more than 16384 characters/],
  ['{ path: "http://127.0.0.1:1/" }', /path must be/],
  [
    '(Object.prototype.headers = { "X-Evil": "1" }, Object.prototype.path = "/evil", { body: 1, x: 1 })',
    /"x"/,
  ],
  ['({ toJSON() { return "text" } })', /returns an object/],
  ['(() => { throw variables.TOKEN })()', /function failed: \*\*\*$/],
])('%s fails its delivery alone, with the reason', async (result, reason) => {
  const { endpoint } = await listen('hostile', v2(result));
  const healthy = await subscribe(app.project, `${receiver.url}/healthy`, { eventTypes: ['hostile'] });
  const before = requestsOf('/hostile').length;
  await send('hostile');
  const failed = await newestDelivery(app.project, `endpointId=${endpoint.uid}`, 'Failure');
  await newestDelivery(app.project, `endpointId=${healthy.endpoint.uid}`, 'Success');
  expect(failed.description).toMatch(reason);
  expect([failed.metadata.num_trials, requestsOf('/hostile').length - before]).toEqual([0, 0]);
  await app.project.delete(`/endpoints/${endpoint.uid}`);
});

test('a polluted prototype inside the sandbox reaches no request', async () => {
  const code = v2(
    '(Object.prototype.headers = { "X-Evil": "1" }, Array.prototype.toJSON = () => 7, { body: [1] })',
  );
  await listen('polluted', code);
  await send('polluted');
  const [request] = await receiver.received(1, '/polluted?own=1&keep=%20');
  expect([request?.json, request?.headers['x-evil']]).toEqual([7, undefined]);
});

test('variables arrive at the receiver, and neither the attempt nor the database shows them', async () => {
  const code = v2(
    `{ path: '/var/' + variables.PLAIN, query: { key: variables.TOKEN }, headers: { 'X-Odd': 'Bearer ' + variables.PLAIN } }`,
  );
  const { endpoint } = await listen('var', code);
  receiver.answerNext((request, response) => response.writeHead(200).end(`got ${request.path}`));
  await send('var');
  const delivery = await newestDelivery(app.project, `endpointId=${endpoint.uid}`, 'Success');
  const [request] = requestsOf('/var/');
  expect(new URL(request?.path ?? '', 'http://a').searchParams.get('key')).toBe(TOKEN);
  expect([request?.path, request?.headers['x-odd']]).toEqual([
    expect.stringMatching(/^\/var\/tok-Zq7-plain\?/),
    'Bearer tok-Zq7-plain',
  ]);
  const [attempt] = await app.project.get(`/eventdeliveries/${delivery.uid}/deliveryattempts`);
  expect(attempt.request_http_header['X-Odd']).toBe('***');
  expect(JSON.stringify(attempt)).not.toContain('Zq7');
  const rows = await app.database.query(
    'select t::text as text from event_deliveries t union all select t::text from projects t',
  );
  expect(rows.length).toBeGreaterThan(1);
  expect(rows.filter(({ text }) => String(text).includes('Zq7'))).toEqual([]);
});

test('a function that was last changed through a portal link sees no variables', async () => {
  const link = await app.project.post('/portal-links', {
    name: 'l',
    owner_id: 'portal',
    can_manage_endpoint: true,
    can_edit_functions: true,
  });
  const portal = new ApiClient(app.project.base, link.token);
  const code = v2('{ body: variables, headers: { "X-Names": Object.keys(variables).join() } }');
  const { subscription } = await listen('portal', code, { endpoint: { owner_id: 'portal' } });
  const namesSeen = async () => {
    const event = await send('portal');
    const { uid } = await newestDelivery(app.project, `eventId=${event.uid}`, 'Success');
    return requestsOf('/portal').find(({ headers }) => headers['webhook-id'] === uid)?.headers['x-names'];
  };
  const put = async (client: ApiClient, text: string) =>
    (await client.put(`/subscriptions/${subscription.uid}`, { function: text })).is_portal_function;
  expect(await namesSeen()).toBe('TOKEN,PLAIN');
  expect(await put(portal, `${code} // mine`)).toBe(true);
  expect(await namesSeen()).toBe('');
  // The same text written back is no change, and neither is another field.
  expect(await put(app.project, `${code} // mine`)).toBe(true);
  await app.project.put(`/subscriptions/${subscription.uid}`, { name: 'renamed' });
  expect(await namesSeen()).toBe('');
  expect(await put(app.project, code)).toBe(false);
  expect(await put(portal, code)).toBe(false);
  expect(await namesSeen()).toBe('TOKEN,PLAIN');
  const tested = await portal.post('/subscriptions/test_function', { payload: {}, function: code }, 200);
  const preview = await portal.post(`/subscriptions/${subscription.uid}/preview`, {}, 200);
  expect([tested.payload, preview.events[0].after]).toEqual([{}, {}]);
});

test('a request that was made with variables goes to another address only while its function sees them', async () => {
  const link = await app.project.post('/portal-links', {
    name: 'l',
    owner_id: 'moved',
    can_manage_endpoint: true,
  });
  const portal = new ApiClient(app.project.base, link.token);
  const code = v2(
    '{ body: { token: variables.TOKEN }, headers: { "X-Token": variables.PLAIN.toUpperCase() } }',
  );
  const { endpoint, subscription } = await listen('moved', code, { endpoint: { owner_id: 'moved' } });
  const at = `/endpoints/${endpoint.uid}`;
  const event = await send('moved');
  const { uid } = await newestDelivery(app.project, `eventId=${event.uid}`, 'Success');
  const sendAgain = async () => {
    const { status } = await app.project.get(`/eventdeliveries/${uid}`);
    if (status === 'Success') await app.project.post('/eventdeliveries/forceresend', { ids: [uid] }, 200);
    else await app.project.put(`/eventdeliveries/${uid}/resend`, undefined, 200);
  };
  const resend = async (status: string): Promise<Json> => {
    await sendAgain();
    return shown(app.project, `/eventdeliveries/${uid}`, { status });
  };
  // The owner of the project moves it, and the same bytes arrive.
  await app.project.put(at, { url: `${receiver.url}/second` });
  await resend('Success');
  const [second] = await receiver.received(1, '/second');
  expect([second?.json.token, second?.headers['x-token']]).toEqual([TOKEN, 'TOK-ZQ7-PLAIN']);

  await portal.put(at, { url: `${receiver.url}/stolen` }, 403);
  await portal.put(`/subscriptions/${subscription.uid}`, { function: v2('{}') });
  await portal.put(at, { url: `${receiver.url}/stolen` });
  const { description } = await resend('Failure');
  expect(description).toMatch(/another address since its function made the request with variables; replay/);
  await portal.put(at, { delivery: 'pull' });
  await sendAgain();
  const pulled = await portal.post(`${at}/pull`, {}, 200);
  expect(pulled.deliveries).toEqual([]);
  await shown(app.project, `/eventdeliveries/${uid}`, { status: 'Failure' });
  // A replay runs the function of today.
  await portal.put(at, { delivery: 'push' });
  await app.project.put(`/events/${event.uid}/replay`, undefined, 200);
  const [replayed] = await receiver.received(1, '/stolen');
  expect([replayed?.json, replayed?.headers['x-token']]).toEqual([{ n: 1 }, undefined]);
  // At the address that it was made for it arrives.
  await app.project.put(at, { url: `${receiver.url}/moved?own=1&keep=%20` });
  await resend('Success');
});

test('a request that was made with variables does not follow a portal link to another broker', async () => {
  await app.project.put('', { config: { portal_brokers: true } });
  const link = await app.project.post('/portal-links', {
    name: 'l',
    owner_id: 'brokers',
    can_manage_endpoint: true,
    can_edit_functions: true,
    can_use_brokers: true,
  });
  const portal = new ApiClient(app.project.base, link.token);
  const to = (routing_key: string) => ({
    type: 'amqp',
    amqp: { host: '127.0.0.1', port: '1', routing_key },
  });
  const endpoint = await app.project.post('/endpoints', {
    name: 'broker',
    owner_id: 'brokers',
    delivery: 'broker',
    broker: to('first'),
  });
  const subscription = await app.project.post('/subscriptions', {
    name: 's',
    endpoint_id: endpoint.uid,
    filter_config: { event_types: ['to-broker'] },
    function: v2('{ headers: { "X-Token": variables.PLAIN } }'),
    retry_config: { type: 'linear', interval_seconds: 1, retry_count: 1 },
  });
  const event = await send('to-broker');
  const { uid } = await newestDelivery(app.project, `eventId=${event.uid}`, 'Failure');
  const resend = async (description: RegExp) => {
    await app.project.put(`/eventdeliveries/${uid}/resend`, undefined, 200);
    const after = await shown(app.project, `/eventdeliveries/${uid}`, { status: 'Failure' });
    expect(after.description).toMatch(description);
  };
  await portal.put(`/subscriptions/${subscription.uid}`, { function: v2('{}') });
  await resend(/attempt/);
  await portal.put(`/endpoints/${endpoint.uid}`, { broker: to('stolen') });
  await resend(/another address since its function made the request with variables; replay/);
});
