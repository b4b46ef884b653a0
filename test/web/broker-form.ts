import type { Locator } from 'playwright-core';
import { expect, it } from 'vitest';
import { AmqpSide, queueName } from '../brokers/amqp-driver.ts';
import { brokerFacts } from '../support/brokers/broker.ts';
import { RABBITMQ_USER, RABBITMQ_VHOST, type RabbitMqFacts } from '../support/brokers/rabbitmq-server.ts';
import { violations } from './axe.ts';
import type { World } from './world.ts';

/** A queue of a real RabbitMQ, and the acts in the form of an endpoint that sends to it. */
export async function brokerForm(dialog: Locator) {
  const facts = await brokerFacts<RabbitMqFacts>('amqp');
  if (typeof facts === 'string') return facts;
  const side = new AmqpSide(facts);
  const queue = queueName();
  await (await side.channel()).assertQueue(queue, { durable: true });
  const field = (label: string) => dialog.getByLabel(label, { exact: true });
  const password = 'input[type=password]';
  return {
    queue,
    field,
    depth: () => side.depth(queue),
    close: () => side.close(),
    fill: async () => {
      await field('Broker').selectOption('RabbitMQ, AMQP');
      await field('Host').fill('127.0.0.1');
      await field('Port').fill(String(facts.ports.plain));
      await field('Virtual host').fill(RABBITMQ_VHOST);
      await field('User name').fill(RABBITMQ_USER.user);
      await field('Password').fill(RABBITMQ_USER.password);
      await field('Routing key').fill(queue);
      await field('Name').fill('Orders');
    },
    /** The problem is at its field, which has the focus. */
    refused: async (label: string, problem: string) => {
      await dialog.getByText(problem).waitFor();
      expect(await field(label).getAttribute('aria-invalid')).toBe('true');
      const focused = await dialog.locator(':focus').getAttribute('id');
      expect(focused).toBe(await field(label).getAttribute('id'));
    },
    /** A stored password is not in the page. */
    hidesPassword: async () => {
      await dialog.getByText('Stored and not shown. Leave it empty to keep it.').waitFor();
      expect(await dialog.locator(password).inputValue()).toBe('');
      expect(await dialog.page().content()).not.toContain(RABBITMQ_USER.password);
    },
  };
}

export function brokerFormTests(get: () => World): void {
  it('an endpoint in RabbitMQ is added, tried and changed, and its password is not shown again', async ({
    skip,
  }) => {
    const { page, app, open, go } = get();
    const dialog = page.getByRole('dialog');
    const form = await brokerForm(dialog);
    if (typeof form === 'string') return skip(form);
    const project = await app.newProject();
    await open('endpoints', project.projectId);
    await page.getByRole('button', { name: 'Add endpoint' }).first().click();
    await form.field('Delivery').selectOption('Broker: they go to a queue or topic');
    expect(await violations(page)).toEqual([]);
    await form.field('Name').fill('Orders');
    await form.field('Topic').fill('orders');
    await form.field('Brokers').fill('kafka:9092 nowhere');
    await dialog.getByRole('button', { name: 'Add and test' }).click();
    await form.refused('Brokers', '1: must be host:port.');
    await form.fill();
    await form.field('Port').fill('77777');
    await dialog.getByRole('button', { name: 'Add and test' }).click();
    await form.refused('Port', 'Must be a port number from 1 to 65535.');
    expect((await project.get('/endpoints')).content).toEqual([]);
    await form.fill();
    await dialog.getByRole('button', { name: 'Add and test' }).click();
    await dialog.getByText('Confirmed by the broker').waitFor();
    await dialog.getByRole('link', { name: 'Open endpoint' }).click();
    await page.getByText(`RabbitMQ, AMQP · ${form.queue} · 127.0.0.1`).waitFor();
    expect(await form.depth()).toBe(1);

    const [endpoint] = (await project.get('/endpoints')).content;
    expect(endpoint).toMatchObject({
      delivery: 'broker',
      url: '',
      broker: { amqp: { auth: RABBITMQ_USER } },
    });
    await page.getByRole('button', { name: 'Edit…' }).click();
    await form.hidesPassword();
    await form.field('Name').fill('Orders of the shop');
    await dialog.getByRole('button', { name: 'Save endpoint' }).click();
    await dialog.waitFor({ state: 'detached' });
    const changed = await project.get(`/endpoints/${endpoint.uid}`);
    expect(changed).toMatchObject({ name: 'Orders of the shop', broker: endpoint.broker });

    await project.post('/events', { endpoint_id: endpoint.uid, event_type: 'order.paid', data: { n: 1 } });
    await go('deliveries', project.projectId);
    await page.getByRole('link', { name: 'order.paid' }).first().click();
    await page.getByText('Confirmed by the broker').waitFor();
    await page.getByText('message-id').waitFor();
    expect(await page.getByRole('button', { name: /curl/i }).count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await form.close();
  });
}
