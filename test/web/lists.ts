import { describe, expect, it } from 'vitest';
import { subscribe } from '../support/app.ts';
import { eventually } from '../support/eventually.ts';
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
        row = await eventually(
          () => lastShown(get()),
          (shown) => shown > before,
        );
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
