import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { subscribe } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { violations } from './axe.ts';
import type { World } from './world.ts';

/** The pages can set everything that the API can. */
export function formTests(get: () => World): void {
  describe('a form, in a project of its own:', () => {
    let project: ApiClient;
    let receiver: Receiver;
    let endpoint: Json;
    let subscription: Json;
    let source: Json;
    let dialog: Locator;
    const open = (path: string) => get().open(path, project.projectId);
    const press = (name: string) => get().page.getByRole('button', { name, exact: true }).click();
    const field = (label: string) => dialog.getByLabel(label, { exact: true });
    const save = async (name: string) => {
      await dialog.getByRole('button', { name, exact: true }).click();
      await dialog.waitFor({ state: 'detached' });
    };

    /** Readable for all, and no field is cut off on a phone. */
    const expectFine = async () => {
      const { page } = get();
      expect(await violations(page, 'all', 'dialog')).toEqual([]);
      await page.setViewportSize({ width: 390, height: 740 });
      const hidden = await page.evaluate(
        `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('dialog'))`,
      );
      await page.setViewportSize({ width: 1440, height: 900 });
      expect(hidden).toBe(0);
    };

    beforeAll(async () => {
      project = await get().app.newProject({ strategy: { type: 'linear', duration: 100, retry_count: 10 } });
      receiver = await Receiver.start();
      ({ endpoint, subscription } = await subscribe(project, receiver.url, {
        eventTypes: ['order'],
        endpoint: { name: 'Shop', owner_id: 'customer 7' },
        subscription: {
          name: 'Orders',
          retry_config: { type: 'exponential', duration: '10s', retry_count: 3 },
        },
      }));
      source = await project.post('/sources', { name: 'Till', type: 'http', verifier: { type: 'noop' } });
      dialog = get().page.getByRole('dialog');
    });
    afterAll(() => receiver?.stop());

    it('a subscription takes only events of its source, and has an alert, a mode and retries', async () => {
      const { page } = get();
      await open('subscriptions');
      await press('Add subscription');
      await field('Name').fill('Of the till');
      await field('Endpoint').selectOption('Shop');
      await field('Source').selectOption('Till');
      await dialog.getByText('Retries, rate limit, alerts, order and batches').click();
      await field('Mode').selectOption('At most once: never repeat what may have arrived');
      await field('Expires after').fill('600');
      await field('Failed attempts').fill('5');
      await field('within').fill('soon');
      await field('Batches of (deliveries)').fill('20');
      await field('Longest wait (s)').fill('0');
      await expectFine();
      await dialog.getByRole('button', { name: 'Add subscription' }).click();
      await dialog.getByText('Must be a duration such as 30s or 1h.').waitFor();
      await field('within').fill('1h');
      await save('Add subscription');
      await page.getByText('after 5 failed attempts within 1h').waitFor();
      await page.getByText('10 attempts in 15 min.').waitFor();
      await page.getByText('of 20 deliveries or 1,000,000 bytes, after 0 s at the latest').waitFor();
      const { uid } = (await project.get('/subscriptions?name=Of%20the%20till')).content[0];
      const stored = () => project.get(`/subscriptions/${uid}`);
      expect(await stored()).toMatchObject({
        source_metadata: { uid: source.uid },
        delivery_mode: 'at_most_once',
        ttl_seconds: 600,
        alert_config: { count: 5, threshold: '1h' },
        batch: { max: 20, max_bytes: 1_000_000, max_wait_seconds: 0 },
        filter_config: { event_types: ['*'] },
      });
      await project.post('/events/broadcast', { event_type: 'refund', data: { from: 'the API' } });
      const headers = { 'content-type': 'application/json' };
      await fetch(source.url, { method: 'POST', headers, body: '{"from": "the till"}' });
      expect((await receiver.received(1))[0]?.json).toMatchObject([{ data: { from: 'the till' } }]);

      // An edit keeps the conditions, and empties what is emptied.
      const filter = { body: { amount: { $gt: 5 } } };
      await project.put(`/subscriptions/${uid}`, { filter_config: { event_types: ['*'], filter } });
      await open(`subscriptions/${uid}`);
      await press('Edit…');
      expect(await field('Source').inputValue()).toBe(source.uid);
      await field('Source').selectOption('Any origin');
      await field('Failed attempts').fill('0');
      await field('Batches of (deliveries)').fill('0');
      await field('Event types').fill('sale.*');
      await save('Save subscription');
      const edited = await stored();
      expect(edited).toMatchObject({ source_metadata: null, delivery_mode: 'at_most_once' });
      expect(edited.filter_config).toMatchObject({ event_types: ['sale.*'], filter });
      expect(edited).not.toHaveProperty('alert_config');
      expect(edited).not.toHaveProperty('batch');
      expect(edited).not.toHaveProperty('retry_config');
      await project.delete(`/subscriptions/${uid}`);
    });

    it('the retries of an endpoint are on its page, as dots with times, and change there', async () => {
      const { page } = get();
      await open(`endpoints/${endpoint.uid}`);
      const dots = page.getByRole('list', { name: 'Attempts' }).getByRole('listitem');
      await dots.last().waitFor();
      expect(await dots.allTextContents()).toEqual(['at once', '10 s', '30 s', '1 min 10 s']);
      await press('Edit retries of Orders');
      await field('Retries').selectOption('Same wait');
      await field('How many').fill('20');
      await field('Interval (s)').fill('90');
      await dialog.getByText('21 attempts in 30 min.').waitFor();
      expect((await dialog.getByRole('listitem').allTextContents()).slice(-2)).toEqual(['9 min', '… 30 min']);
      await expectFine();
      await save('Save retries');
      const stored = async () => (await project.get(`/subscriptions/${subscription.uid}`)).retry_config;
      expect(await stored()).toEqual({ type: 'linear', duration: 90, retry_count: 20 });
      await press('Edit retries of Orders');
      await field('Retries').selectOption('List of waits');
      await field('Waits').fill('5s, soon');
      await dialog.getByRole('button', { name: 'Save retries' }).click();
      await dialog.getByText('Must be a duration of at least 1ms').waitFor();
      await field('Waits').fill('5s, 5m');
      await dialog.getByText('3 attempts in 5 min 5 s.').waitFor();
      await save('Save retries');
      const schedule = ['5s', '5m'];
      expect(await stored()).toEqual({ type: 'exponential', duration: 5, retry_count: 2, schedule });
      await press('Edit retries of Orders');
      expect(await field('Waits').inputValue()).toBe('5s, 5m');
      await field('Retries').selectOption('As the project');
      await save('Save retries');
      await page.getByText('as the project has it').waitFor();
      expect(await stored()).toBeUndefined();
    });

    it('a source is edited: check, keys, headers, response, rate limit and functions', async () => {
      const { page } = get();
      await open(`sources/${source.uid}`);
      await press('Edit…');
      await field('Name').fill('Till 2');
      await field('What is checked').selectOption('A signature (HMAC)');
      await field('Secret').fill(' s3 ');
      await field('Header with the signature').fill('X-Till');
      await field('Encoding').selectOption('base64');
      for (const fold of [
        'Event type, idempotency and headers',
        'Response to the sender',
        'Rate limit',
        'Functions',
      ])
        await dialog.getByText(fold, { exact: true }).click();
      await field('Idempotency keys').fill('request.body.id, nowhere');
      await field('Forwarded headers').fill('X-Shop, X-Desk');
      await field('Response type').fill('application/json');
      await field('Response body').fill('{"seen": true}');
      await field('Events').fill('30');
      await field('in seconds').fill('60');
      await field('Function of the payload').fill('function transform(p) { return p; }');
      await expectFine();
      await dialog.getByRole('button', { name: 'Save source' }).click();
      await dialog.getByText(/^nowhere: /).waitFor();
      expect(await field('Idempotency keys').getAttribute('aria-invalid')).toBe('true');
      await field('Idempotency keys').fill('request.body.id');
      await save('Save source');
      const stored = await project.get(`/sources/${source.uid}`);
      expect(stored).toMatchObject({
        name: 'Till 2',
        verifier: {
          type: 'hmac',
          hmac: { header: 'X-Till', hash: 'SHA256', encoding: 'base64', secret: ' s3 ' },
        },
        idempotency_keys: ['request.body.id'],
        forward_headers: ['X-Shop', 'X-Desk'],
        custom_response: { body: '{"seen": true}', content_type: 'application/json' },
        rate_limit: 30,
        rate_limit_duration: 60,
        body_function: 'function transform(p) { return p; }',
      });
      await page.getByText('30 events in 60 s').waitFor();
      await press('Edit…');
      await save('Save source');
      expect(await project.get(`/sources/${source.uid}`)).toEqual({
        ...stored,
        updated_at: expect.any(String),
      });
    });

    it('a source of a broker is edited without a loss of its settings', async () => {
      const amqp = {
        schema: 'amqp',
        host: '127.0.0.1',
        port: '9',
        queue: 'orders',
        vhost: 'shop',
        auth: { user: 'u', password: 'p' },
        bindExchange: { exchange: 'all', routingKey: 'order.*' },
      };
      const pub_sub = { type: 'amqp', workers: 3, amqp };
      const broker = await project.post('/sources', { name: 'Orders', type: 'pub_sub', pub_sub });
      await open(`sources/${broker.uid}`);
      await press('Edit…');
      await field('Name').fill('Orders 2');
      await save('Save source');
      const after = await project.get(`/sources/${broker.uid}`);
      expect(after).toMatchObject({ name: 'Orders 2', pub_sub: broker.pub_sub });
      await project.delete(`/sources/${broker.uid}`);
    });

    it('a portal link is edited: rights, event types, token and expiry', async () => {
      const link = await project.post('/portal-links', { name: 'seven', owner_id: 'customer 7' });
      await open('portal-links');
      await press('Edit seven');
      await field('Change endpoints and subscriptions').check();
      await field('Retry, and send test events').uncheck();
      await field('Event types').fill('invoice.*, order');
      await field('Token').selectOption('Made by your server, for an hour each');
      await field('Expires').fill('2099-01-31T14:05');
      await expectFine();
      await save('Save portal link');
      const stored = () => project.get(`/portal-links/${link.uid}`);
      const first = await stored();
      expect(first).toMatchObject({
        can_manage_endpoint: true,
        can_retry: false,
        can_see_secrets: false,
        event_types: ['invoice.*', 'order'],
        auth_type: 'refresh_token',
      });
      expect(Date.parse(first.expires_at)).toBe(new Date('2099-01-31T14:05').getTime());
      await press('Edit seven');
      expect(await field('Expires').inputValue()).toMatch(/^2099-01-31T14:05/);
      await field('Expires').fill('');
      await save('Save portal link');
      expect(await stored()).toMatchObject({ expires_at: null, event_types: ['invoice.*', 'order'] });
    });

    it('the circuit breaker of a project and the rest of its settings are saved', async () => {
      const { page } = get();
      await open('settings');
      const before = (await project.get('')).config;
      const label = (name: string) => page.getByLabel(name, { exact: true });
      await label('Opens at failures, %').fill('55');
      await label('from attempts').fill('20');
      await label('Probe after, seconds').fill('45');
      expect(await label('Disable after openings').isVisible()).toBe(false);
      await page.getByText('Window, probes and disabling').click();
      await label('Disable after openings').fill('4');
      await label('An endpoint may have several subscriptions').uncheck();
      await label('Headers that are no secrets').fill('X-Token-Kind');
      await label('User agent of deliveries').fill('Acme/1.0');
      await label('Events that do not fit their schema').selectOption('Are accepted, with a warning');
      await label('JSON bodies of deliveries').selectOption('type, timestamp and data');
      await label('Variables').fill('TOKEN=a=b \nOTHER = c');
      await label('Deliveries carry a Convoy signature').uncheck();
      await label('URL').fill(`${receiver.url}/meta`);
      await label('Secret').fill('secret of the meta events');
      await press('Save settings');
      await page.getByText('Settings saved').waitFor();
      expect((await project.get('')).variables).toEqual({ TOKEN: '***', OTHER: '***' });
      expect((await project.get('')).config).toEqual({
        ...before,
        circuit_breaker: {
          ...before.circuit_breaker,
          failure_threshold: 55,
          minimum_request_count: 20,
          error_timeout: 45,
          consecutive_failure_threshold: 4,
        },
        multiple_endpoint_subscriptions: false,
        visible_headers: ['X-Token-Kind'],
        user_agent: 'Acme/1.0',
        schema_check: 'warn',
        envelope: 'standard',
        signature: { ...before.signature, schemes: ['standard'] },
        meta_event: {
          ...before.meta_event,
          url: `${receiver.url}/meta`,
          secret: 'secret of the meta events',
        },
      });
    });

    it('the signing keys of a project are added, rolled with an overlap, and deleted', async () => {
      const { page } = get();
      const keys = () => project.get('/signing_keys');
      await open('settings');
      await page.getByText('The project has no signing key.').waitFor();
      await press('Add signing key');
      expect(await dialog.getByRole('combobox').count()).toBe(0);
      await save('Add signing key');
      const [first] = await keys();
      await page.getByText(first.public_key).waitFor();
      const url = await page.getByText(/jwks\.json$/).innerText();
      expect(await (await fetch(url)).json()).toMatchObject({ keys: [{ kid: first.kid, crv: 'Ed25519' }] });
      await press('Roll signing key…');
      await field('The key before it signs along for').selectOption('1 hour');
      await expectFine();
      await save('Roll signing key');
      const [old, fresh] = await keys();
      expect(old).toMatchObject({ kid: first.kid, expires_at: expect.any(String) });
      const hours = (Date.parse(old.expires_at) - Date.parse(fresh.created_at)) / 3_600_000;
      expect(hours).toBeCloseTo(1, 2);
      await page.getByText(fresh.public_key).waitFor();
      expect(await violations(page)).toEqual([]);
      await press(`Delete signing key ${old.kid}`);
      await save(`Delete signing key ${old.kid}`);
      expect(await keys()).toEqual([fresh]);
      await page.getByText(old.public_key).waitFor({ state: 'detached' });
    });

    it('a secret stands in the panel where it was rolled at once, or its endpoint made', async () => {
      const { page } = get();
      const newest = async (name: string): Promise<string> =>
        (await project.get(`/endpoints?q=${name}`)).content[0].secrets.at(-1).value;
      await open(`endpoints/${endpoint.uid}`);
      const old = await newest('Shop');
      await press('Roll secret…');
      await field('The old secret expires').selectOption('immediately');
      await dialog.getByRole('button', { name: 'Roll secret' }).click();
      await dialog.getByText('The secret of Shop was rolled').waitFor();
      const { secrets } = await project.get(`/endpoints/${endpoint.uid}`);
      expect(Date.parse(secrets[0].expires_at)).toBeLessThan(Date.now());
      await dialog.getByText(secrets[1].value, { exact: true }).waitFor();
      await dialog.getByText(old).waitFor({ state: 'detached' });
      expect(await dialog.getByRole('button', { name: 'Copy Secret' }).count()).toBe(1);
      await page.keyboard.press('Escape');

      await open('endpoints');
      await press('Add endpoint');
      await field('URL').fill(receiver.url);
      await field('Name').fill('Fresh');
      await dialog.getByRole('button', { name: 'Add and test' }).click();
      await dialog.getByText('Added Fresh').waitFor();
      await dialog.getByText(await newest('Fresh'), { exact: true }).waitFor();
      await expectFine();
      await page.keyboard.press('Escape');
    });

    it('a source says how many endpoints of customers it reaches, and how to keep it from them', async () => {
      const { page } = get();
      const own = await get().app.newProject();
      const at = (path: string) => get().open(path, own.projectId);
      const made = await own.post('/sources', { name: 'Till', type: 'http', verifier: { type: 'noop' } });
      const add = (name: string, eventTypes: string[], owner_id: string, more: object = {}) =>
        subscribe(own, receiver.url, {
          eventTypes,
          endpoint: { name, owner_id },
          subscription: { name, ...more },
        });
      await add('Everything', ['*'], 'customer 7');
      await add('Orders', ['order'], 'customer 8');
      await add('Tied', ['*'], 'customer 9', { source_id: made.uid });
      await add('Ours', ['*'], '');
      const off = await add('Off', ['*'], 'customer 9');
      await own.put(`/subscriptions/${off.subscription.uid}/toggle_status`, {});
      await at(`sources/${made.uid}`);
      const warning = page.getByRole('region', { name: 'Events of this source may reach customers' });
      await warning.getByText('Events of this source may reach 1 endpoint of 1 customer.').waitFor();
      expect(await warning.getByRole('listitem').allTextContents()).toEqual(['Everything of customer 7']);
      expect(await violations(page)).toEqual([]);
      await own.put(`/sources/${made.uid}`, { event_type_location: 'request.body.type' });
      await warning.getByText('Events of this source may reach 2 endpoints of 2 customers.').waitFor();
      const headers = { 'content-type': 'application/json' };
      await fetch(made.url, { method: 'POST', headers, body: '{"type": "order"}' });
      const { content } = await eventually(() => own.get('/eventdeliveries'), { content: { length: 4 } });
      const owners = content.map(({ endpoint_metadata: one }: Json) => one.owner_id).toSorted();
      expect(owners).toEqual(['', 'customer 7', 'customer 8', 'customer 9']);

      await warning.getByRole('link', { name: 'Everything' }).click();
      await press('Edit…');
      await field('Source').selectOption('Till');
      await save('Save subscription');
      await at('sources');
      await press('Add source');
      await field('Name').waitFor();
      expect(await warning.count()).toBe(0);
      await dialog.getByText('Event type, idempotency and headers').click();
      await field('Event type from').fill('request.body.type');
      await warning.getByText('Events of this source may reach 1 endpoint of 1 customer.').waitFor();
      await expectFine();
      await page.keyboard.press('Escape');
    });
  });
}
