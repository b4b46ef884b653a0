import { describe, expect, it } from 'vitest';
import { atLeast, eventually } from '../support/eventually.ts';
import { MailServer } from '../support/servers/mail-server.ts';
import { member, PASSWORD, signIn } from '../support/session-client.ts';
import { fresh, type World } from './world.ts';

export function signInTests(get: () => World): void {
  describe('signing in', () => {
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
      expect(await page.getByRole('navigation').getByText('Instance', { exact: true }).count()).toBe(0);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByLabel('Email address').fill(email);
      await page.getByLabel('Password').fill('not the password');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
      await page.getByLabel('Password').fill(PASSWORD);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Endpoints in trouble' }).waitFor();
      expect(wrongs).toEqual([]);
      await close();
    });

    it('with a link that was used says so, and other ways are a click away', async () => {
      const { page, wrongs, close } = await fresh(get());
      const { app } = get();
      const { link } = await app.instance.post('/sign-in-links', {});
      await page.goto(link);
      await page.getByText('Sign in as admin@localhost.').waitFor();
      // The token is in neither the address nor the history.
      expect(page.url()).toBe(`${app.url}/sign-in`);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('navigation').getByText('Instance', { exact: true }).waitFor();
      await page.goto(link);
      await page.getByRole('alert').getByText('already used').waitFor();
      await page.getByRole('button', { name: 'Sign in another way' }).click();
      await page.getByLabel('Email address').waitFor();
      await page.goto(`${app.url}/sign-in#error=provider_no_account`);
      await page.getByRole('alert').getByText('There is no account with your address.').waitFor();
      expect(wrongs).toEqual([]);
      await close();
    });

    it('with a forgotten password asks for a link by mail, which sets a new one', async () => {
      const { app } = get();
      const mails = await MailServer.start();
      const node = await app.addNode({
        POSTHORN_SMTP_URL: mails.url,
        POSTHORN_SMTP_FROM: 'posthorn@example.com',
      });
      const { email } = await member(app, 'viewer');
      const { page, wrongs, close } = await fresh(get(), node.url);
      await page.goto(`${node.url}/sign-in`);
      await page.getByText('Forgot your password?').click();
      await page.getByLabel('Your email address').fill(email);
      await page.keyboard.press('Enter');
      await page
        .getByText('If there is an account with this email address, an email is on its way.')
        .waitFor();
      const [mail] = await eventually(async () => mails.mails, { length: atLeast(1) });
      const text = mail?.text.replaceAll(/=\r?\n/g, '').replaceAll('=3D', '=') ?? '';
      await page.goto(/\S+#link=\w+/.exec(text)?.[0] ?? '');
      await page.getByLabel('Password').fill(`${PASSWORD} and more`);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Endpoints in trouble' }).waitFor();
      expect((await signIn(app.url, { email, password: PASSWORD })).status).toBe(401);
      expect((await signIn(app.url, { email, password: `${PASSWORD} and more` })).status).toBe(200);
      expect(wrongs).toEqual([]);
      await close();
      await mails.stop();
    });

    it('with the key of a project shows no page of the instance', async () => {
      const { page, wrongs, close } = await fresh(get());
      const { app } = get();
      await page.addInitScript((key) => sessionStorage.setItem('posthorn.key', key), app.project.key);
      await page.goto(`${app.url}/instance/audit`);
      await page.getByRole('alert').getByText('You may not see this').waitFor();
      expect(await page.getByRole('navigation').getByText('Instance', { exact: true }).count()).toBe(0);
      expect(wrongs).toEqual([]);
      await close();
    });
  });
}
