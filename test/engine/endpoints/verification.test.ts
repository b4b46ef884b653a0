import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { startTestApp, subscribe } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { type Answer, type Received, Receiver } from '../../support/servers/receiver.ts';
import { newestDelivery, shown } from '../../support/settled.ts';
import { shared } from '../../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
const { project } = app;

const isChallenge = ({ headers }: Received) => headers['x-posthorn-verification'] !== undefined;
/** The answers to challenges, by path. Deliveries are answered 200. */
const answers = new Map<string, Exclude<Answer, number>>();
receiver.answerAlways((request, response) => {
  const answer = isChallenge(request) ? answers.get(request.path) : undefined;
  if (answer === undefined) response.writeHead(200).end('ok');
  else answer(request, response);
});
const echo: Exclude<Answer, number> = ({ json }, response) => response.end(json.challenge);
const at = (path: string) => receiver.at(path);
const deliveries = (path: string) => at(path).filter((request) => !isChallenge(request));

/** An endpoint that has to answer, and whose first challenge has come in. */
async function pending(path: string, fields: object = {}): Promise<Json> {
  const { endpoint } = await subscribe(project, `${receiver.url}${path}`, {
    endpoint: { verification: 'challenge', secret: 's', ...fields },
  });
  expect(endpoint.status).toBe('pending');
  await receiver.received(1, path);
  return endpoint;
}
const send = (endpoint: Json): Promise<Json> =>
  project.post('/events', { endpoint_id: endpoint.uid, event_type: 'e', data: { n: 1 } });
const verify = (endpoint: Json, status = 202): Promise<Json> =>
  project.post(`/endpoints/${endpoint.uid}/verify`, undefined, status);

// proves Endpoints: verification
test('an endpoint is active once its URL has echoed a signed challenge', async () => {
  answers.set('/echo', echo);
  const endpoint = await pending('/echo', { envelope: 'standard', headers: { 'X-Tenant': 'acme' } });
  await shown(project, `/endpoints/${endpoint.uid}`, { status: 'active' });
  const [challenge] = at('/echo') as [Received];
  expect(challenge.json).toEqual({ type: 'verification', challenge: expect.stringMatching(/^\w{43}$/) });
  expect(challenge.headers).toMatchObject({ 'content-type': 'application/json', 'x-tenant': 'acme' });
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature } = challenge.headers;
  const signed = createHmac('sha256', 's').update(
    `${String(id)}.${String(time)}.${challenge.body.toString()}`,
  );
  expect(signature).toBe(`v1,${signed.digest('base64')}`);
  await send(endpoint);
  await receiver.received(2, '/echo');
  // Nothing more is asked of it.
  expect((await verify(endpoint)).status).toBe('active');
  expect(at('/echo').filter(isChallenge)).toHaveLength(1);
});

test('deliveries of a pending endpoint wait and say so, and go when it has answered', async () => {
  const endpoint = await pending('/later');
  const one = `/endpoints/${endpoint.uid}`;
  const event = await send(endpoint);
  const [waiting] = (await project.get(`/eventdeliveries?eventId=${event.uid}`)).content;
  expect(waiting.waiting_for).toEqual({ gate: 'pending', until: null });
  expect(waiting.description).toContain('has not answered the challenge');
  const listed = `/eventdeliveries?endpointId=${endpoint.uid}&waitingFor=`;
  expect((await project.get(`${listed}pending`)).content).toHaveLength(1);
  expect((await project.get(`${listed}node`)).content).toHaveLength(0);
  const [health] = (await project.get(`/health?endpointId=${endpoint.uid}`)).endpoints;
  expect(health).toMatchObject({ status: 'pending', state: 'held', waiting_for: { pending: 1 } });
  const { subscriptions } = await project.get(`/events/${event.uid}/explain`);
  expect(subscriptions.find((each: Json) => each.endpoint_id === endpoint.uid).cause).toBe('pending');
  expect((await verify(endpoint, 400)).message).toContain('its answer is not the challenge');
  expect((await project.put(`${one}/pause`, undefined, 400)).message).toContain('pending');
  expect((await project.post(`${one}/activate`, undefined, 400)).message).toContain('pending');
  expect((await project.post(`${one}/test`, undefined, 400)).message).toContain('verify it first');
  expect(deliveries('/later')).toEqual([]);

  answers.set('/later', ({ json }, response) => response.end(JSON.stringify({ challenge: json.challenge })));
  expect((await verify(endpoint)).status).toBe('active');
  await newestDelivery(project, `eventId=${event.uid}`, 'Success');
  expect(deliveries('/later')).toHaveLength(1);
});

