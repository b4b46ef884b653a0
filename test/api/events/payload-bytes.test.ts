import { expect, test } from 'vitest';
import { startTestApp, subscribe } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shared } from '../../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());

const asBytes = (path: string, accept = 'application/json; payload=bytes'): Promise<Json> =>
  app.project.call('GET', path, { expected: 200, headers: { accept } });
const text = (bytes: number[]): string => Buffer.from(bytes).toString();

// differs Requests and answers: `Accept: application/json; payload=bytes` gives payloads as arrays of integers.
//   The interface has them so.
test('payloads are arrays of integers on request, exact to the byte, and inline otherwise', async () => {
  await subscribe(app.project, receiver.url);
  const body = '{"event_type":"e","data":{"n":1.10,"ü":"\\u00e9🎺","z":[ ]}}';
  const compact = '{"n":1.10,"ü":"\\u00e9🎺","z":[]}';
  const made = await app.project.call('POST', '/events/broadcast', {
    body,
    expected: 201,
    headers: { accept: 'application/json;payload=bytes' },
  });
  expect(text(made.data)).toBe(compact);
  expect(made.data.every((byte: unknown) => Number.isInteger(byte))).toBe(true);
  expect(text((await asBytes(`/events/${made.uid}`)).data)).toBe(compact);
  expect(text((await asBytes('/events')).content[0].data)).toBe(compact);
  const [delivery] = (await asBytes('/eventdeliveries')).content;
  expect(text(delivery.metadata.data)).toBe(compact);
  expect(delivery.metadata.raw).toBe(compact);
  expect((await app.project.get(`/events/${made.uid}`)).data).toEqual({ n: 1.1, ü: 'é🎺', z: [] });
});

test.each(['application/json', '*/*', 'application/json; payload=text', 'application/json; xpayload=bytes'])(
  'Accept %s is answered with inline JSON',
  async (accept) => {
    const made = await app.project.post('/events/broadcast', { event_type: 'e', data: {} });
    expect((await asBytes(`/events/${made.uid}`, accept)).data).toEqual({});
  },
);

test('among several accepted types the parameter still counts', async () => {
  const made = await app.project.post('/events/broadcast', { event_type: 'e', data: 7 });
  const accept = 'text/html, application/json;q=0.9; payload="bytes", */*';
  expect((await asBytes(`/events/${made.uid}`, accept)).data).toEqual([55]);
});

test('a service account is base64, or bytes on request', async () => {
  const service_account = Buffer.from('{"type":"service_account"}').toString('base64');
  const google = { project_id: 'p', subscription_id: 's', service_account, endpoint: 'http://127.0.0.1:1' };
  const made = await app.project.post('/sources', {
    name: 'google',
    type: 'pub_sub',
    pub_sub: { type: 'google', workers: 1, google },
  });
  expect(made.pub_sub.google).toEqual(google);
  const shown = await asBytes(`/sources/${made.uid}`);
  expect(text(shown.pub_sub.google.service_account)).toBe('{"type":"service_account"}');
});
