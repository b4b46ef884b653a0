import { expect, test } from 'vitest';
import { httpSource, startTestApp, subscribe } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { deliveryOf } from '../../support/settled.ts';
import { shared } from '../../support/shared.ts';

/** Headers that hold credentials by their name, and those that a project lists as visible. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());

const NAME = 'X-Shop-Token';
const VALUE = 'the-token-of-the-shop';

receiver.answerAlways((received, response) =>
  response
    .writeHead(200, { 'x-next-token': 'the-next-token', 'x-note': 'for all' })
    .end(String(received.headers[NAME.toLowerCase()])),
);

const show = (...visible_headers: string[]) => app.project.put('', { config: { visible_headers } });

/** The shown and stored forms of an event, its delivery and its attempt, and the request. */
async function seen(event: Json): Promise<Json> {
  const delivery = await deliveryOf(app.project, event);
  const [attempt] = await app.project.get(`/eventdeliveries/${delivery.uid}/deliveryattempts`);
  const [row] = await app.database.query('select headers, forwarded_headers from events where id = $1', [
    event['uid'],
  ]);
  const request = receiver.requests.find(({ headers }) => headers['webhook-id'] === delivery.uid);
  return { event: await app.project.get(`/events/${event['uid']}`), delivery, attempt, row, request };
}

async function sent(headers: Record<string, string>): Promise<Json> {
  const { endpoint } = await subscribe(app.project, receiver.url);
  const body = { endpoint_id: endpoint.uid, event_type: 'a', data: {}, custom_headers: headers };
  return seen(await app.project.post('/events', body));
}

// differs Requests and answers: Values of credential headers are `***` on events, deliveries and attempts,
//   except `visible_headers` of the project. They are secrets.
test('a header with token, secret, password or key in its name is sent, and neither stored nor shown in clear', async () => {
  await show();
  const { event, delivery, attempt, row, request } = await sent({ [NAME]: VALUE, 'X-Note': 'a note' });
  expect(request.headers[NAME.toLowerCase()]).toBe(VALUE);
  expect(JSON.stringify([event, delivery, attempt, row])).not.toContain(VALUE);
  expect([event.headers[NAME], delivery.headers[NAME]]).toEqual([['***'], ['***']]);
  expect(attempt.request_http_header).toMatchObject({ [NAME]: '***', 'X-Note': 'a note' });
  expect(attempt.response_http_header).toMatchObject({ 'x-next-token': '***', 'x-note': 'for all' });
  expect(attempt.response_data).toBe('***');
});

// proves Projects: visible_headers
test('visible_headers: a header that the project lists is stored and shown in clear', async () => {
  await show('x-shop-TOKEN');
  const { event, delivery, attempt, row } = await sent({ [NAME]: VALUE, 'X-Other-Token': 'other-token' });
  expect([event.headers[NAME], delivery.headers[NAME]]).toEqual([[VALUE], [VALUE]]);
  expect(row.headers).toContain(VALUE);
  expect(attempt.request_http_header[NAME]).toBe(VALUE);
  expect(attempt.response_data).toBe(VALUE);
  expect(JSON.stringify([event, delivery, attempt, row])).not.toContain('other-token');
  await show();
  expect((await app.project.get(`/events/${event.uid}`)).headers[NAME]).toEqual(['***']);
});

test('a listed header with the credential of an endpoint stays hidden', async () => {
  await show('X-Mine');
  const authentication = { type: 'api_key', api_key: { header_name: 'X-Mine', header_value: 'mine-alone' } };
  const { endpoint } = await subscribe(app.project, receiver.url, { endpoint: { authentication } });
  const body = { endpoint_id: endpoint.uid, event_type: 'a', data: {} };
  const { attempt, request } = await seen(await app.project.post('/events', body));
  expect(request.headers['x-mine']).toBe('mine-alone');
  expect(attempt.request_http_header['X-Mine']).toBe('***');
});

test('filters match such a header by its value, on arrival and on replay', async () => {
  await show();
  const source = await httpSource(app.project);
  const filter = { headers: { 'x-shop-token': VALUE } };
  const { endpoint } = await subscribe(app.project, receiver.url, {
    subscription: { source_id: source.uid, filter_config: { event_types: ['*'], filter } },
  });
  const post = (value: string) =>
    fetch(source.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', [NAME]: value },
      body: '{}',
    });
  expect((await post(VALUE)).status).toBe(200);
  expect((await post('another')).status).toBe(200);
  const deliveries = async (): Promise<Json[]> =>
    (await app.project.get(`/eventdeliveries?endpointId=${endpoint.uid}`)).content;
  const [delivery, ...more] = await deliveries();
  expect(more).toEqual([]);
  const event = await app.project.get(`/events/${delivery?.['event_id']}`);
  expect(event.headers[NAME]).toEqual(['***']);
  const [row] = await app.database.query('select headers from events where id = $1', [event.uid]);
  expect(row?.['headers']).not.toContain(VALUE);
  await app.project.put(`/events/${event.uid}/replay`, undefined, 200);
  expect(await deliveries()).toHaveLength(2);
});