test.each<[string, Exclude<Answer, number>, string]>([
  ['another text', (_request, response) => response.end('another'), 'its answer is not the challenge'],
  [
    'the echo with 500',
    ({ json }, response) => response.writeHead(500).end(json.challenge),
    'it answered 500',
  ],
  [
    'a redirect',
    (_request, response) => response.writeHead(302, { location: `${receiver.url}/echo` }).end(),
    'it answered 302',
  ],
  [
    'too much',
    ({ json }, response) => response.end(`${' '.repeat(5000)}${json.challenge}`),
    'not the challenge',
  ],
  ['a closed connection', (_request, response) => response.destroy(), 'still pending'],
])('an endpoint that answers with %s stays pending', async (what, answer, problem) => {
  const path = `/wrong-${what.replaceAll(' ', '-')}`;
  answers.set(path, answer);
  const before = at('/echo').length;
  const endpoint = await pending(path);
  expect((await verify(endpoint, 400)).message).toContain(problem);
  expect((await project.get(`/endpoints/${endpoint.uid}`)).status).toBe('pending');
  expect(at('/echo')).toHaveLength(before);
});

test('another URL has to answer too; the same URL and other changes do not', async () => {
  answers.set('/first', echo);
  const endpoint = await pending('/first');
  const one = `/endpoints/${endpoint.uid}`;
  await shown(project, one, { status: 'active' });
  expect((await project.put(one, { name: 'renamed', url: endpoint.url })).status).toBe('active');
  expect((await project.put(one, { url: `${receiver.url}/second` })).status).toBe('pending');
  await receiver.received(1, '/second');
  expect(at('/first').filter(isChallenge)).toHaveLength(1);
  await send(endpoint);
  answers.set('/second', echo);
  expect((await verify(endpoint)).status).toBe('active');
  await receiver.received(1, '/second');
  expect((await project.put(one, { url: `${receiver.url}/third`, verification: 'none' })).status).toBe(
    'active',
  );
  expect((await verify(endpoint, 400)).message).toContain('asks for no verification');
  await project.put(one, { verification: 'challenge' });
  await receiver.received(1, '/third');
  expect((await project.get(one)).status).toBe('pending');
});

test('a dry run asks nothing; an address that is not allowed is not called', async () => {
  const made = { name: 'dry', url: `${receiver.url}/dry`, verification: 'challenge' };
  const headers = { 'x-posthorn-dry-run': 'true' };
  await project.call('POST', '/endpoints', { body: made, headers, expected: 201 });
  const endpoint = await pending('/moved');
  const blocked = `update endpoints set url = 'http://169.254.169.254/latest' where id = $1`;
  await app.database.query(blocked, [endpoint.uid]);
  expect((await verify(endpoint, 400)).message).toContain('still pending');
  // A challenge would have come before those of the other.
  expect(at('/dry')).toEqual([]);
});

test('a portal link verifies its own endpoint, and cannot switch the verification off', async () => {
  const endpoint = await pending('/portal', { owner_id: 'verified' });
  const rights = { owner_id: 'verified', can_manage_endpoint: true };
  const link = await project.post('/portal-links', { name: 'l', ...rights });
  const portal = new ApiClient(`${app.url}/portal-api`, link.token);
  const one = `/endpoints/${endpoint.uid}`;
  const seen = await portal.put(one, { verification: 'none' });
  expect(seen).toMatchObject({ verification: 'challenge', status: 'pending' });
  answers.set('/portal', echo);
  expect((await portal.post(`${one}/verify`, undefined, 202)).status).toBe('active');
  const foreign = await pending('/foreign', { owner_id: 'another' });
  await portal.post(`/endpoints/${foreign.uid}/verify`, undefined, 404);
});
