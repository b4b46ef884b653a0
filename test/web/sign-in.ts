import { describe, expect, it } from 'vitest';
import { PASSWORD } from '../support/session-client.ts';
import { watchedPage } from './browser.ts';
import type { World } from './world.ts';

export function signInTests(get: () => World): void {
  describe('signing in', () => {
    const fresh = async ({ browser, app }: World) => {
      const context = await browser.newContext();
      const { page, wrongs } = await watchedPage(context, app.url);
      page.setDefaultTimeout(60_000);
      return { page, wrongs, close: () => context.close() };
    };

    it('is asked for, refuses a wrong key in words, and leads to the overview', async () => {
      const { page, wrongs, close } = await fresh(get());
      const { app } = get();
      await page.goto(`${app.url}/p/${app.projectId}/events`);
      await page.getByText('Sign in with an API key').click();
      await page.getByLabel('API key').fill('wrong');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
      await page.getByLabel('API key').fill(app.project.key);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Endpoints in trouble' }).waitFor();
      expect(wrongs).toEqual([]);
      await close();
    });

    it('with an invitation leads to the pages of the role, and a password leads back after signing out', async () => {
      const { page, wrongs, close } = await fresh(get());
      const { app } = get();
      const email = 'Zoë@example.com';
      const { link } = await app.project.post('/people', { email, name: 'Zoë', role: 'viewer' });
      await page.goto(link);
      await page.getByLabel('Password').fill(PASSWORD);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Endpoints in trouble' }).waitFor();
      await page.getByRole('complementary').getByText('zoë@example.com').waitFor();
      expect(await page.getByRole('navigation').getByText('Instance').count()).toBe(0);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByLabel('E-mail address').fill(email);
      await page.getByLabel('Password').fill('not the password');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
      await page.getByLabel('Password').fill(PASSWORD);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Endpoints in trouble' }).waitFor();
      expect(wrongs).toEqual([]);
      await close();
    });

    it('with the key of a project shows no page of the instance', async () => {
      const { page, wrongs, close } = await fresh(get());
      const { app } = get();
      await page.addInitScript((key) => sessionStorage.setItem('posthorn.key', key), app.project.key);
      await page.goto(`${app.url}/instance/audit`);
      await page.getByRole('alert').getByText('You may not see this').waitFor();
      expect(await page.getByRole('navigation').getByText('Instance').count()).toBe(0);
      expect(wrongs).toEqual([]);
      await close();
    });
  });
}
