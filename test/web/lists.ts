import { describe, expect, it } from 'vitest';
import type { World } from './world.ts';

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
  });
}
