import type { Locator, Page, Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { subscribe } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { violations } from './axe.ts';
import type { World } from './world.ts';

const VERSION = 'x-posthorn-config-version';

/** The bodies of the updates that the page sends, each with the version that it names. Before one goes, `meanwhile` runs. */
async function updatesOf(page: Page, meanwhile: (count: number) => Promise<unknown>): Promise<Json[]> {
  const sent: Json[] = [];
  await page.route('**/api/v1/projects/**', async (route: Route) => {
    const request = route.request();
    if (request.method() === 'PUT') {
      const count = sent.push(request.postDataJSON());
      expect(Number(request.headers()[VERSION])).toBeGreaterThan(0);
      await meanwhile(count);
    }
    await route.continue();
  });
  return sent;
}

/** Both values stand side by side; the reader takes one of each field. */
export async function chooseValues(page: Page, choices: Readonly<Record<string, 'Yours' | 'Theirs'>>) {
  const dialog = page.getByRole('dialog', { name: 'Changed meanwhile' });
  await dialog.waitFor();
  expect(await dialog.getByRole('group').allTextContents()).toHaveLength(Object.keys(choices).length);
  const texts = await dialog.getByRole('group').allInnerTexts();
  for (const [label, choice] of Object.entries(choices))
    await dialog.getByRole('group', { name: label }).getByRole('radio', { name: choice }).check();
  await dialog.getByRole('button', { name: 'Save these' }).click();
  await dialog.waitFor({ state: 'detached' });
  return texts.map((text) => text.split('\n').filter((line) => line !== ''));
}

/** No work of others is overwritten. */
export function editTests(get: () => World): void {
  describe('a form that another reader saves too', () => {
    const scene = async (): Promise<{
      project: ApiClient;
      endpoint: Json;
      subscription: Json;
      dialog: Locator;
      field(label: string): Locator;
      press(name: string): Promise<void>;
    }> => {
      const { page, app } = get();
      const project = await app.newProject();
      const { endpoint, subscription } = await subscribe(project, 'http://127.0.0.1:9/', {
        eventTypes: ['order'],
        endpoint: { name: 'Shop', owner_id: 'customer 7' },
      });
      const dialog = page.getByRole('dialog').first();
      return {
        project,
        endpoint,
        subscription,
        dialog,
        field: (label) => dialog.getByLabel(label, { exact: true }),
        press: (name) => page.getByRole('button', { name, exact: true }).click(),
      };
    };

    it('sends only what was changed, again without a word while that is as it was', async () => {
      const { page, open } = get();
      const { project, endpoint, dialog, field, press } = await scene();
      const at = `/endpoints/${endpoint.uid}`;
      await open(`endpoints/${endpoint.uid}`, project.projectId);
      await press('Edit…');
      await field('Name').fill('Shop 2');
      await project.put(at, { description: 'of another' });
      const sent = await updatesOf(page, async (count) => {
        if (count === 1) await project.put(at, { user_agent: 'Other/1.0' });
      });
      await press('Save endpoint');
      await dialog.waitFor({ state: 'detached' });
      await page.unrouteAll();
      // The first of them met another version.
      expect(sent).toEqual([{ name: 'Shop 2' }, { name: 'Shop 2' }]);
      const theirs = { description: 'of another', user_agent: 'Other/1.0' };
      expect(await project.get(at)).toMatchObject({ name: 'Shop 2', ...theirs });
      await press('Edit…');
      await press('Save endpoint');
      await dialog.waitFor({ state: 'detached' });
      expect(sent).toHaveLength(2);
    });

    it('shows both values of a field, and saves those that the reader takes', async () => {
      const { page, open } = get();
      const { project, endpoint, dialog, field, press } = await scene();
      const at = `/endpoints/${endpoint.uid}`;
      await open(`endpoints/${endpoint.uid}`, project.projectId);
      await press('Edit…');
      await field('Name').fill('Mine');
      await field('Description').fill('also mine');
      await field('Alert email').fill('mine@example.com');
      await field('Authentication').selectOption('Basic: user name and password');
      await field('User name').fill('me');
      await field('Password').fill('my secret');
      const basic_auth = { username: 'you', password: 'their secret' };
      await project.put(at, {
        name: 'Theirs',
        description: 'also theirs',
        authentication: { type: 'basic_auth', basic_auth },
      });
      await press('Save endpoint');
      const clash = page.getByRole('dialog', { name: 'Changed meanwhile' });
      await clash.getByText('also theirs').waitFor();
      expect(await violations(page, 'all', 'dialog:last-of-type')).toEqual([]);
      await page.keyboard.press('Escape');
      await dialog.getByText('Nothing was saved.').waitFor();
      expect((await project.get(at)).name).toBe('Theirs');
      // The typed texts are still there.
      await press('Save endpoint');
      const shown = await chooseValues(page, {
        Name: 'Theirs',
        Description: 'Yours',
        Authentication: 'Theirs',
      });
      expect(shown).toContainEqual(['Name', 'Yours', 'Mine', 'Theirs', 'Theirs']);
      expect(JSON.stringify(shown)).not.toContain('secret');
      await dialog.waitFor({ state: 'detached' });
      expect(await project.get(at)).toMatchObject({
        name: 'Theirs',
        description: 'also mine',
        support_email: 'mine@example.com',
        authentication: { basic_auth },
      });
    });

    it('keeps what is typed into the settings, a filter and event types', async () => {
      const { page, open } = get();
      const { project, subscription, dialog, field, press } = await scene();
      await open('settings', project.projectId);
      const setting = (label: string) => page.getByLabel(label, { exact: true });
      await setting('Timeout (s)').fill('17');
      await setting('Probe after, seconds').fill('45');
      const config = { circuit_breaker: { error_timeout: 50, minimum_request_count: 30 } };
      await project.put('', { name: 'Renamed', config });
      // The page reads again when the reader comes back to it.
      await page.evaluate(`dispatchEvent(new Event('visibilitychange'))`);
      await press('Save settings');
      const shown = await chooseValues(page, { 'Probe after, seconds': 'Yours' });
      expect(shown).toEqual([['Probe after, seconds', 'Yours', '45', 'Theirs', '50']]);
      await page.getByText('Settings saved').waitFor();
      expect(await project.get('')).toMatchObject({
        name: 'Renamed',
        config: { http_timeout: 17, circuit_breaker: { error_timeout: 45, minimum_request_count: 30 } },
      });

      const at = `/subscriptions/${subscription.uid}`;
      const filter = { body: { amount: { $gt: 5 } } };
      await open(`subscriptions/${subscription.uid}`, project.projectId);
      await press('Edit…');
      await field('Event types').fill('sale.*');
      await project.put(at, { filter_config: { event_types: ['order'], filter } });
      await press('Save subscription');
      await dialog.waitFor({ state: 'detached' });
      // Another one changed the conditions, and these are the types.
      expect((await project.get(at)).filter_config).toMatchObject({ event_types: ['sale.*'], filter });
    });
  });
}
