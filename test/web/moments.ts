import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { subscribe } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import type { World } from './world.ts';

/** Counts the clicks of a moment. Typing is free. */
class Clicks {
  count = 0;

  async on(target: Locator): Promise<void> {
    this.count += 1;
    await target.click();
  }
}

export function momentTests(get: () => World): void {
  describe('why did it not arrive?', () => {
    it('is answered by one search and one click from the overview', async () => {
      const { page, open } = get();
      const clicks = new Clicks();
      await open('overview');
      await page.getByRole('heading', { name: 'Endpoints in trouble' }).waitFor();
      await page.keyboard.press('/');
      await page.keyboard.type('pay_4242');
      await page.keyboard.press('Enter');
      // The only hit opens by itself.
      await page.waitForURL(/\/events\//);
      await page
        .getByText(/The endpoint answered 500 Internal Server Error/)
        .first()
        .waitFor();
      await clicks.on(page.getByRole('link', { name: 'Broken receiver', exact: true }));
      await page.getByText('database is down, ticket 4711').waitFor();
      await page.getByRole('button', { name: 'Copy as curl' }).waitFor();
      expect(clicks.count).toBe(1);
    });

    it('names the reason of each subscription that did not match', async () => {
      const { page, open, seed } = get();
      await open(`events/${seed.unmatchedEvent.uid}`);
      await page.getByText('Nowhere: no subscription matched it.').waitFor();
      await page.getByText('Subscribes to invoice.*; this is newsletter.opened.').first().waitFor();
    });
  });

  describe('what is wrong now?', () => {
    it('the overview names each endpoint that fails, why, whose it is and what waits, as the API says', async () => {
      const { page, open, app } = get();
      await open('overview');
      const trouble = page.getByRole('list', { name: 'Endpoints in trouble' });
      const broken = trouble.locator('li', { hasText: 'Broken receiver' });
      await broken.getByText('Failing', { exact: true }).waitFor();
      await broken.getByRole('link', { name: /^The endpoint answered 500 Internal Server Error/ }).waitFor();
      await broken.getByRole('link', { name: 'customer-9' }).waitFor();
      const { endpoints } = await app.project.get(
        `/health?startDate=${new Date(Date.now() - 7_200_000).toISOString()}`,
      );
      const wrong = endpoints.filter(({ state }: Json) => state !== 'ok');
      expect(await trouble.getByRole('listitem').count()).toBe(wrong.length);
      for (const { name, failed, failed_attempts, waiting_for } of wrong) {
        const row = trouble.locator('li', { hasText: name.slice(0, 30) });
        if (failed > 0) await row.getByRole('link', { name: `${failed} failed` }).waitFor();
        if (failed_attempts > 0) await row.getByText(/% of \d+ attempts? failed/).waitFor();
        for (const [gate, words] of [
          ['retry', 'waiting to retry'],
          ['paused', 'held by the pause'],
        ] as const)
          if (waiting_for[gate] > 0)
            await row.getByRole('link', { name: `${waiting_for[gate]} ${words}` }).waitFor();
      }
      const waiting = await app.project.get('/eventdeliveries/waitingtotals');
      const counts = page.getByRole('list', { name: 'Open deliveries' });
      await counts.getByText(`${waiting.paused} paused`).waitFor();
      const retry = counts.locator('li', { hasText: 'Waiting to retry' });
      expect(await retry.textContent()).toContain(String(waiting.retry));
    });

    it('the page of a failing endpoint opens with the cause, and the worst customer is one click away', async () => {
      const { page, open, seed } = get();
      await open(`endpoints/${seed.endpoints.broken.uid}`);
      const cause = page.getByRole('region', { name: 'What is wrong' });
      await cause.getByText(/The endpoint answered 500 Internal Server Error/).waitFor();
      await open('endpoints');
      const row = page.locator('[data-row]', { hasText: 'Broken receiver' });
      await row.getByText('100 %', { exact: true }).waitFor();
      const clicks = new Clicks();
      await open('overview');
      await clicks.on(page.getByRole('link', { name: 'Customers', exact: true }));
      await page.getByRole('row').nth(1).getByText('Failing').waitFor();
      await page.getByRole('row', { name: 'customer-9' }).getByText('Broken receiver').waitFor();
      expect(clicks.count).toBe(1);
    });

    it('what waits is sent now with one click from the overview', async () => {
      const { page, open, seed, app } = get();
      const of = `endpointId=${seed.endpoints.crm.uid}`;
      const before = await app.project.get(`/timeseries?${of}`);
      await open('overview');
      const row = page
        .getByRole('list', { name: 'Endpoints in trouble' })
        .locator('li', { hasText: 'CRM of' });
      await row.getByRole('button', { name: /^Send \d+ deliver(y|ies) now$/ }).click();
      await page.waitForURL(/\/jobs\//);
      await eventually(
        () => app.project.get(`/timeseries?${of}`),
        ({ totals }) => totals.attempts > before.totals.attempts,
      );
    });
  });

  breakerTests(get);

  describe('put it right', () => {
    it('retries the failures of one endpoint in three clicks', async () => {
      const { page, open } = get();
      const clicks = new Clicks();
      await open('overview');
      await clicks.on(page.getByRole('link', { name: '6 failed' }));
      await clicks.on(page.getByRole('button', { name: 'Retry…' }));
      await clicks.on(page.getByRole('button', { name: 'Retry 6 deliveries' }));
      await page.getByText('6 of 6 done').waitFor();
      expect(clicks.count).toBe(3);
    });

    it('edits a filter with the fields of real events, tries it on them, and saves it', async () => {
      const { page, open, seed, app } = get();
      const { uid } = seed.subscriptions.billing;
      const samples = page.waitForResponse(/\/events\?.*perPage=50/);
      await open(`subscriptions/${uid}`);
      await samples;
      await page.getByRole('textbox', { name: 'Filter' }).click();
      await page.keyboard.press('ControlOrMeta+A');
      await page.keyboard.type('{"body": {"inv');
      await page.getByRole('option', { name: '"invoice"' }).click();
      await page.keyboard.type('{"$g');
      await page.getByRole('option', { name: '"$gte"' }).click();
      await page.keyboard.type('99}}}');
      await page.getByRole('button', { name: 'Try on the last 50 events' }).click();
      await page.getByText(/^1 of the last \d+ events would match/).waitFor();
      await page.getByRole('button', { name: 'Save filter' }).click();
      await page.getByText('Filter saved').waitFor();
      const { filter_config } = await app.project.get(`/subscriptions/${uid}`);
      expect(filter_config.filter.body).toEqual({ invoice: { $gte: 99 } });
      await app.project.put(`/subscriptions/${uid}`, {
        filter_config: { ...filter_config, filter: { body: {}, headers: {}, query: {}, path: {} } },
      });
    });

    it('edits a function with the fields and types of a real payload, and what may be returned', async () => {
      const { page, open, seed } = get();
      const sample = page.waitForResponse(/\/events\?.*perPage=1(&|$)/);
      await open(`subscriptions/${seed.subscriptions.billing.uid}`);
      await sample;
      await page.getByRole('button', { name: 'Write a function' }).click();
      const editor = page.getByRole('textbox', { name: 'Function' });
      const type = async (text: string) => {
        // Text typed over coloured text keeps its colour as a style, which the policy of the page refuses.
        await page.keyboard.press('ControlOrMeta+A');
        await page.keyboard.press('Backspace');
        await page.keyboard.type(text);
      };
      await editor.click();
      await type('function transform({ inv');
      await page.getByRole('option', { name: /^invoice\s*number/ }).click();
      await type('function transform(order) { order.lin');
      await page.getByRole('option', { name: /^lines\s*array/ }).click();
      await page.keyboard.type('; return ');
      await page.keyboard.press('Control+Space');
      await page.getByRole('option', { name: /^\{ \.\.\.order \}/ }).click();
      expect(await editor.textContent()).toBe('function transform(order) { order.lines; return { ...order }');
      // In the editor the key of the search is text.
      await page.keyboard.type(' // a/b');
      expect(await editor.textContent()).toMatch(/\/\/ a\/b$/);
      expect(await page.getByRole('searchbox').count()).toBe(0);
    });

    /** The page of a failing endpoint, from the overview. */
    const openBroken = (clicks: Clicks) =>
      clicks.on(
        get()
          .page.getByRole('list', { name: 'Endpoints in trouble' })
          .getByRole('link', { name: 'Broken receiver' }),
      );

    it('rolls a secret in three clicks, and the new one is ready to be copied', async () => {
      const { page, open, seed, app } = get();
      const { uid } = seed.endpoints.broken;
      const before = await app.project.get(`/endpoints/${uid}`);
      const clicks = new Clicks();
      await open('overview');
      await openBroken(clicks);
      await clicks.on(page.getByRole('button', { name: 'Roll secret…' }));
      const dialog = page.getByRole('dialog');
      await clicks.on(dialog.getByRole('button', { name: 'Roll secret', exact: true }));
      await dialog.getByText('The secret of Broken receiver was rolled').waitFor();
      const after = await app.project.get(`/endpoints/${uid}`);
      const [first, second] = [before, after].map(({ secrets }: Json) => secrets.at(-1).value);
      expect(second).not.toBe(first);
      await dialog.getByText(second, { exact: true }).waitFor();
      expect(clicks.count).toBe(3);
    });

    it('changes the retry policy of an endpoint in three clicks', async () => {
      const { page, open, seed, app } = get();
      const clicks = new Clicks();
      await open('overview');
      await openBroken(clicks);
      await clicks.on(page.getByRole('button', { name: /^Edit retries of Broken receiver/ }));
      await page.getByRole('dialog').getByLabel('How many').fill('4');
      await clicks.on(page.getByRole('button', { name: 'Save retries' }));
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      const { retry_config } = await app.project.get(`/subscriptions/${seed.subscriptions.broken.uid}`);
      expect(retry_config.retry_count).toBe(4);
      expect(clicks.count).toBe(3);
    });

    it('finds an event by a value of its payload without a click', async () => {
      const { page, open } = get();
      await open('overview');
      await page.getByRole('heading', { name: 'Endpoints in trouble' }).waitFor();
      await page.keyboard.press('ControlOrMeta+K');
      await page.keyboard.type('B 12');
      await page.keyboard.press('Enter');
      await page.waitForURL(/\/events\//);
      await page.getByText('stock.moved').first().waitFor();
    });

    it('pauses an endpoint in two clicks', async () => {
      const { page, open, seed, app } = get();
      const { uid } = seed.endpoints.billing;
      const clicks = new Clicks();
      await open('overview');
      await clicks.on(page.getByRole('link', { name: 'Endpoints', exact: true }));
      await clicks.on(page.getByRole('button', { name: 'Pause Billing' }));
      await page.getByText('Paused. Deliveries are held.').waitFor();
      expect((await app.project.get(`/endpoints/${uid}`)).status).toBe('paused');
      expect(clicks.count).toBe(2);
      await page.getByRole('button', { name: 'Resume Billing' }).click();
      await page.getByText('Active. Held deliveries are being sent.').waitFor();
      expect((await app.project.get(`/endpoints/${uid}`)).status).toBe('active');
    });

    it('adds an endpoint, tests it and shows the answer in at most three clicks', async () => {
      const { page, open, seed } = get();
      const clicks = new Clicks();
      await open('overview');
      await clicks.on(page.getByRole('link', { name: 'Endpoints', exact: true }));
      await clicks.on(page.getByRole('button', { name: 'Add endpoint' }));
      await page.getByLabel('URL').fill(seed.endpoints.billing.url);
      await clicks.on(page.getByRole('button', { name: 'Add and test' }));
      await page.getByText('200 OK').waitFor();
      expect(clicks.count).toBeLessThanOrEqual(3);
    });
  });

  describe('how do I call it?', () => {
    it('is answered by the reference: a search by the keyboard alone, and an example to copy', async () => {
      const { page, open, app } = get();
      await open('overview');
      await page.getByRole('link', { name: 'API reference' }).click();
      await page.getByRole('heading', { name: 'Posthorn API' }).waitFor();
      await page.getByRole('combobox').waitFor();
      await page.keyboard.press('/');
      await page.keyboard.type('endpoint create');
      const chosen = page.getByRole('option', { selected: true });
      await chosen.getByText('Create endpoint', { exact: true }).waitFor();
      await page.keyboard.press('ArrowDown');
      await chosen.getByText('Create endpoint in portal', { exact: true }).waitFor();
      await page.keyboard.press('ArrowUp');
      await page.keyboard.press('Enter');
      await page.waitForURL(`${app.url}/docs/endpoints#createEndpoint`);
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      const example = page.locator('#createEndpoint pre').first();
      await example.getByRole('button', { name: 'Copy' }).click();
      await example.getByRole('button', { name: 'Copied' }).waitFor();
      expect(await page.getByRole('status').textContent()).toBe('Copied');
      const copied = (await page.evaluate('navigator.clipboard.readText()')) as string;
      expect(copied).toBe(await example.locator('code').textContent());
      expect(copied).toContain(`curl -s "${app.url}/api/v1/projects/$project/endpoints"`);
      await page.getByRole('banner').getByRole('link', { name: 'Dashboard' }).click();
      await page.getByRole('heading', { name: 'Endpoints in trouble' }).waitFor();
    });

    it('the search of the reference says that it found nothing, and closes', async () => {
      const { page, app } = get();
      await page.goto(`${app.url}/docs/endpoints`);
      const field = page.getByRole('combobox');
      await field.fill('no such thing');
      await page.getByText('No operation or schema has these words.').waitFor();
      await field.fill('PortalLink');
      await page.getByRole('option').first().waitFor();
      await page.keyboard.press('Escape');
      expect(await page.getByRole('listbox').isVisible()).toBe(false);
      await field.fill('GetWaitingTotalsResult');
      await page.getByRole('option', { name: 'GetWaitingTotalsResult' }).click();
      await page.waitForURL(/event-deliveries#schema-GetWaitingTotalsResult$/);
    });

    it('links to the one page of earlier versions still lead to their operation', async () => {
      const { page, app } = get();
      await page.goto(`${app.url}/docs#listKeys`);
      await page.waitForURL(`${app.url}/docs/keys#listKeys`);
    });
  });
}

/** Retries and breakers wait for an hour: only Send now lets anything go. */
const HOUR = 3_600;

function breakerTests(get: () => World): void {
  it('a breaker that opens is marked in the chart; Send now from its failures delivers, and the mark says when it closed', async () => {
    const { page, go, app } = get();
    const project = await app.newProject({
      strategy: { type: 'linear', duration: HOUR, retry_count: 5 },
      circuit_breaker: {
        sample_rate: 1,
        error_timeout: HOUR,
        minimum_request_count: 4,
        success_threshold: 1,
      },
    });
    const receiver = await Receiver.start();
    receiver.answerAlways(500);
    const { endpoint } = await subscribe(project, receiver.url, {
      endpoint: { name: 'Shop', owner_id: 'customer-7' },
    });
    const send = () => project.post('/events/broadcast', { event_type: 'order', data: {} });
    for (let n = 0; n < 4; n++) await send();
    await eventually(
      () => project.get(`/endpoints/${endpoint.uid}`),
      ({ cb_state }) => cb_state === 'open',
    );
    await go('overview', project.projectId);
    const chart = page.getByRole('figure');
    const marks = page.getByRole('list', { name: 'Circuit breakers' });
    await marks.getByText(/circuit breaker opened .*, still open/).waitFor();
    await chart.getByRole('img', { name: /Shop: circuit breaker opened$/ }).waitFor();
    const named = chart.getByText('Shop: circuit breaker opened');
    expect(await named.count()).toBe(0);
    await marks.getByRole('link', { name: 'Shop' }).focus();
    await named.waitFor();

    receiver.answerAlways(200);
    await go('failures', project.projectId);
    await page.getByRole('button', { name: 'Send 4 now: Shop, http_500' }).click();
    await page.getByText('4 of 4 done').waitFor();
    await page.getByRole('link', { name: 'customer-7' }).first().waitFor();
    await receiver.received(8);
    await go(`endpoints/${endpoint.uid}`, project.projectId);
    await marks.getByText(/^Circuit breaker opened/).waitFor();
    await marks.getByText(/^Circuit breaker closed/).waitFor();

    // A delivery that waits is sent from its own page, and not while its endpoint is paused.
    receiver.answerAlways(500);
    await send();
    const { content } = await eventually(
      () => project.get('/eventdeliveries?status=Retry'),
      (found) => found.content.length === 1,
    );
    receiver.answerAlways(200);
    await project.put(`/endpoints/${endpoint.uid}/pause`);
    await go(`deliveries/${content[0].uid}`, project.projectId);
    await page.getByText('Held: the endpoint is paused.').first().waitFor();
    const sendNow = page.getByRole('button', { name: 'Send now' });
    expect(await sendNow.count()).toBe(0);
    await project.put(`/endpoints/${endpoint.uid}/pause`);
    await sendNow.click();
    await page.getByText(/^Delivered .* after the event was accepted, at attempt 2\.$/).waitFor();
    await receiver.received(10);
    await receiver.stop();
  });

  it('several groups of failures are sent now together, and nothing of others', async () => {
    const { page, go, app } = get();
    const project = await app.newProject({ strategy: { type: 'linear', duration: HOUR, retry_count: 5 } });
    const receiver = await Receiver.start();
    receiver.answerAlways(({ path }, response) => {
      response.writeHead(path === '/b' ? 503 : 500).end();
    });
    for (const name of ['a', 'b', 'c'])
      await subscribe(project, `${receiver.url}/${name}`, { endpoint: { name }, eventTypes: [name] });
    for (const type of ['a', 'a', 'b', 'c'])
      await project.post('/events/broadcast', { event_type: type, data: {} });
    await eventually(
      () => project.get('/failures'),
      ({ groups }) => groups.length === 3,
    );
    receiver.answerAlways(200);
    await go('failures', project.projectId);
    for (const name of ['a, http_500', 'b, http_503'])
      await page.getByRole('checkbox', { name: `Choose ${name}` }).check();
    await page.getByText('2 groups chosen').waitFor();
    await page.getByRole('button', { name: 'Send 3 deliveries now' }).click();
    await page.waitForURL(/\/jobs$/);
    await receiver.received(7);
    const { content } = await eventually(
      () => project.get('/eventdeliveries?status=Success'),
      (found) => found.content.length === 3,
    );
    expect(content.map(({ event_type }: Json) => event_type).toSorted()).toEqual(['a', 'a', 'b']);
    await receiver.stop();
  });
}
