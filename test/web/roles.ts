import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { subscribe } from '../support/app.ts';
import { ApiClient } from '../support/client.ts';
import { member } from '../support/session-client.ts';
import { violations } from './axe.ts';
import { fresh, goTo, type World } from './world.ts';

/** Buttons that change nothing on the server. */
const HARMLESS = /^(Copy|Columns|Filters|Live|Raw|Show|$)/;

/** The names of everything that can be pressed on the page, as a screen reader says them. */
async function actsOf(page: Page): Promise<string[]> {
  const names = (await page.evaluate(
    `[...document.querySelectorAll('main button')].map((one) => one.getAttribute('aria-label') ?? one.textContent)`,
  )) as string[];
  return names.filter((name) => !HARMLESS.test(name));
}

const pagesOf = (page: Page): Promise<string[]> =>
  page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allTextContents();

export function roleTests(get: () => World): void {
  describe('a role', () => {
    it('viewer sees everything of the project, and nothing that it may not do', async () => {
      const { app, seed } = get();
      const { client, email } = await member(app, 'viewer');
      const { page, wrongs, close } = await fresh(get());
      const [name = '', value = ''] = client.cookie.split('=');
      await page.context().addCookies([{ name, value, url: app.url }]);
      const {
        content: [failed],
      } = await app.project.get('/eventdeliveries?status=Failure&perPage=1');
      const open = async (path: string, shows: string) => {
        await goTo(page, `${app.url}/p/${app.projectId}/${path}`);
        await page.locator('main').getByText(shows).first().waitFor();
      };
      const { crm } = seed.endpoints;
      const pages: [path: string, shows: string][] = [
        ['overview', 'Endpoints in trouble'],
        ['failures', 'The endpoint answered 500'],
        [`events/${seed.failedEvent.uid}`, 'Where it did not go'],
        [`deliveries/${failed.uid}`, 'database is down'],
        [`endpoints/${crm.uid}`, 'Latest deliveries'],
        [`subscriptions/${seed.subscriptions.crm.uid}`, 'every event of the types matches'],
        [`sources/${seed.source.uid}`, 'Ingest URL'],
        ['event-types', 'invoice.paid'],
        ['customers/customer-9', 'Broken receiver'],
        ['settings', 'Backoff'],
      ];
      const shown: Record<string, string[]> = {};
      for (const [path, shows] of pages) {
        await open(path, shows);
        shown[path] = await actsOf(page);
      }
      expect(shown).toEqual(Object.fromEntries(pages.map(([path]) => [path, []])));
      expect(await page.getByLabel('First wait (s)').isDisabled()).toBe(true);
      expect(await violations(page)).toEqual([]);
      expect((await pagesOf(page)).join(', ')).toBe(
        'Overview, Failures, Deliveries, Events, Endpoints, Customers, Subscriptions, Sources, Event types, Jobs, Meta events, Settings',
      );
      await open('keys', 'You may not see this');
      const hidden = await app.newProject();
      const { subscription } = await subscribe(hidden, app.url, {
        subscription: { function: 'function transform(p) { return p; } // hush' },
      });
      await app.instance.post(`/projects/${hidden.projectId}/people`, { email, role: 'viewer' });
      await goTo(page, `${app.url}/p/${hidden.projectId}/subscriptions/${subscription.uid}`);
      await page.getByText('Your role does not see its code').waitFor();
      expect(await page.locator('main').getByText('***').count()).toBe(0);
      expect(wrongs).toEqual([]);
      await close();
    });

    it('administrator of the instance has its pages apart, and no two entries have one name', async () => {
      const { page, go } = get();
      await go('overview');
      const names = await pagesOf(page);
      expect(names.slice(0, 6).join(', ')).toBe(
        'Overview, Failures, Deliveries, Events, Endpoints, Customers',
      );
      expect(new Set(names).size).toBe(names.length);
      const menu = page.getByRole('navigation', { name: 'Pages' });
      const groups = await menu.getByRole('heading').allTextContents();
      expect(groups.slice(0, 4)).toEqual(['Setup', 'History', 'Project', 'Instance']);
      const instance = names.slice(names.indexOf('Settings') + 1).slice(0, 5);
      expect(instance).toEqual(['Projects', 'Nodes', 'Accounts', 'Instance audit', 'Instance settings']);
    });

    it('viewer of an empty project learns whom to ask, and gets no command', async () => {
      const { app, emptyProject } = get();
      const { key } = await app.instance.post(`/projects/${emptyProject}/keys`, {
        name: 'of a viewer',
        role: 'viewer',
      });
      const { page, wrongs, close } = await fresh(get());
      await page.addInitScript((text) => sessionStorage.setItem('posthorn.key', text), key);
      for (const [path, title] of [
        ['endpoints', 'No endpoints yet'],
        ['sources', 'No sources yet'],
        ['subscriptions', 'No subscriptions yet'],
        ['events', 'No events yet'],
        ['deliveries', 'No deliveries yet'],
      ] as const) {
        await goTo(page, `${app.url}/p/${emptyProject}/${path}`);
        const empty = page.locator('section', { hasText: title });
        await empty.getByText(/Developers of the project (add them|send events)/).waitFor();
        expect(await empty.textContent()).not.toMatch(/Add one|curl/);
        expect(await actsOf(page)).toEqual([]);
      }
      await goTo(page, `${app.url}/p/${emptyProject}/endpoints?name=none`);
      await page.getByRole('button', { name: 'Clear filters' }).click();
      await page.getByText('No endpoints yet').waitFor();
      expect(wrongs).toEqual([]);
      await close();
    });

    it('of a key decides the same: a developer sends and changes, and does not manage', async () => {
      const { app, seed } = get();
      const { key } = await app.project.post('/keys', { name: 'of a developer', role: 'developer' });
      expect((await new ApiClient(app.url, key).get('/api/v1/projects'))[0].role).toBe('developer');
      const { page, wrongs, close } = await fresh(get());
      await page.addInitScript((text) => sessionStorage.setItem('posthorn.key', text), key);
      await page.goto(`${app.url}/p/${app.projectId}/endpoints/${seed.endpoints.crm.uid}`);
      await page.getByRole('button', { name: 'Roll secret…' }).waitFor();
      await page.getByRole('complementary').getByText('Your role: developer').waitFor();
      const pages = await pagesOf(page);
      expect(pages).toContain('Devices');
      expect(pages.filter((one) => /Portal|Audit|People|Accounts|keys/.test(one))).toEqual([]);
      await goTo(page, `${app.url}/p/${app.projectId}/settings`);
      await page.getByText('Administrators of the project change them.').waitFor();
      expect(await actsOf(page)).toEqual([]);
      expect(wrongs).toEqual([]);
      await close();
    });
  });
}
