import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { subscribe } from '../support/app.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { copyEvent } from '../support/samples/copied-events.ts';
import { failedDeliveries } from '../support/samples/many-deliveries.ts';
import { expectAllInSight } from './out-of-sight.ts';
import type { World } from './world.ts';

const MANY = 100_000;
/** Pages of 100 rows that the test scrolls through. */
const PAGES = 10;

export function listTests(get: () => World): void {
  describe('a list', () => {
    it('shows an event as it comes in, and keeps it back while the pointer is in the list', async () => {
      const { page, open, app } = get();
      await open('events');
      await page.getByText('newsletter.opened').first().waitFor();
      await page.mouse.move(5, 5);
      await app.project.post('/events/broadcast', { event_type: 'live.first', data: {} });
      await page.getByText('live.first').first().waitFor();
      await page.getByRole('table', { name: 'Events' }).hover();
      await app.project.post('/events/broadcast', { event_type: 'live.second', data: {} });
      const button = page.getByRole('button', { name: '1 new' });
      await button.waitFor();
      expect(await page.getByText('live.second').count()).toBe(0);
      await button.click();
      await page.getByText('live.second').first().waitFor();
    });

    it('of endpoints and of subscriptions marks those of agents', async () => {
      const { page, open, app } = get();
      const metadata = { agent: 'mcp', agent_subscription: 'sub_of_an_agent' };
      const endpoint = { name: 'Agent: ticket.closed', metadata };
      await subscribe(app.project, 'https://receiver.posthorn.invalid/agent', {
        eventTypes: ['ticket.closed'],
        endpoint,
      });
      for (const list of ['subscriptions', 'endpoints']) {
        await open(list);
        const row = page.getByRole('row').filter({ hasText: 'Agent: ticket.closed' });
        await row.getByTitle('Subscribed by an agent.').waitFor();
      }
      expect(await page.getByTitle('Subscribed by an agent.').count()).toBe(1);
      await page.getByRole('link', { name: 'Agent: ticket.closed' }).first().click();
      await page.getByText('sub_of_an_agent', { exact: true }).waitFor();
    });

    it('of events has those for later, with their time, and their deliveries say why they wait', async () => {
      const { page, open, app } = get();
      const { endpoint } = await subscribe(app.project, 'https://receiver.posthorn.invalid/later', {
        eventTypes: ['for.later'],
      });
      const event = { endpoint_id: endpoint.uid, event_type: 'for.later', data: {}, ttl_seconds: 90 };
      await app.project.post('/events', { ...event, delay_seconds: 7_200 });
      await open('events');
      await page.getByLabel('Delivery time').selectOption('Delayed');
      await page.waitForURL(/due=later/);
      const row = page.getByRole('row').filter({ hasText: 'for.later' });
      await row.waitFor();
      // Before the filter counts, the list may have the row too.
      await page.getByText('newsletter.opened').first().waitFor({ state: 'hidden' });
      await row.getByRole('link').first().click();
      await page.getByText('Deliver at').waitFor();
      await open('deliveries?held=delayed');
      await page.getByRole('row').filter({ hasText: 'for.later' }).getByRole('link').first().click();
      await page.getByText(/Its event is to be delivered later\. First attempt in/).waitFor();
      await page.getByText('Expires').waitFor();
      await page.getByRole('button', { name: 'Send now' }).waitFor();
    });

    it('keeps its filters in the address, and Back takes one away', async () => {
      const { page, open } = get();
      await open('deliveries');
      await page.getByLabel('State').selectOption('Failure');
      await page.waitForURL(/state=Failure/);
      await page.reload();
      await page.getByText('payment.failed').first().waitFor();
      expect(await page.getByLabel('State').inputValue()).toBe('Failure');
      await page.goBack();
      await page.waitForURL((url) => !url.search.includes('state'));
    });

    it('that a filter empties says so, and has its rows again without the filter', async () => {
      const { page, open } = get();
      await open('audit?action=meta_event.resent');
      await page.getByText('No entry matches these filters').waitFor();
      await page.getByRole('button', { name: 'Clear filters' }).click();
      await page.getByText('endpoint.created').first().waitFor();
    });

    it.each(['deliveries', 'events', 'endpoints'])(
      '%s names the customer of each row, takes one as a filter, and leads to their page',
      async (path) => {
        const { page, go } = get();
        await go(path);
        const named = (customer: string) => page.locator('[data-row]').getByRole('link', { name: customer });
        await named('customer-7').first().waitFor();
        await page.getByLabel('Customer', { exact: true }).fill('customer-9');
        await page.keyboard.press('Enter');
        await page.waitForURL(/customer=customer-9/);
        await eventually(() => named('customer-7').count(), 0);
        await named('customer-9').first().click();
        await page.waitForURL(/\/customers\/customer-9$/);
        await page.getByRole('heading', { name: 'customer-9' }).waitFor();
      },
    );

    it('of events of one customer is replayed to this customer alone', async () => {
      const { page, open, app } = get();
      const project = await app.newProject();
      for (const owner_id of ['acme', 'globex'])
        await subscribe(project, 'https://receiver.posthorn.invalid/', { endpoint: { owner_id } });
      await project.post('/events/broadcast', { event_type: 'a', data: {} });
      await open('events?customer=acme', project.projectId);
      await page.getByRole('button', { name: 'Replay…' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('every match that the filters name: 1 new delivery to 1 endpoint').waitFor();
      await dialog.getByRole('button', { name: 'Replay 1 event' }).click();
      await page.waitForURL(/\/jobs\/\w+$/);
      const ofOwner = async (owner: string) =>
        (await project.get(`/eventdeliveries?ownerId=${owner}`)).content.length;
      await eventually(() => ofOwner('acme'), 2);
      expect(await ofOwner('globex')).toBe(1);
    });

    it('of failures names the customer of each group', async () => {
      const { page, go } = get();
      await go('failures?customer=customer-9');
      await page
        .getByRole('row', { name: 'Broken receiver' })
        .getByRole('link', { name: 'customer-9' })
        .click();
      await page.waitForURL(/\/customers\/customer-9$/);
    });

    it.each([1440, 360])('has room for exact times, at %i px', async (width) => {
      const { page, open } = get();
      await open('events');
      await page.evaluate(`localStorage.setItem('posthorn.exact', 'yes')`);
      await page.setViewportSize({ width, height: 740 });
      for (const path of ['events', 'deliveries']) {
        await open(path);
        await page.locator('[data-row="0"] time', { hasText: /:\d\d\.\d{3}/ }).waitFor();
        await expectAllInSight(page);
      }
      await page.evaluate(`localStorage.removeItem('posthorn.exact')`);
      await page.setViewportSize({ width: 1440, height: 900 });
    });

    it(`of ${MANY.toLocaleString('en')} rows scrolls without gaps`, async () => {
      const { page, open, app } = get();
      const project = await app.newProject();
      const { endpoint, subscription } = await subscribe(project, 'http://127.0.0.1:1/');
      const { projectId } = project;
      await failedDeliveries({ ...app, projectId }, { endpoint, subscription, count: MANY });
      await open(`deliveries?endpoint=${endpoint.uid}&state=Failure`, projectId);
      await page.locator('[data-row="20"]').waitFor();
      await page.getByRole('table', { name: 'Deliveries' }).hover();
      for (let row = 0; row < PAGES * 100; ) {
        await page.mouse.wheel(0, 6_000);
        const before = row;
        row = await eventually(() => lastShown(get()), atLeast(before + 1));
        expect(await gaps(get())).toEqual([]);
      }
      // Some 60 rows are in the document, however many there are.
      expect(await page.locator('[data-row]').count()).toBeLessThan(120);
    });
  });
}

const lastShown = ({ page }: World): Promise<number> =>
  page.evaluate(
    `Math.max(...[...document.querySelectorAll('[data-row]')].map((row) => Number(row.dataset.row)))`,
  );

/** Heights in the visible part of the list at which there is no row. */
const gaps = ({ page }: World): Promise<number[]> =>
  page.evaluate(`(() => {
    const area = document.querySelector('[role=table]').parentElement.getBoundingClientRect();
    const empty = [];
    for (let y = area.top + 48; y < area.bottom - 16; y += 32)
      if (document.elementFromPoint(area.left + 200, y)?.closest('[data-row]') === null) empty.push(y);
    return empty;
  })()`);

/** Pages with a button that opens a dialog with fields. */
const DIALOGS: [path: string, button: string, field: string][] = [
  ['endpoints', 'Add endpoint', 'URL'],
  ['subscriptions', 'Add subscription', 'Name'],
  ['sources', 'Add source', 'Provider'],
  ['event-types', 'Add event type', 'Name'],
  ['portal-links', 'Add portal link', 'Customer'],
  ['keys', 'Add key', 'Name'],
];

const focused = (page: Page): Promise<string> =>
  page.evaluate(
    `(document.activeElement.labels?.[0] ?? document.activeElement).textContent || document.activeElement.ariaLabel`,
  );

export function keyboardTests(get: () => World): void {
  describe('the keyboard', () => {
    it.each(['/', 'Control+k', 'Control+K', 'Meta+k'])(
      '%s opens the search with the caret in it',
      async (key) => {
        const { page, go } = get();
        await go('events');
        await page.locator('[data-row="0"]').waitFor();
        await page.keyboard.press(key);
        await page.keyboard.type('a/b');
        expect(await page.getByRole('searchbox').inputValue()).toBe('a/b');
        await page.keyboard.press('Escape');
        await page.getByRole('searchbox').waitFor({ state: 'detached' });
      },
    );

    it('keeps what is typed into the search while the page still loads', async () => {
      const { page, open, app } = get();
      let go = () => {};
      const held = new Promise<void>((resolve) => (go = resolve));
      await page.route(`${app.url}/api/v1/projects`, async (route) => {
        await held;
        await route.continue();
      });
      await open('events');
      await page.getByText('Loading your projects').waitFor();
      await page.keyboard.press('/');
      await page.keyboard.type('pay_');
      go();
      await page.getByRole('searchbox').waitFor();
      await page.keyboard.type('4242');
      expect(await page.getByRole('searchbox').inputValue()).toBe('pay_4242');
      await page.unroute(`${app.url}/api/v1/projects`);
      await page.keyboard.press('Escape');
    });

    it.each(DIALOGS)('%s: the dialog "%s" opens with the focus in %s', async (path, button, field) => {
      const { page, go } = get();
      await go(path);
      await page.getByRole('button', { name: button }).first().click();
      const dialog = page.getByRole('dialog');
      expect(await focused(page)).toBe(field);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    });

    it('j, j and Enter open the second row of a list that was just loaded', async () => {
      const { page, open } = get();
      await open('deliveries');
      await page.locator('[data-row="1"]').waitFor();
      const href = await page.locator('[data-row="1"] a').first().getAttribute('href');
      await page.keyboard.press('j');
      await page.keyboard.press('j');
      await page.locator('[data-row="1"] a:focus').waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL((url) => url.pathname === new URL(href ?? '', url).pathname);
    });
  });

  describe('the search', () => {
    it('goes on to older events by itself, and says how far it came', async () => {
      const { page, open, app } = get();
      const project = await app.newProject();
      const event = await project.post('/events/broadcast', {
        event_type: 'order.shipped',
        data: { customer: 'globex' },
      });
      // A search by time would lose some of one millisecond.
      await copyEvent(app, event, 24);
      await project.post('/endpoints', { name: 'Globex', url: 'https://globex.test/' });
      await open('events', project.projectId);
      await page.locator('[data-row="0"]').waitFor();
      await page.keyboard.press('/');
      await page.keyboard.type('globex');
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog');
      // A call answers with 20 events at most.
      await dialog.getByRole('heading', { name: 'Endpoints (1)' }).waitFor();
      await dialog.getByRole('heading', { name: 'Events (25)' }).waitFor();
      await dialog.getByText(/^Searched (all events|events back to)/).waitFor();
      const events = dialog.locator('section', { hasText: 'Events (25)' }).getByRole('listitem');
      expect(await events.count()).toBe(25);
      expect(await events.first().textContent()).toMatch(
        /^order\.shippeddata\.customer: globex\w{5}….{6}(now|\d+ s ago)$/,
      );
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await page.waitForURL(/\/events\/\w+$/);
    });
  });
}
