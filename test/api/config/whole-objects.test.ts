import { beforeAll, expect, test } from 'vitest';
import { portalOf, startTestApp, subscribe } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { fetchOpenApi } from '../../support/openapi.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shared } from '../../support/shared.ts';

/** A single read gives the event of a delivery and the endpoints of an event whole, a list gives them short. */
const service = await shared(startTestApp());
const receiver = await shared(Receiver.start());
let mine: Json;
let theirs: Json;
let event: Json;
let delivery: Json;

beforeAll(async () => {
  ({ endpoint: mine } = await subscribe(service.project, receiver.url, { endpoint: { owner_id: 'me' } }));
  ({ endpoint: theirs } = await subscribe(service.project, receiver.url, { endpoint: { owner_id: 'you' } }));
  event = await service.project.post('/events/broadcast', {
    event_type: 'a',
    data: { n: 1 },
    custom_headers: { 'X-Note': 'value' },
  });
  await receiver.received(2);
  const { content } = await service.project.get(
    `/eventdeliveries?eventId=${event.uid}&endpointId=${mine.uid}`,
  );
  delivery = content[0];
});

const portal = async (fields: object) => {
  return portalOf(service.project, 'me', fields);
};
/** Counts move while attempts are being recorded. */
const withoutCounts = (endpoint: Json) => ({ ...endpoint, events: 0, failure_rate: 0 });

test('an event shows its endpoints in full, with their secrets, to a key', async () => {
  const { endpoint_metadata } = await service.project.get(`/events/${event.uid}`);
  const single = await Promise.all([mine, theirs].map(({ uid }) => service.project.get(`/endpoints/${uid}`)));
  expect(endpoint_metadata.map(withoutCounts)).toEqual(single.map(withoutCounts));
  expect(endpoint_metadata[0].secrets[0].value).toBe(mine.secrets[0].value);
});

test('a delivery shows its event in full', async () => {
  const { endpoint_metadata: _, ...whole } = await service.project.get(`/events/${event.uid}`);
  const { event_metadata } = await service.project.get(`/eventdeliveries/${delivery.uid}`);
  expect(event_metadata).toEqual(whole);
  expect(event_metadata).toMatchObject({ data: { n: 1 }, headers: { 'X-Note': ['value'] } });
});

// differs Requests and answers: Lists leave out `endpoint_metadata` of an event and shorten `event_metadata` of
//   a delivery. They would repeat.
test('lists show them short', async () => {
  expect(delivery.event_metadata).toEqual({
    uid: event.uid,
    event_type: 'a',
    created_at: event.created_at,
  });
  const { content } = await service.project.get('/events');
  expect(content[0].endpoint_metadata).toBeUndefined();
});

test('a portal sees its own endpoints, and their secrets only if it may manage them', async () => {
  const reading = await (await portal({})).get(`/events/${event.uid}`);
  expect(reading.endpoints).toEqual([mine.uid]);
  expect(reading.endpoint_metadata.map(({ uid }: Json) => uid)).toEqual([mine.uid]);
  expect(reading.endpoint_metadata[0].secrets).toEqual([]);
  expect(JSON.stringify(reading)).not.toContain(mine.secrets[0].value);
  const managing = await (await portal({ can_manage_endpoint: true })).get(`/events/${event.uid}`);
  expect(managing.endpoint_metadata[0].secrets[0].value).toBe(mine.secrets[0].value);
  expect(JSON.stringify(managing)).not.toContain(theirs.secrets[0].value);
  const { event_metadata } = await (await portal({})).get(`/eventdeliveries/${delivery.uid}`);
  expect(event_metadata).toMatchObject({ endpoints: [mine.uid], headers: { 'X-Note': ['***'] } });
});

test('the OpenAPI document says so', async () => {
  const document = await fetchOpenApi(service.url);
  const dataOf = (path: string) =>
    document.paths[`/api/v1/projects/{projectID}${path}`].get.responses['200'].content['application/json']
      .schema.properties.data;
  const whole = dataOf('/events/{eventID}').properties.endpoint_metadata.items.properties;
  expect(Object.keys(whole)).toEqual(expect.arrayContaining(['uid', 'secrets', 'rate_limit', 'cb_state']));
  const ofDelivery = dataOf('/eventdeliveries/{eventDeliveryID}').properties.event_metadata.properties;
  expect(Object.keys(ofDelivery)).toEqual(expect.arrayContaining(['uid', 'data', 'raw', 'endpoints']));
  const listed = dataOf('/eventdeliveries').properties.content.items.properties.event_metadata.properties;
  expect(Object.keys(listed)).toEqual(['uid', 'event_type', 'created_at']);
});
