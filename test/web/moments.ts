import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
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
      const wrong = endpoints.filter(({ state, open }: Json) =>
        state === 'held' ? open > 0 : !['ok', 'recovered'].includes(state),
      );
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
}
