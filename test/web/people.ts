import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { codeAt, stepAt } from '../../src/people/totp.ts';
import { ApiClient } from '../support/client.ts';
import { member, PASSWORD, signIn } from '../support/session-client.ts';
import { violations } from './axe.ts';
import { fresh, type World } from './world.ts';

/** The text of a block that can be copied, such as a link. */
const textOf = async (page: Page, label: string): Promise<string> =>
  (await page.getByRole('region', { name: label, exact: true }).textContent()) ?? '';

async function fitsPhone(page: Page): Promise<boolean> {
  await page.setViewportSize({ width: 360, height: 740 });
  const wide = await page.evaluate('document.documentElement.scrollWidth');
  await page.setViewportSize({ width: 1440, height: 900 });
  return wide === 360;
}

export function peopleTests(get: () => World): void {
  describe('people', () => {
    it('are invited to a project, get another role and leave', async () => {
      const world = get();
      const { page, app } = world;
      const project = await app.newProject();
      await world.open('people', project.projectId);
      await page.getByText('No people yet').waitFor();
      await page.getByRole('button', { name: 'Invite person' }).click();
      await page.getByLabel('Email address').fill('ann@example.com');
      await page.getByLabel('Name').fill('Ann');
      await page.getByLabel('Role in').selectOption('viewer');
      await page.getByRole('button', { name: 'Invite', exact: true }).click();
      const link = await textOf(page, 'Link');
      await page.getByRole('button', { name: 'Close' }).click();
      await page.getByText('Invited', { exact: true }).waitFor();
      expect(await violations(world.page)).toEqual([]);
      expect(await fitsPhone(page)).toBe(true);

      const ann = await fresh(world);
      const listed = `${app.url}/p/${project.projectId}/people`;
      await ann.page.goto(link);
      await ann.page.getByLabel('Password').fill(PASSWORD);
      await ann.page.keyboard.press('Enter');
      await ann.page.getByRole('heading', { name: 'Endpoints in trouble' }).waitFor();
      expect(await ann.page.getByRole('navigation').getByText('People').count()).toBe(0);
      await ann.page.goto(listed);
      await ann.page.getByRole('alert').getByText('You may not see this').waitFor();
      await page.getByLabel('Role of ann@example.com').selectOption('admin');
      await page.getByText('The role of ann@example.com is changed').waitFor();
      await ann.page.goto(listed);
      await ann.page.getByRole('button', { name: 'Remove ann@example.com' }).waitFor();
      await ann.page.getByRole('navigation').getByText('People').waitFor();
      await page.getByRole('button', { name: 'Remove ann@example.com' }).click();
      await page.getByRole('button', { name: /^Remove from/ }).click();
      await page.getByText('No people yet').waitFor();
      await ann.page.goto(listed);
      await ann.page.getByRole('alert').getByText('You may not see this').waitFor();
      expect(ann.wrongs).toEqual([]);
      await ann.close();
    });

    it('of the instance are edited, get a link for a new password, and are deactivated', async () => {
      const { page, app } = get();
      const { email } = await member(app, 'instance');
      await page.goto(`${app.url}/instance/people`);
      await page.getByRole('button', { name: `Edit: ${email}` }).click();
      await page.getByLabel('Name').fill('Boss of all');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Boss of all').waitFor();
      expect(await violations(page)).toEqual([]);
      expect(await fitsPhone(page)).toBe(true);
      const { person } = await app.project.post('/people', { email: `claimed-${email}`, role: 'viewer' });
      await page.reload();
      await page.getByRole('button', { name: `Edit: ${person.email}` }).click();
      await page.getByLabel('Administrator of the instance').check();
      await page.getByRole('button', { name: 'Save' }).click();
      expect(await textOf(page, 'Link')).toContain('/sign-in#link=');
      await page.getByRole('button', { name: 'Close' }).click();
      await page.getByRole('button', { name: `Reset: ${email}` }).click();
      await page.getByRole('button', { name: 'Make link' }).click();
      const link = await textOf(page, 'Link');
      await page.getByRole('button', { name: 'Close' }).click();
      await page.getByRole('button', { name: `Deactivate: ${email}` }).click();
      await page.getByRole('button', { name: `Deactivate ${email}` }).click();
      await page.getByRole('button', { name: `Activate: ${email}` }).click();
      await page.getByRole('button', { name: `Activate ${email}` }).click();
      await page.getByRole('button', { name: `Deactivate: ${email}` }).waitFor();
      // The deactivation ended the link.
      const visitor = await fresh(get());
      await visitor.page.goto(link);
      await visitor.page.getByRole('alert').getByText('already used').waitFor();
      await visitor.close();
    });

    it('change their name, password and second factor, and end their sessions', async () => {
      const world = get();
      const { app } = world;
      const project = await app.newProject({ require_second_factor: true });
      const { email } = await member(app, 'viewer', project);
      const { page, wrongs, close } = await fresh(world);
      await page.goto(`${app.url}/sign-in`);
      await page.getByLabel('Email address').fill(email);
      await page.getByLabel('Password').fill(PASSWORD);
      await page.keyboard.press('Enter');
      // The project requires a second factor, and its pages say where to set it up.
      await page.getByRole('alert').getByRole('link', { name: 'Your account' }).first().click();
      await page.getByLabel('Name').fill('Carla');
      await page.getByRole('button', { name: 'Save name' }).click();
      await page.getByText('Name saved').waitFor();

      await page.getByRole('button', { name: 'Change password…' }).click();
      await page.getByLabel('Current password').fill('not the password');
      await page.getByLabel('New password').fill(`${PASSWORD} and more`);
      await page.getByRole('button', { name: 'Change password', exact: true }).click();
      await page.getByRole('alert').getByText('is wrong').waitFor();
      await page.getByLabel('Current password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Change password', exact: true }).click();
      await page.getByText('Password changed.').waitFor();

      await page.getByRole('button', { name: 'Set up…' }).click();
      await page.getByRole('img', { name: 'QR code of the secret' }).waitFor();
      const secret = await textOf(page, 'Secret');
      await page.getByRole('textbox', { name: 'Code' }).fill(codeAt(secret, stepAt(Date.now())));
      await page.getByRole('button', { name: 'Switch on' }).click();
      const codes = (await textOf(page, 'Recovery codes')).split('\n');
      expect(codes.length).toBe(10);
      await page.getByRole('button', { name: 'I have kept them' }).click();
      await page.getByRole('button', { name: 'Switch off…' }).waitFor();
      expect(await violations(page)).toEqual([]);
      expect(await fitsPhone(page)).toBe(true);

      const password = `${PASSWORD} and more`;
      expect((await signIn(app.url, { email, password, code: codes[0] })).status).toBe(200);
      await page.reload();
      await page.getByRole('button', { name: /^End the session by password/ }).click();
      await page.getByText('The session has ended').waitFor();
      await page.getByRole('button', { name: /^End the session/ }).waitFor({ state: 'detached' });
      await page.getByText('This session').waitFor();

      await page.getByRole('button', { name: 'Switch off…' }).click();
      await page.getByRole('textbox', { name: 'Code' }).fill(codes[1] ?? '');
      await page.getByRole('button', { name: 'Switch off', exact: true }).click();
      await page.getByRole('button', { name: 'Set up…' }).waitFor();
      expect(wrongs).toEqual([]);
      await close();
    });

    it('limit a key to a role, and require a second factor of each other', async () => {
      const world = get();
      const { page, app } = world;
      const project = await app.newProject();
      await world.open('keys', project.projectId);
      await page.getByRole('button', { name: 'Add key' }).click();
      await page.getByLabel('Name').fill('reads only');
      await page.getByLabel('Role').selectOption('viewer');
      await page.getByRole('dialog').getByRole('button', { name: 'Add key' }).click();
      const key = await textOf(page, 'Key');
      const reader = new ApiClient(project.base, key);
      await reader.get('/endpoints');
      await reader.post('/event-types', { name: 'refused' }, 403);
      await world.open('settings', project.projectId);
      await page.getByLabel('People need a second factor').check();
      await page.getByRole('button', { name: 'Save settings' }).click();
      await page.getByText('Settings saved').waitFor();
      const { config } = await project.get('');
      expect([config.require_second_factor, config.hide_payload_from_viewers]).toEqual([true, false]);
    });

    it('with a key have no account', async () => {
      const { page, app } = get();
      await page.goto(`${app.url}/account`);
      await page.getByText('You are signed in with a key').waitFor();
    });
  });
}
