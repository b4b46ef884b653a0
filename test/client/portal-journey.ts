import { expect } from 'vitest';
import type { Posthorn, PosthornPortal } from '../../client/src/posthorn.ts';
import { eventually } from '../support/eventually.ts';
import type { Receiver } from '../support/servers/receiver.ts';

/** Every operation that is open to portal links. The link may manage endpoints and create events. */
export async function portalJourney(
  portal: PosthornPortal,
  {
    project,
    receiver,
    openStream,
  }: { project: Posthorn; receiver: Receiver; openStream(client: PosthornPortal): Promise<void> },
): Promise<void> {
  expect((await portal.portal.getLink()).name).toBe('portal');
  await portal.portal.getConfiguration();
  await portal.portal.getAuthConfiguration();
  await portal.portal.getLicenseFeatures();
  await portal.eventTypes.list();
  const made = await portal.endpoints.create({ name: 'e', url: receiver.url });
  await portal.endpoints.list().page();
  await portal.endpoints.get(made.uid);
  await portal.endpoints.update(made.uid, { name: 'f', url: receiver.url });
  await portal.endpoints.pause(made.uid);
  await portal.endpoints.pause(made.uid);
  await portal.endpoints.pause(made.uid);
  await portal.endpoints.activate(made.uid);
  await portal.endpoints.expireSecret(made.uid, { expiration: 1, secret: 'next' });
  await portal.endpoints.test(made.uid);
  await portal.endpoints.getPeriodFailureRates({ endpointId: [made.uid] });
  const pulled = await portal.endpoints.create({ name: 'p', delivery: 'pull' });
  await portal.events.create({ endpoint_id: pulled.uid, event_type: 'pulled', data: 1 });
  const { deliveries: taken } = await portal.endpoints.pull(pulled.uid, { wait_seconds: 30 });
  const results = taken.map(({ uid, lease }) => ({ uid, lease, ok: true }));
  await portal.endpoints.reportResults(pulled.uid, { results });
  const sub = await portal.subscriptions.create({
    name: 's',
    endpoint_id: made.uid,
    filter_config: { event_types: ['order'] },
    retry_config: { type: 'linear', duration: '1s', retry_count: 0 },
  });
  await portal.subscriptions.list().page();
  await portal.subscriptions.get(sub.uid);
  await portal.subscriptions.update(sub.uid, { name: 't' });
  await portal.subscriptions.toggleStatus(sub.uid);
  await portal.subscriptions.toggleStatus(sub.uid);
  await portal.subscriptions.testFilter({ request: { body: {} }, schema: { body: {} } });
  await portal.subscriptions.preview(sub.uid, {});
  const fn = 'function transform(payload) { return payload; }';
  await portal.subscriptions.testFunction({ payload: 1, function: fn });
  await filters(portal, project, sub.uid);
  await deliveries(portal, receiver, made.uid);
  await portal.dashboard.getSummary();
  await portal.dashboard.getStatusTotals();
  await portal.eventDeliveries.getWaitingTotals();
  await portal.dashboard.getTimeSeries();
  await portal.eventDeliveries.listFailures();
  await portal.dashboard.search({ q: 'nothing at all' });
  await openStream(portal);
  await portal.endpoints.try({ endpoint: { url: receiver.url } });
  await portal.subscriptions.delete(sub.uid);
  await portal.endpoints.delete(made.uid);
}

async function filters(portal: PosthornPortal, project: Posthorn, subscriptionId: string): Promise<void> {
  for (const name of ['portal.one', 'portal.two']) await project.eventTypes.create({ name });
  const filter = await portal.filters.create(subscriptionId, { event_type: 'portal.one', body: { a: 1 } });
  await portal.filters.list(subscriptionId);
  await portal.filters.get(subscriptionId, filter.uid);
  await portal.filters.update(subscriptionId, filter.uid, { body: { a: 2 } });
  await portal.filters.updateMany(subscriptionId, [{ uid: filter.uid, body: { a: 3 } }]);
  const tried = await portal.filters.try(subscriptionId, 'portal.one', { payload: { a: 3 } });
  expect(tried.data.is_match).toBe(true);
  await portal.filters.createMany(subscriptionId, [{ event_type: 'portal.two' }]);
  await portal.filters.delete(subscriptionId, filter.uid);
}

async function deliveries(portal: PosthornPortal, receiver: Receiver, endpointId: string): Promise<void> {
  const ended = async (status: 'Success' | 'Failure') => {
    receiver.answerAlways(status === 'Success' ? 200 : 500);
    const event = await portal.events.create({ endpoint_id: endpointId, event_type: 'order', data: 1 });
    const { content } = await eventually(
      () => portal.eventDeliveries.list({ eventId: event.uid, status: [status] }).page(),
      (page) => page.content.length > 0,
    );
    return { event, delivery: content[0]! };
  };
  const failed = await ended('Failure');
  const { event, delivery } = await ended('Success');
  await portal.events.list().page();
  await portal.events.get(event.uid);
  await portal.events.replay(event.uid);
  await portal.events.countBatchReplay();
  await portal.events.batchReplay({ endpointId: [endpointId] });
  await portal.eventDeliveries.get(delivery.uid);
  const [attempt] = await portal.deliveryAttempts.list(delivery.uid);
  await portal.deliveryAttempts.get(delivery.uid, attempt!.uid);
  await portal.eventDeliveries.resend(failed.delivery.uid);
  await portal.eventDeliveries.forceResend({ ids: [delivery.uid] });
  await portal.eventDeliveries.countBatchRetry();
  const job = await portal.eventDeliveries.batchRetry({ endpointId: [endpointId] });
  await portal.jobs.get(job.uid);
}
