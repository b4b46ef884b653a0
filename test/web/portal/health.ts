import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { subscribe } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { deliveryOf, shown } from '../../support/settled.ts';
import { goTo, type PortalWorld } from './world.ts';

/** A customer with an endpoint that works and one that answers 503: three deliveries wait for an hour, and one has failed. */
async function incident(project: ApiClient, owner_id: string) {
  const receiver = await Receiver.start();
  const type = (name: string) => `${owner_id}.${name}`;
  const retry = (retry_count: number) => ({
    retry_config: { type: 'linear', interval_seconds: 3600, retry_count },
  });
  await subscribe(project, `${receiver.url}/fine`, {
    endpoint: { name: 'Fine', owner_id },
    eventTypes: [type('fine')],
  });
  const { endpoint } = await subscribe(project, `${receiver.url}/down`, {
    endpoint: { name: 'Down', owner_id },
    eventTypes: [type('waits')],
    subscription: retry(5),
  });
  const name = 'lost';
  const filter_config = { event_types: [type('lost')] };
  await project.post('/subscriptions', { name, endpoint_id: endpoint.uid, filter_config, ...retry(0) });
  const send = (kind: string): Promise<Json> =>
    project.post('/events/fanout', { owner_id, event_type: type(kind), data: { kind } });
  receiver.answerAlways(({ path }, response) => response.writeHead(path === '/down' ? 503 : 200).end());
  await deliveryOf(project, await send('fine'), 'Success');
  const waiting: Json[] = [];
  for (let n = 0; n < 3; n++) waiting.push(await deliveryOf(project, await send('waits'), 'Retry'));
  await deliveryOf(project, await send('lost'), 'Failure');
  // A test is no delivery: it counts nowhere, and no retry sends it again.
  await project.post(`/endpoints/${endpoint.uid}/test`, undefined, 200);
  const repair = () => {
    receiver.requests.length = 0;
    receiver.answerAlways(200);
  };
  return { receiver, endpoint, waiting, repair, send, type };
}

const hasText = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();

