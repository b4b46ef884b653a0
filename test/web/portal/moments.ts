import { describe, expect, it } from 'vitest';
import { subscribe } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { goTo, type PortalWorld } from './world.ts';

export function portalMomentTests(get: () => PortalWorld): void {
  describe('a customer', () => {
    it('finds out why a delivery failed, retries it and copies it as curl', async () => {
      const { visit, link, app, seed } = get();
      const { url } = await link({ owner_id: 'customer-9' });
      const { page, wrongs, close } = await visit(url);
      // The list says why and when.
      await page.getByText(/^Your server answered 500, \S/).waitFor();
      await page.getByRole('link', { name: 'Deliveries' }).click();
      await page.getByLabel('State').selectOption('Failure');
      await page.getByRole('button', { name: /Retry \d+ failed deliver/ }).waitFor();
      await page.getByRole('link', { name: 'payment.failed' }).first().click();
      await page
        .getByText(/Your server has an error/)
        .first()
        .waitFor();
      await page.getByText('database is down, ticket 4711').first().waitFor();
      const id = new URL(page.url()).hash.split('/').at(-1) ?? '';
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await page.getByRole('button', { name: 'Copy as curl' }).click();
      await page.getByRole('button', { name: 'Copied' }).waitFor();
      const curl = (await page.evaluate('navigator.clipboard.readText()')) as string;
      expect(curl).toContain(`curl -i -X POST '${seed.endpoints.broken.url}'`);
      expect(curl).not.toContain('***');
      expect(curl).toContain("-H 'User-Agent: Posthorn/");
      const before = await app.project.get(`/eventdeliveries/${id}`);
      await page.getByRole('button', { name: 'Retry', exact: true }).click();
      await page.getByText('Retry requested.').waitFor();
      await eventually(
        () => app.project.get(`/eventdeliveries/${id}/deliveryattempts`),
        (attempts) => attempts.length > before.metadata.num_trials,
      );
      await goTo(page, '#/deliveries?state=Failure');
      await page.getByRole('button', { name: /Retry \d+ failed deliver/ }).click();
      await page.getByText(/^Requested for \d+ deliver/).waitFor();
      expect(wrongs).toEqual([]);
      await close();
    });

    it('sees that a consumer fetched a delivery, and no request to an empty address', async () => {
      const { visit, link, app } = get();
      const owner_id = 'customer-pull';
      const endpoint = await app.project.post('/endpoints', {
        name: 'Warehouse',
        delivery: 'pull',
        owner_id,
      });
      const filter_config = { event_types: ['stock.low'] };
      await app.project.post('/subscriptions', { name: 's', endpoint_id: endpoint.uid, filter_config });
      await app.project.post('/events/fanout', { owner_id, event_type: 'stock.low', data: { left: 3 } });
      const { deliveries } = await app.project.post(`/endpoints/${endpoint.uid}/pull`, {}, 200);
      const results = deliveries.map(({ uid, lease }: Json) => ({ uid, lease, ok: true }));
      await app.project.post(`/endpoints/${endpoint.uid}/pull/results`, { results }, 200);
      const { url } = await link({ owner_id });
      const { page, wrongs, close } = await visit(url, { language: 'de-DE' });
      await goTo(page, `#/deliveries/${deliveries[0].uid}`);
      await page.getByText('Ein Consumer hat sie abgeholt und das Ergebnis gemeldet.').waitFor();
      await page.getByText('webhook-id').waitFor();
      await page.getByText('Als erledigt gemeldet').waitFor();
      await page.getByText(/^Gesamt/).waitFor();
      expect(await page.getByRole('button', { name: 'Als curl kopieren' }).count()).toBe(0);
      expect(await page.getByText('POST', { exact: true }).count()).toBe(0);
      // Nothing can be sent to it, so there is no test.
      await goTo(page, `#/endpoints/${endpoint.uid}`);
      await page.getByRole('heading', { name: 'Warehouse' }).waitFor();
      expect(await page.getByRole('button', { name: 'Testereignis senden' }).count()).toBe(0);
      expect(wrongs).toEqual([]);
      await close();
    });

    it('adds an endpoint, chooses its events, sees the answer of the test, changes it and rolls its secret', async () => {
      const { visit, link, app } = get();
      const receiver = await Receiver.start();
      const owner_id = 'customer-new';
      const { url } = await link({ owner_id, can_manage_endpoint: true });
      const { page, wrongs, close } = await visit(url);
      await page.getByText('Where should we send your events?').waitFor();
      await page.getByRole('button', { name: 'Add endpoint' }).click();
      await page.getByLabel('URL').fill(`${receiver.url}/hook`);
      await page.getByLabel('All event types').uncheck();
      await page.getByLabel('invoice.reminder').check();
      await page.getByText('Example: invoice.reminder').click();
      await page.getByRole('region', { name: 'Example: invoice.reminder' }).getByText('4711').waitFor();
      await page.getByRole('button', { name: 'Add and test' }).click();
      await page.getByText('200 OK').first().waitFor();
      await page.getByRole('button', { name: 'Copy Standard Webhooks' }).waitFor();
      expect((await receiver.received(1))[0]?.headers['webhook-signature']).toMatch(/^v1,/);
      await page.getByRole('link', { name: 'Open endpoint' }).click();
      await page.getByText('invoice.reminder').first().waitFor();

      const stored = async (): Promise<Json> =>
        (await app.project.get(`/endpoints?ownerId=${owner_id}`)).content[0];
      await page.getByRole('button', { name: 'Edit…' }).click();
      await page.getByLabel('Name', { exact: true }).fill('Shop');
      await page.getByLabel('Header name').fill('X-Shop-Key');
      await page.getByLabel('Header value').fill('k-1');
      await page.getByRole('button', { name: 'Save endpoint' }).click();
      await page.getByRole('heading', { name: 'Shop', exact: true }).waitFor();
      expect((await stored()).authentication).toMatchObject({
        type: 'api_key',
        api_key: { header_name: 'X-Shop-Key', header_value: 'k-1' },
      });

      await page.getByRole('button', { name: 'Pause' }).click();
      await page.getByText('Paused. Deliveries are held.').waitFor();
      await page.getByRole('button', { name: 'Resume' }).click();
      await page.getByText('Active. Held deliveries are being sent.').waitFor();

      const [{ value: old }] = (await stored()).secrets;
      await page.getByRole('button', { name: 'Roll secret…' }).click();
      await page.getByRole('button', { name: 'Roll secret', exact: true }).click();
      await page
        .getByText(/expires in/)
        .first()
        .waitFor();
      const { secrets } = await stored();
      expect(secrets).toHaveLength(2);
      await page.getByRole('dialog').getByText(secrets[1].value, { exact: true }).waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Show', exact: true }).click();
      await page.getByText(old).first().waitFor();

      await app.project.post('/events/broadcast', { event_type: 'invoice.reminder', data: { invoice: 7 } });
      await receiver.received(2);
      await page.getByRole('button', { name: 'Add function…' }).click();
      await page.getByLabel('Code').fill('function transform(p) { return { ...p, seen: p.invoice + 1 }; }');
      await page.getByRole('button', { name: 'Try on the latest event' }).click();
      await page.getByRole('region', { name: 'After' }).getByText('seen').waitFor();
      await page.getByRole('button', { name: 'Save function' }).click();
      await page.getByRole('button', { name: 'Function…', exact: true }).waitFor();
      await app.project.post('/events/broadcast', { event_type: 'invoice.reminder', data: { invoice: 8 } });
      expect((await receiver.received(3))[2]?.json).toEqual({ invoice: 8, seen: 9 });

      await page.getByLabel('Event type').selectOption('invoice.reminder');
      await page.getByRole('button', { name: 'Send a test event' }).click();
      const request = (await receiver.received(4))[3];
      expect(request?.json).toEqual({ invoice: 4711, amount: 'text' });
      expect(request?.headers['x-shop-key']).toBe('k-1');
      await page.getByText('200 OK').first().waitFor();
      expect(wrongs).toEqual([]);
      await close();
      await receiver.stop();
    });

    it('replaces a function whose code the link does not show, and only by code', async () => {
      const { visit, link, app } = get();
      const owner_id = 'customer-blind';
      const code = 'function transform(p) { return p; } // hush';
      const { endpoint, subscription } = await subscribe(app.project, app.url, {
        endpoint: { owner_id },
        eventTypes: ['invoice.hidden'],
        subscription: { function: code },
      });
      const stored = async () => (await app.project.get(`/subscriptions/${subscription.uid}`)).function;
      const { url } = await link({ owner_id, can_manage_endpoint: true, can_see_secrets: false });
      const { page, wrongs, close } = await visit(url);
      await goTo(page, `#/endpoints/${endpoint.uid}`);
      const replace = page.getByRole('button', { name: 'Replace function…' });
      await replace.click();
      await page.getByText('This link does not show the code').waitFor();
      expect(await page.getByLabel('Code').inputValue()).not.toContain('***');
      await page.getByRole('button', { name: 'Save function' }).click();
      await page.getByLabel('Code').waitFor({ state: 'detached' });
      expect(await stored()).toBe(code);
      await replace.click();
      await page.getByLabel('Code').fill('function transform(p) { return p; } // next');
      await page.getByRole('button', { name: 'Save function' }).click();
      await page.getByLabel('Code').waitFor({ state: 'detached' });
      expect(await stored()).toContain('// next');
      expect(wrongs).toEqual([]);
      await close();
    });

    it('activates a disabled endpoint and sends what it missed', async () => {
      const { visit, link, app } = get();
      const receiver = await Receiver.start();
      const owner_id = 'customer-off';
      const { uid } = await app.project.post('/endpoints', { name: 'Off', url: receiver.url, owner_id });
      await app.project.post('/subscriptions', {
        name: 'off',
        endpoint_id: uid,
        filter_config: { event_types: ['off.event'] },
      });
      await app.project.put(`/endpoints/${uid}`, { is_disabled: true });
      for (const n of [1, 2, 3])
        await app.project.post('/events/broadcast', { event_type: 'off.event', data: { n } });
      await eventually(() => app.project.get(`/eventdeliveries?endpointId=${uid}&status=Discarded`), {
        content: { length: 3 },
      });
      const { url } = await link({ owner_id, can_manage_endpoint: true });
      const { page, wrongs, close } = await visit(`${url}`);
      await page.getByRole('link', { name: 'Off' }).click();
      await page.getByText('This endpoint is disabled').first().waitFor();
      await page.getByRole('button', { name: 'Activate and send 3 deliveries' }).click();
      await receiver.received(3);
      await page.getByText('OK', { exact: true }).first().waitFor();
      expect(wrongs).toEqual([]);
      await close();
      await receiver.stop();
    });

    it('tries the check of signatures against an endpoint that checks them, and one that does not', async () => {
      const { visit, link, app } = get();
      const receiver = await Receiver.start();
      const owner_id = 'customer-verify';
      const { uid } = await app.project.post('/endpoints', { name: 'Checks', url: receiver.url, owner_id });
      const { url } = await link({ owner_id, can_manage_endpoint: true });
      const { page, wrongs, close } = await visit(url);
      await page.getByRole('link', { name: 'Verify' }).click();
      await page.getByRole('button', { name: 'Send both' }).click();
      await page.getByText(/accepts a request with an invalid signature/).waitFor();
      const signatures = receiver.requests.map(({ headers }) => headers['webhook-signature']);
      expect(new Set(signatures).size).toBe(2);
      receiver.answerNext(200, 401);
      await page.getByRole('button', { name: 'Send both' }).click();
      await page.getByText(/accepts our requests and refuses others/).waitFor();
      expect(await app.project.get(`/eventdeliveries?endpointId=${uid}`)).toMatchObject({ content: [] });
      expect(wrongs).toEqual([]);
      await close();
      await receiver.stop();
    });
  });
}
