import { expect, it } from 'vitest';
import { RABBITMQ_USER } from '../../support/brokers/rabbitmq-server.ts';
import { violations } from '../axe.ts';
import { brokerForm } from '../broker-form.ts';
import type { PortalWorld } from './world.ts';

export function portalBrokerTests(get: () => PortalWorld): void {
  it('a customer adds an endpoint in RabbitMQ only if link and project allow it', async ({ skip }) => {
    const world = get();
    const project = await world.app.newProject({ portal_brokers: true });
    const rights = { name: 'link', owner_id: 'o', can_manage_endpoint: true, can_retry: true };
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
    const form = await brokerForm(dialog);
    if (typeof form === 'string') return skip(form);
    await add(page);
    await form.field('Delivery').selectOption('To a broker: a queue or topic');
    expect(await violations(page)).toEqual([]);
    await form.fill();
    await form.field('Port').fill('none');
    await dialog.getByRole('button', { name: 'Add and test' }).click();
    await form.refused('Port', 'Must be a port number from 1 to 65535.');
    await form.fill();
    await dialog.getByRole('button', { name: 'Add and test' }).click();
    await dialog.getByText('Confirmed by the broker').waitFor();
    await dialog.getByRole('link', { name: 'Open endpoint' }).click();
    await page.getByText(`RabbitMQ, AMQP · ${form.queue} · 127.0.0.1`).waitFor();
    await page.getByRole('button', { name: 'Edit…' }).click();
    await form.hidesPassword();
    await form.field('User name').fill('another');
    await dialog.getByRole('button', { name: 'Save endpoint' }).click();
    await dialog.waitFor({ state: 'detached' });
    const [endpoint] = (await project.get('/endpoints')).content;
    expect(endpoint.broker.amqp.auth).toEqual({ ...RABBITMQ_USER, user: 'another' });
    expect(wrongs).toEqual([]);
    await close();

    const blind = await world.visit(await linkTo({ can_use_brokers: true, can_see_secrets: false }));
    await blind.page.getByRole('link', { name: 'Orders' }).click();
    await blind.page.getByText('RabbitMQ, AMQP', { exact: true }).waitFor();
    await blind.page.getByRole('button', { name: 'Edit…' }).click();
    const closed = blind.page.getByRole('dialog');
    await closed.getByText('The settings of the broker are not shown.').waitFor();
    await closed.getByLabel('Name', { exact: true }).fill('Renamed');
    await closed.getByRole('button', { name: 'Save endpoint' }).click();
    await closed.waitFor({ state: 'detached' });
    expect(await project.get(`/endpoints/${endpoint.uid}`)).toMatchObject({
      name: 'Renamed',
      broker: endpoint.broker,
    });
    await blind.close();

    await project.put('', { config: { portal_brokers: false } });
    const refused = await world.visit(await linkTo({ can_use_brokers: true }));
    await add(refused.page);
    await refused.page.getByRole('dialog').getByLabel('URL').waitFor();
    expect(await refused.page.getByLabel('Delivery', { exact: true }).count()).toBe(0);
    await refused.close();
    await form.close();
  });
}
