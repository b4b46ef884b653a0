import { describe, expect, it } from 'vitest';
import { subscribe } from '../../support/app.ts';
import { Relay } from '../../support/servers/relay.ts';
import { violations } from '../axe.ts';
import { chooseValues } from '../edits.ts';
import type { PortalWorld } from './world.ts';

export function portalEditTests(get: () => PortalWorld): void {
  describe('a customer who edits', () => {
    it('sees what another one has saved meanwhile, and takes one of both', async () => {
      const { visit, link, app } = get();
      const owner = { owner_id: 'customer-edits' };
      const { endpoint, subscription } = await subscribe(app.project, 'http://127.0.0.1:9/', {
        eventTypes: ['invoice.paid'],
        endpoint: { name: 'Ours', ...owner },
      });
      const { url } = await link({ ...owner, can_manage_endpoint: true });
      const { page, wrongs, close } = await visit(url);
      await page.getByRole('link', { name: 'Ours' }).first().click();
      await page.getByRole('button', { name: 'Edit…' }).click();
      const dialog = page.getByRole('dialog').first();
      await dialog.getByLabel('Name', { exact: true }).fill('Mine');
      await app.project.put(`/endpoints/${endpoint.uid}`, { description: 'of the owner', name: 'Theirs' });
      await dialog.getByRole('button', { name: 'Save endpoint' }).click();
      await chooseValues(page, { Name: 'Yours' });
      await dialog.waitFor({ state: 'detached' });
      const stored = await app.project.get(`/endpoints/${endpoint.uid}`);
      expect(stored).toMatchObject({ name: 'Mine', description: 'of the owner' });

      await page.getByRole('button', { name: 'Change…' }).click();
      await dialog.getByLabel('invoice.reminder').check();
      const filter = { body: { amount: { $gt: 5 } } };
      const filter_config = { event_types: ['invoice.paid'], filter };
      await app.project.put(`/subscriptions/${subscription.uid}`, { filter_config });
      await dialog.getByRole('button', { name: 'Save event types' }).click();
      await dialog.waitFor({ state: 'detached' });
      const after = await app.project.get(`/subscriptions/${subscription.uid}`);
      expect(after.filter_config).toMatchObject({
        event_types: ['invoice.paid', 'invoice.reminder'],
        filter,
      });
      expect(wrongs).toEqual([]);
      await close();
    });

    it('reads in their language that the service is away, and goes on by itself', async () => {
      const { visit, link, app } = get();
      const relay = await Relay.start(Number(new URL(app.url).port));
      const { url } = await link({ owner_id: 'customer-9', can_manage_endpoint: true });
      const through = new URL(url);
      through.port = String(relay.port);
      const { page, wrongs, close } = await visit(through.href, { width: 390, language: 'de-DE' });
      await page.getByRole('link', { name: 'Statistik' }).click();
      const figures = page.getByRole('list', { name: 'Statistik' });
      await figures.waitFor();
      relay.freeze();
      const bar = page.getByText(/^Keine Antwort seit /);
      await bar.waitFor();
      expect(await figures.innerText()).toContain('Stand ');
      expect(await violations(page)).toEqual([]);
      relay.thaw();
      await bar.waitFor({ state: 'detached' });
      expect(await figures.innerText()).not.toContain('Stand ');
      expect(wrongs).toEqual([]);
      await close();
      relay.close();
    });
  });
}
