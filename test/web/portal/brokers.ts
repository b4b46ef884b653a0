import { expect, it } from 'vitest';
import { violations } from '../axe.ts';
import { BrokerForm, FORMS } from '../broker-form.ts';
import { goTo, type PortalWorld } from './world.ts';

export function portalBrokerTests(get: () => PortalWorld): void {
  it('a customer adds an endpoint that sends to a broker only if link and project allow it, with a key of their own', async () => {
    const world = get();
    const project = await world.app.newProject({ portal_brokers: true });
    const rights = { name: 'link', owner_id: 'o', can_manage_endpoint: true, can_retry: false };
    const linkTo = async (more: object): Promise<string> =>
      (await project.post('/portal-links', { ...rights, ...more })).url;
    const add = (page: Awaited<ReturnType<PortalWorld['visit']>>['page']) =>
      page.getByRole('button', { name: 'Add endpoint' }).first().click();
    const without = await world.visit(await linkTo({}));
    await add(without.page);
    await without.page.getByRole('dialog').getByLabel('URL').waitFor();
    expect(await without.page.getByLabel('Delivery', { exact: true }).count()).toBe(0);
    await without.close();

    const { page, wrongs, close } = await world.visit(await linkTo({ can_use_brokers: true }));
    const dialog = page.getByRole('dialog');
    const form = new BrokerForm(dialog, 'sqs');
    await add(page);
    await form.label('Delivery').selectOption('To a broker: a queue or topic');
    await form.choose();
    await form.label('Name').fill('Orders');
    // The operator allows it at Amazon, but never to portal links.
    expect(await form.label('Credentials').count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Add endpoint' }).click();
    expect(await form.wrong()).toEqual(FORMS.sqs.required);
    await form.refuses();
    await form.fill();
    await dialog.getByRole('button', { name: 'Add endpoint' }).click();
    await dialog.getByRole('link', { name: 'Open endpoint' }).click();
    await page.getByText('Amazon SQS · orders.fifo · http://127.0.0.1:9324').waitFor();
    // A broker takes a message with any signature.
    await goTo(page, '#/verify');
    await page.getByLabel('Language').waitFor();
    expect(await page.getByRole('button', { name: 'Send both' }).count()).toBe(0);
    await page.goBack();
    await page.getByRole('button', { name: 'Edit…' }).click();
    await dialog.getByText('Stored and not shown. Leave it empty to keep it.').waitFor();
    await form.field('access_key_id').fill('another');
    await dialog.getByRole('button', { name: 'Save endpoint' }).click();
    await dialog.waitFor({ state: 'detached' });
    const [endpoint] = (await project.get('/endpoints')).content;
    expect(endpoint.broker.sqs).toEqual({ ...FORMS.sqs.stored, access_key_id: 'another' });
    expect(wrongs).toEqual([]);
    await close();

    const { uid } = endpoint;
    const kept = async (more: object, broker: object) => {
      const { page: other, close: done } = await world.visit(
        await linkTo({ can_use_brokers: true, ...more }),
      );
      await other.getByRole('link', { name: 'Orders' }).click();
      await other.getByRole('button', { name: 'Edit…' }).click();
      const closed = other.getByRole('dialog');
      await closed.getByText('The settings of the broker are not shown.').waitFor();
      await closed.getByLabel('Alert email', { exact: true }).fill('o@example.org');
      await closed.getByRole('button', { name: 'Save endpoint' }).click();
      await closed.waitFor({ state: 'detached' });
      expect(await project.get(`/endpoints/${uid}`)).toMatchObject({
        support_email: 'o@example.org',
        broker,
      });
      await project.put(`/endpoints/${uid}`, { support_email: '' });
      await done();
    };
    await kept({ can_see_secrets: false }, endpoint.broker);
    const ofMachine = { queue_name: 'orders', default_region: 'eu-west-1', credentials: 'workload' };
    await project.put(`/endpoints/${uid}`, { broker: { type: 'sqs', sqs: ofMachine } });
    await kept({}, { sqs: ofMachine });

    await project.put('', { config: { portal_brokers: false } });
    const refused = await world.visit(await linkTo({ can_use_brokers: true }));
    await add(refused.page);
    await refused.page.getByRole('dialog').getByLabel('URL').waitFor();
    expect(await refused.page.getByLabel('Delivery', { exact: true }).count()).toBe(0);
    await refused.close();
  });
}