export function portalHealthTests(get: () => PortalWorld): void {
  describe('its first page', () => {
    it('says in one line that all is well', async () => {
      const { visit, link, app } = get();
      const receiver = await Receiver.start();
      const owner_id = 'customer-calm';
      const add = (name: string) =>
        subscribe(app.project, receiver.url, {
          endpoint: { name, owner_id },
          eventTypes: [`calm.${name}`],
        });
      const [, { endpoint: second }] = [await add('One'), await add('Two')];
      const { url } = await link({ owner_id });
      const { page, wrongs, close } = await visit(url);
      await hasText(page, 'No problems. Nothing was sent in the last 24 hours.');
      for (const event_type of ['calm.One', 'calm.Two'])
        await deliveryOf(
          app.project,
          await app.project.post('/events/fanout', { owner_id, event_type, data: {} }),
          'Success',
        );
      await hasText(page, 'Both endpoints receive their deliveries.');
      expect(await page.getByText('1 delivered, 0 failed').count()).toBe(2);
      await app.project.put(`/endpoints/${second.uid}/pause`);
      await hasText(page, '1 endpoint receives its deliveries. 1 is paused.');
      await app.project.post('/events/fanout', { owner_id, event_type: 'calm.Two', data: {} });
      await hasText(page, '1 of 2 endpoints needs attention');
      await hasText(page, '1 held by the pause');
      // A rate or a pause is not passed by, so there is nothing to send now.
      expect(await page.getByRole('button', { name: /now$/ }).count()).toBe(0);
      expect(wrongs).toEqual([]);
      await close();
      await receiver.stop();
    });

    it('names the endpoint in trouble with its cause and the numbers that every place and the API have, and sends what waits', async () => {
      const world = get();
      const owner_id = 'customer-trouble';
      const { endpoint, receiver, repair } = await incident(world.app.project, owner_id);
      const { url, token } = await world.link({ owner_id });
      const { page, wrongs, close } = await world.visit(url);
      await page.getByRole('heading', { name: '1 of 2 endpoints needs attention' }).waitFor();
      const box = page.getByRole('region', { name: 'Down' });
      await box.getByText(/^Your server answered 503, \S/).waitFor();
      await box.getByText(/It began \S/).waitFor();
      const day = '0 delivered, 1 failed';
      const open = '3 waiting to retry';
      await box.getByText(day).waitFor();
      await box.getByText(open).waitFor();
      await page
        .getByRole('listitem')
        .filter({ hasText: 'Fine' })
        .getByText('1 delivered, 0 failed')
        .waitFor();
      const portal = new ApiClient(`${world.app.url}/portal-api`, token);
      const from = new Date(Date.now() - 86_400_000).toISOString();
      const { endpoints } = await portal.get(`/health?startDate=${from}`);
      expect(endpoints[0]).toMatchObject({
        name: 'Down',
        delivered: 0,
        failed: 1,
        waiting_for: { retry: 3, circuit_breaker: 0 },
      });
      expect(endpoints[1]).toMatchObject({ name: 'Fine', delivered: 1, failed: 0, open: 0 });
      await box.getByRole('link', { name: 'Down' }).click();
      const own = page.getByRole('region', { name: 'This endpoint is failing' });
      await own.getByText(day).waitFor();
      await own.getByText(open).waitFor();
      await own.getByText('Your server has an error.').waitFor();

      repair();
      await own.getByRole('button', { name: 'Send 3 deliveries now' }).click();
      await page.getByText(/^Requested for 3 deliveries/).waitFor();
      await receiver.received(3);
      // Only the one that failed is left. The endpoint works again, so the rest of the trouble is that.
      const left = page.getByRole('region', { name: 'Some deliveries failed' });
      await left.getByText('3 delivered, 1 failed').waitFor();
      await left.getByRole('button', { name: 'Retry 1 failed delivery' }).click();
      await receiver.received(4);
      await left.waitFor({ state: 'detached' });
      await hasText(page, '4 delivered, 0 failed');
      const types = receiver.requests.map(({ json }) => (json as { kind: string }).kind);
      expect(types.toSorted()).toEqual(['lost', 'waits', 'waits', 'waits']);
      await goTo(page, '#/endpoints');
      await hasText(page, 'Both endpoints receive their deliveries.');
      expect((await world.app.project.get(`/endpoints/${endpoint.uid}`)).status).toBe('active');
      expect(wrongs).toEqual([]);
      await close();
      await receiver.stop();
    });

    it('sends one delivery now from its page, also behind the circuit breaker, and only with the right to', async () => {
      const { app, visit } = get();
      // Nothing but the button sends anything within an hour, and the breaker outlasts the retries with their jitter.
      const project = await app.newProject({
        circuit_breaker: { error_timeout: 7200 },
        disable_after: '120h',
      });
      const owner_id = 'customer-now';
      const { endpoint, receiver, waiting, repair, send } = await incident(project, owner_id);
      const link = (rights: object) => project.post('/portal-links', { name: 'link', owner_id, ...rights });
      const [one] = waiting as [Json];
      const { page, wrongs, close } = await visit((await link({ can_retry: false })).url);
      await hasText(page, '3 waiting to retry');
      const now = page.getByRole('button', { name: /now$/ });
      expect([await now.count(), await page.getByRole('button', { name: /^Retry/ }).count()]).toEqual([0, 0]);
      await goTo(page, `#/deliveries/${one.uid}`);
      await hasText(page, /Next attempt/);
      expect(await now.count()).toBe(0);

      const inAnHour = new Date(Date.now() + 3_630_000);
      await project.put(`/endpoints/${endpoint.uid}`, { expires_at: inAnHour.toISOString() });
      await page.goto((await link({})).url);
      await goTo(page, `#/endpoints/${endpoint.uid}`);
      await hasText(page, /If this goes on, the endpoint will be disabled/);
      await hasText(page, /^It expires, and then nothing is sent to it: in 1 h$/);
      repair();
      await goTo(page, `#/deliveries/${one.uid}`);
      await page.getByRole('button', { name: 'Send now' }).click();
      await page.getByText('Sending requested.').waitFor();
      await hasText(page, /^Delivered in .* at attempt 2/);
      expect(await now.count()).toBe(0);
      expect(receiver.requests).toHaveLength(1);

      await app.database.query(
        `with v as (update projects set version = version + 1 where id = $2 returning version)
         insert into endpoint_breakers (endpoint_id, project_id, version, state, trips, probes, changed_at)
         select $1, $2, version, 'open', 1, 0, now() from v`,
        [endpoint.uid, project.projectId],
      );
      await shown(project, `/endpoints/${endpoint.uid}`, { cb_state: 'open' });
      const held = await deliveryOf(project, await send('waits'), 'Scheduled');
      await goTo(page, '#/endpoints');
      await hasText(page, '3 held until the endpoint recovers');
      await hasText(page, 'One is sent first. If it is accepted, the rest follows.');
      await goTo(page, `#/deliveries/${held.uid}`);
      await hasText(page, /^Paused by the circuit breaker/);
      await page.getByRole('button', { name: 'Send now' }).click();
      await receiver.received(2);
      await hasText(page, /^Delivered in/);
      expect(wrongs).toEqual([]);
      await close();
      await receiver.stop();
    });

    it('counts for a link of some event types those alone', async () => {
      const world = get();
      const owner_id = 'customer-some';
      const { receiver, type } = await incident(world.app.project, owner_id);
      const { url } = await world.link({ owner_id, event_types: [type('waits')] });
      const { page, wrongs, close } = await world.visit(url);
      const box = page.getByRole('region', { name: 'Down' });
      await box.getByText('Last 24 hours: 0 delivered', { exact: true }).waitFor();
      await box.getByText(/^Your server answered 503, \S/).waitFor();
      await box.getByRole('button', { name: 'Send 3 deliveries now' }).waitFor();
      expect(await page.getByText('Nothing sent').count()).toBe(1);
      expect(wrongs).toEqual([]);
      await close();
      await receiver.stop();
    });
  });
}
