import { describe, expect, test } from 'vitest';
import { Sealer } from '../../../src/platform/sealer.ts';
import { EndpointStore } from '../../../src/store/config/endpoints.ts';
import { PullScene } from '../../pull/consumer.ts';
import { portalOf, SECRET_KEY, startTestApp, subscribe } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { atLeast, eventually } from '../../support/eventually.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { newestDelivery, shown } from '../../support/settled.ts';
import { shared } from '../../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
const { project } = app;

const REASON = 'The endpoint has expired; give it a later expires_at and resend.';
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
const FAR = '2199-01-31T15:04:05.000Z';

const send = (endpoint: Json): Promise<Json> =>
  project.post('/events', { endpoint_id: endpoint.uid, event_type: 'e', data: {} });

/** An endpoint whose time is over, as a node that was not there at that time reads it. */
async function expired(fields: object = {}): Promise<Json> {
  const { endpoint } = await subscribe(project, `${receiver.url}/expired`, {
    endpoint: { expires_at: inMs(3_000), ...fields },
  });
  return shown(project, `/endpoints/${endpoint.uid}`, { status: 'inactive' });
}

describe('an endpoint with expires_at', () => {
  // proves Endpoints: expires_at
  test('gets deliveries before it, and from then on they are discarded with the reason', async () => {
    const { endpoint } = await subscribe(project, `${receiver.url}/before`, {
      endpoint: { expires_at: FAR },
    });
    expect(endpoint).toMatchObject({ status: 'active', expires_at: FAR });
    await send(endpoint);
    await receiver.received(1, '/before');
    const soon = await project.put(`/endpoints/${endpoint.uid}`, { expires_at: inMs(3_000) });
    await shown(project, `/endpoints/${endpoint.uid}`, { status: 'inactive', expires_at: soon.expires_at });
    const { content } = await project.get('/endpoints?perPage=100');
    expect(content.find((one: Json) => one.uid === endpoint.uid).status).toBe('inactive');
    const event = await send(endpoint);
    const delivery = await newestDelivery(project, `eventId=${event.uid}`, 'Discarded');
    expect(delivery.description).toBe(REASON);
    expect(receiver.at('/before')).toHaveLength(1);
  });

  test('tells its owner once: an alert and a meta event, and the alert ends with a later time', async () => {
    const meta_event = {
      is_enabled: true,
      url: `${receiver.url}/reported`,
      event_type: ['endpoint.disabled', 'alert.*'],
    };
    const client = await app.newProject({ meta_event });
    const body = { name: 'n', url: receiver.url, expires_at: inMs(5_000) };
    // A project that has closed here gets no notice now, and the others do not wait for it.
    const closed = await app.newProject();
    await closed.post('/endpoints', { ...body, expires_at: inMs(3_000) });
    await app.database.query("update projects set cell_state = 'closed' where id = $1", [closed.projectId]);
    const [first, second, disabled] = [
      await client.post('/endpoints', body),
      await client.post('/endpoints', body),
      await client.post('/endpoints', body),
    ];
    await client.put(`/endpoints/${disabled.uid}`, { is_disabled: true });
    const reported = (count: number) =>
      eventually(async () => receiver.at('/reported').map(({ json }) => json as Json), {
        length: atLeast(count),
      });
    const kindsOf = (all: Json[]) => all.map(({ event_type, data }) => `${event_type} ${data.kind ?? ''}`);
    const unreported = new EndpointStore(new Sealer([Buffer.from(SECRET_KEY)]));
    const waiting = async () =>
      (await unreported.expiredUnreported(app.app.db, { limit: 100, except: [] })).map(({ projectId }) =>
        String(projectId),
      );
    const raised = (await reported(5)).filter(({ data }) => data.uid !== disabled.uid);
    expect(kindsOf(raised).toSorted()).toEqual([
      'alert.raised disabled',
      'alert.raised disabled',
      'endpoint.disabled ',
      'endpoint.disabled ',
    ]);
    expect(await waiting()).not.toContain(closed.projectId);
    const of = (type: string) =>
      raised.find(
        ({ event_type, data }) => event_type === type && [data.uid, data.endpoint_id].includes(first.uid),
      );
    expect(of('endpoint.disabled')?.data).toMatchObject({
      status: 'inactive',
      reason: 'its expires_at has come',
    });
    expect(of('alert.raised')?.data.summary).toBe('It was made inactive: its expires_at has come.');
    await client.put(`/endpoints/${first.uid}`, { expires_at: inMs(3_000) });
    const again = (await reported(8)).slice(5);
    expect(kindsOf(again).toSorted()).toEqual([
      'alert.cleared disabled',
      'alert.raised disabled',
      'endpoint.disabled ',
    ]);
    expect(again.every(({ data }) => [data.uid, data.endpoint_id].includes(first.uid))).toBe(true);
    await client.put(`/endpoints/${second.uid}`, { expires_at: null });
    expect(kindsOf((await reported(9)).slice(8))).toEqual(['alert.cleared disabled']);
  });

  test('discards what waited for it: a held delivery, and one that no consumer took', async () => {
    const { endpoint } = await subscribe(project, `${receiver.url}/held`);
    await project.put(`/endpoints/${endpoint.uid}/pause`);
    const scene = await PullScene.make(project);
    const held = await send(endpoint);
    const [pulled] = await scene.send(1);
    for (const { uid } of [endpoint, scene.endpoint])
      await project.put(`/endpoints/${uid}`, { expires_at: inMs(3_000) });
    for (const event of [held, pulled]) {
      const delivery = await newestDelivery(project, `eventId=${event?.uid}`, 'Discarded');
      expect(delivery.description).toBe(REASON);
    }
    expect(receiver.at('/held')).toEqual([]);
    expect(await scene.pull({ wait_seconds: 0 })).toEqual([]);
  });

  test('is active again with a later time or none, and then its deliveries can be resent', async () => {
    const endpoint = await expired();
    const one = `/endpoints/${endpoint.uid}`;
    const event = await send(endpoint);
    const delivery = await newestDelivery(project, `eventId=${event.uid}`, 'Discarded');
    const resend = `/eventdeliveries/${delivery.uid}/resend`;
    expect((await project.put(resend, undefined, 400)).message).toContain('has expired');
    expect((await project.post(`${one}/activate`, undefined, 400)).message).toContain('has expired');
    // A caller may write back what it read.
    expect((await project.put(one, { name: 'same', expires_at: endpoint.expires_at })).status).toBe(
      'inactive',
    );
    expect((await project.put(one, { expires_at: FAR })).status).toBe('active');
    expect(await project.put(one, { expires_at: null })).toMatchObject({
      status: 'active',
      expires_at: null,
    });
    await project.put(resend, undefined, 200);
    await newestDelivery(project, `eventId=${event.uid}`, 'Success');
  });

  test('explains itself: to events that match it, to health, and to a portal link, which cannot move the time', async () => {
    const endpoint = await expired({ owner_id: 'expired' });
    const event = await send(endpoint);
    const { subscriptions } = await project.get(`/events/${event.uid}/explain`);
    const own = subscriptions.find((each: Json) => each.endpoint_id === endpoint.uid);
    expect(own).toMatchObject({ matched: true, cause: 'inactive' });
    const { endpoints } = await project.get(`/health?endpointId=${endpoint.uid}`);
    expect(endpoints).toMatchObject([{ status: 'inactive', state: 'disabled', may_send_now: false }]);
    expect(event.endpoint_metadata[0].status).toBe('inactive');
    expect((await project.post(`/endpoints/${endpoint.uid}/test`, undefined, 400)).message).toContain(
      'inactive',
    );
    const portal = await portalOf(project, 'expired', { can_manage_endpoint: true });
    const seen = await portal.put(`/endpoints/${endpoint.uid}`, { name: 'n', expires_at: FAR });
    expect(seen).toMatchObject({ status: 'inactive', expires_at: endpoint.expires_at });
    const made = await portal.post('/endpoints', { name: 'n', url: receiver.url, expires_at: FAR });
    expect(made.expires_at).toBeNull();
  });

  test.each(['2020-01-31T15:04:05Z', 'tomorrow', '2026-02-30T00:00:00Z', 5])(
    'of %j is refused',
    async (expires_at) => {
      const body = { name: 'n', url: receiver.url, expires_at };
      const refused = await project.call('POST', '/endpoints', { body, expected: 400 });
      expect(refused.message).toContain('expires_at');
    },
  );
});
