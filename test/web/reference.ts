import { describe, expect, it } from 'vitest';
import type { World } from './world.ts';

/** The API reference at /docs, in the browser. */
export function referenceTests(get: () => World): void {
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
