import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { Listener } from '../pull/listener.ts';
import { subscribe } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { eventually, not } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { violations } from './axe.ts';
import { watchedPage } from './browser.ts';
import type { World } from './world.ts';

/** An operator changes things on the pages, with the effect at the receiver or in the API. */
export function putRightTests(get: () => World): void {
  describe('put it right, in a project of its own:', () => {
    let project: ApiClient;
    let receiver: Receiver;
    let endpoint: Json;
    const open = (path: string) => get().open(path, project.projectId);
    /** The deliveries of orders: held keys have deliveries of their own. */
    const statuses = async (status: string) =>
      (await project.get(`/eventdeliveries?status=${status}&perPage=50&event_type=order`)).content;

    beforeAll(async () => {
      project = await get().app.newProject({ strategy: { type: 'linear', duration: 3600, retry_count: 1 } });
      receiver = await Receiver.start();
      receiver.answerAlways(500);
      endpoint = (
        await subscribe(project, receiver.url, {
          eventTypes: ['order'],
          endpoint: { name: 'Shop', owner_id: 'customer 7' },
        })
      ).endpoint;
      for (let order = 1; order <= 4; order++)
        await project.post('/events/broadcast', { event_type: 'order', data: { order } });
      await eventually(() => statuses('Failure'), { length: 4 });
    });
    afterAll(() => receiver?.stop());

    it('retries the deliveries that are ticked, and no others', async () => {
      const { page } = get();
      await open('deliveries');
      for (const row of [0, 2]) await page.locator(`[data-row="${row}"] input`).check();
      await page.getByText('2 deliveries chosen').waitFor();
      receiver.answerAlways(200);
      await page.getByRole('button', { name: 'Retry chosen…' }).click();
      await page.getByRole('button', { name: 'Retry 2 deliveries' }).click();
      await page.getByText('2 of 2 done').waitFor();
      const done = await eventually(() => statuses('Success'), { length: 2 });
      expect(done.map(({ metadata }: Json) => metadata.data.order)).toEqual([4, 2]);
    });

    it('mutes a group of failures for everybody until a time, and retries one', async () => {
      const { page } = get();
      await open('failures');
      await page.getByRole('button', { name: 'Mute Shop, http_500' }).click();
      const muteGroup = async () => {
        await page.getByLabel('Muted for').selectOption('7 days');
        await page.getByRole('button', { name: 'Mute group' }).click();
      };
      const allMuted = page.getByText('Everything that fails is muted.');
      await muteGroup();
      await allMuted.waitFor();
      await page.keyboard.press('Control+Z');
      await allMuted.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Mute Shop, http_500' }).click();
      await muteGroup();
      await page.getByText(/^by instance key, ends in [67] d/).waitFor();
      expect((await project.get('/failures')).groups).toMatchObject([
        { muted: { by: { type: 'instance_key' } } },
      ]);
      await page.getByRole('button', { name: 'Unmute Shop, http_500' }).click();
      await page.getByRole('button', { name: 'Mute Shop, http_500' }).waitFor();
      await page.getByRole('button', { name: 'Retry Shop, http_500' }).click();
      await page.getByRole('button', { name: 'Retry 2 deliveries' }).click();
      await page.getByText('2 of 2 done').waitFor();
      await eventually(() => statuses('Success'), { length: 4 });
    });

    it('lets a held key go on: its failed delivery is resent, or skipped, also from one that waits for it', async () => {
      const { page } = get();
      const ordered = await Receiver.start();
      onTestFinished(() => ordered.stop());
      ordered.answerAlways(({ json }, response) => response.writeHead(json.n === 1 ? 503 : 200).end());
      const { subscription } = await subscribe(project, ordered.url, {
        eventTypes: ['moved'],
        subscription: { ordering: { key: '$.body.key', on_failure: 'hold' } },
      });
      const send = (key: string, n: number) =>
        project.post('/events/broadcast', { event_type: 'moved', data: { key, n } });
      for (const key of ['a', 'b', 'c']) for (const n of [1, 2]) await send(key, n);
      await open(`subscriptions/${subscription.uid}`);
      const held = page.getByRole('region', { name: 'Held keys' });
      await held.getByRole('row').nth(3).waitFor();
      expect(await violations(page)).toEqual([]);
      const waiting = await held.getByRole('row').nth(1).getByRole('cell').nth(2).textContent();
      expect(waiting).toBe('1');
      await held.getByRole('button', { name: 'Skip the failed delivery of a' }).click();
      await held.getByRole('cell', { name: 'a', exact: true }).waitFor({ state: 'detached' });
      ordered.answerAlways(200);
      await held.getByRole('button', { name: 'Resend the failed delivery of b' }).click();
      await held.getByRole('cell', { name: 'b', exact: true }).waitFor({ state: 'detached' });
      const [behind] = (await project.get('/eventdeliveries?waitingFor=order')).content;
      await open(`deliveries/${behind.uid}`);
      await page.getByText(/^It waits for delivery \w{26}$/).waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByRole('button', { name: 'Skip it' }).waitFor();
      await page.getByRole('button', { name: 'Retry it' }).click();
      const seen = () => ordered.requests.map(({ json }) => `${json.key}${json.n}`).toSorted();
      await eventually(async () => seen(), { length: 8 });
      expect(seen()).toEqual(['a1', 'a2', 'b1', 'b1', 'b2', 'c1', 'c1', 'c2']);
    });

    it('sends a test with a body of its own and the key of the endpoint', async () => {
      const { page } = get();
      await open(`endpoints/${endpoint.uid}`);
      await page.getByRole('button', { name: 'Edit…' }).click();
      await page.getByLabel('Authentication', { exact: true }).selectOption('API key in a header');
      await page.getByLabel('Header value').fill('key of the shop');
      await page.getByRole('button', { name: 'Save endpoint' }).click();
      await page.getByText('Body of the test').click();
      const body = page.getByLabel('Body (JSON)');
      await body.fill('{"order": ');
      await page.getByText(/This is not valid JSON/).waitFor();
      expect(await page.getByRole('button', { name: 'Send a test event' }).isDisabled()).toBe(true);
      await page.getByRole('button', { name: 'Use the last payload' }).click();
      await eventually(() => body.inputValue(), /"order": 4/);
      await body.fill('{"order": "mine"}');
      await page.getByRole('button', { name: 'Send a test event' }).click();
      await page.getByText('200 OK').first().waitFor();
      expect(receiver.requests.at(-1)?.json).toEqual({ order: 'mine' });
      expect(receiver.requests.at(-1)?.headers['x-api-key']).toBe('key of the shop');
    });

    it('rolls a secret, and the old one stays valid for the hours that were chosen', async () => {
      const { page } = get();
      await open(`endpoints/${endpoint.uid}`);
      await page.getByRole('button', { name: 'Roll secret…' }).click();
      await page.getByLabel('The old secret expires').selectOption('in 3 days');
      const asked = page.waitForRequest(/expire_secret$/);
      await page.getByRole('button', { name: 'Roll secret', exact: true }).click();
      // The API counts in seconds.
      expect((await asked).postDataJSON()).toEqual({ expiration: 3 * 24 * 3600 });
      await page
        .getByRole('dialog')
        .getByText(/^expires in/)
        .waitFor();
    });

    it('pauses an endpoint and undoes it: the toast stays while it has the focus, however long', async () => {
      const { browser, app } = get();
      const context = await browser.newContext({ reducedMotion: 'reduce' });
      await context.addInitScript((key) => sessionStorage.setItem('posthorn.key', key), app.instance.key);
      const { page, wrongs } = await watchedPage(context, app.url);
      page.setDefaultTimeout(60_000);
      await page.clock.install();
      await page.goto(`${app.url}/p/${project.projectId}/endpoints/${endpoint.uid}`);
      const status = async () => (await project.get(`/endpoints/${endpoint.uid}`)).status;
      const undo = page.getByRole('button', { name: 'Undo' });
      await page.getByRole('button', { name: 'Pause' }).click();
      await undo.focus();
      expect(await status()).toBe('paused');
      await page.clock.fastForward('05:00');
      expect(await undo.isVisible()).toBe(true);
      await page.keyboard.press('Enter');
      await page.getByText('Undone').waitFor();
      expect(await status()).toBe('active');
      await page.clock.fastForward('05:00');
      await page.getByText('Undone').waitFor({ state: 'detached' });

      // Another person is faster: it stays as they left it.
      await page.getByRole('button', { name: 'Pause' }).click();
      await undo.waitFor();
      await project.post(`/endpoints/${endpoint.uid}/activate`, {}, 202);
      await undo.click();
      await page.getByText('Not undone: it has been changed since.').waitFor();
      expect(await status()).toBe('active');
      expect(wrongs).toEqual([]);
      await context.close();
    });

    it('activates a disabled endpoint and sends what was discarded', async () => {
      const { page } = get();
      await project.put(`/endpoints/${endpoint.uid}`, { is_disabled: true });
      for (const order of [5, 6])
        await project.post('/events/broadcast', { event_type: 'order', data: { order } });
      await eventually(() => statuses('Discarded'), { length: 2 });
      await open(`endpoints/${endpoint.uid}`);
      await page.getByText(/2 deliveries were discarded/).waitFor();
      await page.getByRole('button', { name: 'Activate and send 2 deliveries' }).click();
      await page.getByText('2 of 2 done').waitFor();
      await eventually(() => statuses('Success'), { length: 6 });
    });

    it('shows what was sent to a customer and matched nothing, and opens their portal', async () => {
      const { page, context } = get();
      await project.post('/events/fanout', { event_type: 'refund', owner_id: 'customer 7', data: {} });
      await open('customers/customer%207');
      await page.getByRole('link', { name: 'refund' }).waitFor();
      const opened = context.waitForEvent('page');
      await page.getByRole('button', { name: 'See their portal' }).click();
      const portal = await opened;
      await portal.waitForURL(/\/portal#token=|\/portal/);
      await portal.close();
      const { content } = await project.get('/portal-links?ownerId=customer%207');
      expect(content).toMatchObject([
        { can_manage_endpoint: false, can_retry: false, can_create_events: false },
      ]);
      expect(Date.parse(content[0].expires_at)).toBeGreaterThan(Date.now());
    });

    it('gives a customer a portal link with chosen rights, and says which', async () => {
      const { page } = get();
      await open('portal-links');
      await page.getByRole('button', { name: 'Add portal link' }).first().click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Customer').fill('customer 8');
      await dialog.getByLabel('Name').fill('eight');
      await dialog.getByLabel('Retry, and send test events').uncheck();
      await dialog.getByLabel('Change endpoints and subscriptions').check();
      await dialog.getByRole('button', { name: 'Add portal link' }).click();
      await page.getByText('look, manage', { exact: true }).waitFor();
      expect((await project.get('/portal-links?ownerId=customer%208')).content).toMatchObject([
        { can_manage_endpoint: true, can_retry: false, can_see_secrets: false, can_edit_functions: false },
      ]);
    });

    it('saves the filters of a list as a view, and hides a column', async () => {
      const { page } = get();
      await open('deliveries?state=Success');
      await page.getByRole('button', { name: 'Save view…' }).click();
      await page.getByLabel('Name').fill('All that arrived');
      await page.getByRole('button', { name: 'Save view' }).last().click();
      await page.getByRole('button', { name: 'Delete view' }).waitFor();
      await open('deliveries');
      await page.getByLabel('Saved view').selectOption('All that arrived');
      await page.waitForURL(/state=Success/);
      await page.getByRole('button', { name: 'Columns…' }).click();
      await page.getByLabel('Attempts').uncheck();
      await page.keyboard.press('Escape');
      await page.getByRole('columnheader', { name: 'Tries' }).waitFor({ state: 'detached' });
      await page.reload();
      await page.getByRole('columnheader', { name: 'Endpoint' }).waitFor();
      expect(await page.getByRole('columnheader', { name: 'Tries' }).count()).toBe(0);
      await page.getByRole('button', { name: 'Delete view' }).click();
      await page.getByLabel('Saved view').waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.getByText('Undone').waitFor();
      expect(await project.get('/views')).toMatchObject([
        { page: 'deliveries', name: 'All that arrived', query: 'state=Success' },
      ]);
      await page.getByRole('button', { name: 'Delete view' }).click();
      await page.getByLabel('Saved view').waitFor({ state: 'detached' });
    });

    it('adds an endpoint whose consumer fetches its deliveries, and shows what waits', async () => {
      const { page } = get();
      await open('endpoints');
      await page.getByRole('button', { name: 'Add endpoint' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Delivery').selectOption('Pull: a consumer fetches them');
      await dialog.getByLabel('Name').fill('Warehouse');
      // The endpoint of a form that is refused does not stay.
      await dialog.getByLabel('Event types').fill('x'.repeat(300));
      await dialog.getByRole('button', { name: 'Add endpoint' }).click();
      await dialog.getByRole('alert').waitFor();
      await dialog.getByLabel('Event types').fill('stock');
      await dialog.getByRole('button', { name: 'Add endpoint' }).click();
      await page.getByText('Its page has the command that fetches them.').waitFor();
      await page.getByRole('link', { name: 'Open endpoint' }).click();
      await project.post('/events/broadcast', { event_type: 'stock', data: { pallet: 1 } });
      await page.getByRole('link', { name: '1 delivery to fetch' }).waitFor();
      const { content } = await project.get('/endpoints?q=Warehouse');
      expect(content).toMatchObject([{ name: 'Warehouse', delivery: 'pull', url: '' }]);
      await page.getByRole('link', { name: 'stock' }).click();
      await page.getByText('It waits for a consumer to pull it.').waitFor();
      const { deliveries } = await project.post(`/endpoints/${content[0].uid}/pull`, {}, 200);
      const [{ uid, lease }] = deliveries;
      const results = [{ uid, lease, ok: true }];
      await project.post(`/endpoints/${content[0].uid}/pull/results`, { results }, 200);
      await page.getByText('Reported as done').waitFor();
    });

    it('adds a source that takes from a broker, and says why it cannot connect', async () => {
      const { page } = get();
      await open('sources');
      await page.getByRole('button', { name: 'Add source' }).first().click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Provider').selectOption('RabbitMQ, AMQP');
      const field = (label: string) => dialog.getByLabel(label, { exact: true }).first();
      await field('Name').fill('Orders');
      await field('Host').fill('127.0.0.1');
      await field('Queue').fill('orders');
      await field('Port').fill('none');
      await dialog.getByRole('button', { name: 'Add source' }).click();
      await dialog.getByText('Must be a port number from 1 to 65535.').waitFor();
      await field('Port').fill('9');
      await field('User name').fill('ada');
      await field('Password').fill(' hush ');
      await dialog.getByRole('button', { name: 'Add source' }).click();
      await page.getByRole('heading', { name: 'Orders' }).waitFor();
      await page.getByText('The broker refused the connection').first().waitFor();
      const { content } = await project.get('/sources?q=Orders');
      const stored = { type: 'pub_sub', pub_sub: { type: 'amqp', amqp: { auth: { password: ' hush ' } } } };
      expect(content).toMatchObject([stored]);
      await page.getByRole('button', { name: 'Edit…' }).click();
      expect(await field('Password').inputValue()).toBe('');
      await field('Queue').fill('others');
      await dialog.getByRole('button', { name: 'Save source' }).click();
      await dialog.waitFor({ state: 'detached' });
      const changed = await project.get(`/sources/${content[0].uid}`);
      expect(changed.pub_sub.amqp).toEqual({ ...content[0].pub_sub.amqp, queue: 'others' });
      await project.delete(`/sources/${content[0].uid}`);
    });

    it('shows the devices that listen, what they get, and deletes one', async () => {
      const { page } = get();
      await open('devices');
      await page.getByText('No device listens').waitFor();
      const listener = await Listener.start(project, { host_name: 'ada-laptop', event_types: ['invoice.*'] });
      await page.getByRole('cell', { name: 'Online' }).waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByRole('link', { name: 'invoice.*' }).click();
      await page.getByText('ada-laptop').last().waitFor();
      await open('devices');
      await page.getByRole('button', { name: 'Delete ada-laptop' }).click();
      await page.getByRole('button', { name: 'Delete ada-laptop' }).last().click();
      await page.getByText('No device listens').waitFor();
      await eventually(async () => listener.closeCode, not(null));
    });
  });

  it('a newcomer sends a first event with one click and sees it arrive', async () => {
    const { page, open, app } = get();
    const fresh = await app.newProject();
    await open('overview', fresh.projectId);
    await page.getByRole('button', { name: 'Send a first event' }).click();
    await page.getByText('Arrived: hello.world').waitFor();
    await page.getByRole('link', { name: 'See the delivery with its attempt' }).click();
    await page.getByText('200 OK').first().waitFor();
  });
}
