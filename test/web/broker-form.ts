import type { Locator } from 'playwright-core';
import { expect, it } from 'vitest';
import { fieldsFor } from '../../src/domain/brokers/broker-fields.ts';
import { type DestinationKind, destinationKinds } from '../../src/domain/config/destination.ts';
import { BROKER_NAMES } from '../../web/src/parts/brokers/broker-address.ts';
import { AmqpSide, amqpSettings, queueName } from '../brokers/amqp-driver.ts';
import { brokerFacts } from '../support/brokers/broker.ts';
import type { RabbitMqFacts } from '../support/brokers/rabbitmq-server.ts';
import { violations } from './axe.ts';
import type { World } from './world.ts';

interface FormCase {
  /** Labels of the fields that an empty form asks for. */
  required: string[];
  /** The values and the grey defaults that fields show before anything is typed, by their names. */
  usual?: Record<string, string>;
  /** A text that is refused when its field is left. */
  refused: [name: string, text: string, problem: string];
  /** The others keep their defaults. */
  typed: Record<string, string>;
  stored: object;
}

const key = { access_key_id: 'AKIA', secret_key: ' hush ', default_region: 'eu-west-1' };

export const FORMS: Record<DestinationKind, FormCase> = {
  kafka: {
    required: ['Brokers', 'Topic'],
    usual: { 'auth.type': '' },
    refused: ['brokers', 'kafka:9092 nowhere', 'nowhere: Must be host:port.'],
    typed: {
      brokers: 'a:9092, b:9092',
      topic: 'orders',
      'auth.type': 'scram',
      'auth.username': 'ada',
      'auth.password': ' hush ',
      'auth.tls': 'on',
    },
    stored: {
      brokers: ['a:9092', 'b:9092'],
      topic: 'orders',
      auth: { type: 'scram', hash: 'SHA512', username: 'ada', password: ' hush ', tls: true },
    },
  },
  amqp: {
    required: ['Host', 'Routing key'],
    usual: { schema: 'amqp', port: '5672' },
    refused: ['port', '77777', 'Must be a port number from 1 to 65535.'],
    typed: {
      schema: 'amqps',
      port: '',
      host: 'rabbit.invalid',
      vhost: 'shop',
      'auth.user': 'ada',
      'auth.password': ' hush ',
      exchange: 'orders',
    },
    stored: {
      schema: 'amqps',
      host: 'rabbit.invalid',
      port: '5671',
      vhost: 'shop',
      auth: { user: 'ada', password: ' hush ' },
      exchange: 'orders',
      routing_key: '',
    },
  },
  sqs: {
    required: ['Queue', 'Access key ID', 'Secret key', 'Region'],
    usual: { credentials: '' },
    refused: ['default_region', 'a.b', 'Must be the name of a region, such as eu-west-1.'],
    typed: { queue_name: 'orders.fifo', ...key, endpoint: 'http://127.0.0.1:9324' },
    stored: { queue_name: 'orders.fifo', ...key, endpoint: 'http://127.0.0.1:9324' },
  },
  google: {
    required: ['Google project', 'Topic', 'Service account'],
    refused: ['endpoint', 'pubsub.example.org', 'Must be an http or https URL.'],
    typed: { project_id: 'shop', topic_id: 'orders', service_account: 'e30=', endpoint: '' },
    stored: { project_id: 'shop', topic_id: 'orders', service_account: 'e30=', endpoint: '' },
  },
  s3: {
    required: ['Bucket', 'Access key ID', 'Secret key', 'Region'],
    refused: ['bucket', 'x/y', 'Must be the name of a bucket: 3 to 63 letters, digits, dots and hyphens.'],
    typed: { bucket: 'orders', credentials: 'workload', default_region: 'eu-west-1' },
    stored: {
      bucket: 'orders',
      prefix: '',
      credentials: 'workload',
      access_key_id: '',
      secret_key: '',
      default_region: 'eu-west-1',
      endpoint: '',
    },
  },
};

/** An input of the page, as far as the tests know it. */
interface Labelled {
  labels: { textContent: string }[];
}

/** The form of a kind of broker in the dialog of an endpoint, in English. */
export class BrokerForm {
  readonly #dialog: Locator;
  readonly #kind: DestinationKind;

  constructor(dialog: Locator, kind: DestinationKind) {
    this.#dialog = dialog;
    this.#kind = kind;
  }

  label(text: string): Locator {
    return this.#dialog.getByLabel(text, { exact: true });
  }

  /** The field of this name in the description. */
  field(name: string): Locator {
    return this.label(fieldsFor(this.#kind, 'destination')[name]?.label ?? name);
  }

  choose(): Promise<unknown> {
    return this.label('Broker').selectOption(BROKER_NAMES[this.#kind]);
  }

  /** The labels of the fields that show a problem. */
  async wrong(): Promise<string[]> {
    await this.#dialog.getByRole('alert').first().waitFor();
    return this.#dialog
      .locator('[aria-invalid=true]')
      .evaluateAll((inputs: Labelled[]) => inputs.map(({ labels }) => labels[0]?.textContent ?? ''));
  }

  /** In the order of the description, in which a choice comes before the fields that depend on it. */
  async fill(): Promise<void> {
    const { typed } = FORMS[this.#kind];
    for (const [name, { kind }] of Object.entries(fieldsFor(this.#kind, 'destination'))) {
      const text = typed[name];
      if (text === undefined) continue;
      if (kind === 'flag') await this.field(name).check();
      else if (kind === 'choice') await this.field(name).selectOption(text);
      else await this.field(name).fill(text);
    }
  }

  /** A text that is refused is said at its field as soon as that is left, and no longer than until it is changed. */
  async refuses(): Promise<void> {
    const [name, text, problem] = FORMS[this.#kind].refused;
    await this.field(name).fill(text);
    await this.field(name).blur();
    await this.#dialog.getByText(problem, { exact: true }).waitFor();
    expect(await this.field(name).getAttribute('aria-invalid')).toBe('true');
    await this.field(name).fill('');
    await this.#dialog.getByText(problem, { exact: true }).waitFor({ state: 'detached' });
  }
}

export function brokerFormTests(get: () => World): void {
  it('the form of every kind of broker has its defaults, checks it before it is sent, and saves what was typed', async () => {
    const { page, app, open } = get();
    const project = await app.newProject();
    const dialog = page.getByRole('dialog');
    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') sent.push(new URL(request.url()).pathname.replace(/.*\//, ''));
    });
    await open('endpoints', project.projectId);
    for (const kind of destinationKinds) {
      const form = new BrokerForm(dialog, kind);
      const { required, usual = {}, stored } = FORMS[kind];
      await page.getByRole('button', { name: 'Add endpoint' }).first().click();
      await form.label('Delivery').selectOption('Broker: they go to a queue or topic');
      await form.choose();
      await form.label('Name').fill(kind);
      await form.label('Send a test event').uncheck();
      // The operator allows credentials of machines at Amazon alone.
      expect(await form.label('Credentials').count()).toBe(kind === 'sqs' || kind === 's3' ? 1 : 0);
      for (const [name, text] of Object.entries(usual)) {
        const shown = await form.field(name).inputValue();
        expect(shown || (await form.field(name).getAttribute('placeholder')) || '').toBe(text);
      }
      expect(await violations(page)).toEqual([]);
      await dialog.getByRole('button', { name: 'Add and test' }).click();
      expect(await form.wrong()).toEqual(required);
      expect(await dialog.getByText(/^Is required/).count()).toBe(required.length);
      const focused = await dialog.locator(':focus').getAttribute('id');
      expect(focused).toBe(await form.label(required[0] ?? '').getAttribute('id'));
      await form.refuses();
      await form.fill();
      await dialog.getByRole('button', { name: 'Add and test' }).click();
      await page.getByRole('heading', { name: `Added ${kind}` }).waitFor();
      await dialog.getByRole('button', { name: 'Close' }).last().click();
      await dialog.waitFor({ state: 'detached' });
      const [endpoint] = (await project.get('/endpoints?sort=DESC')).content;
      expect(endpoint).toMatchObject({ name: kind, delivery: 'broker', url: '', broker: { type: kind } });
      expect(endpoint.broker[kind]).toEqual(stored);
    }
    expect(sent).toEqual(destinationKinds.map(() => 'endpoints'));

    const [endpoint] = (await project.get('/endpoints?sort=DESC&q=amqp')).content;
    await open(`endpoints/${endpoint.uid}`, project.projectId);
    await page.getByText('RabbitMQ, AMQP · orders · rabbit.invalid:5671').waitFor();
    await page.getByRole('button', { name: 'Send a test event' }).click();
    await page.getByText('Failed at: Host name').waitFor();
    await page.getByText('Check the spelling of the host.').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Edit…' }).click();
    const form = new BrokerForm(dialog, 'amqp');
    await dialog.getByText('Stored and not shown. Leave it empty to keep it.').waitFor();
    expect(await form.field('auth.password').inputValue()).toBe('');
    expect(await page.content()).not.toContain('hush');
    await form.field('auth.user').fill('eve');
    await dialog.getByRole('button', { name: 'Save endpoint' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { auth } = (await project.get(`/endpoints/${endpoint.uid}`)).broker.amqp;
    expect(auth).toEqual({ user: 'eve', password: ' hush ' });
  });

  it('a message to RabbitMQ is tried from the page of its endpoint, and its attempt shows what the broker said', async ({
    skip,
  }) => {
    const { page, app, open, go } = get();
    const facts = await brokerFacts<RabbitMqFacts>('amqp');
    if (typeof facts === 'string') return skip(facts);
    const [project, side, queue] = [await app.newProject(), new AmqpSide(facts), queueName()];
    await (await side.channel()).assertQueue(queue, { durable: true });
    const { amqp } = amqpSettings(facts.ports.plain, { routing_key: queue });
    const { uid } = await project.post('/endpoints', {
      name: 'Orders',
      delivery: 'broker',
      broker: { type: 'amqp', amqp },
    });
    await open(`endpoints/${uid}`, project.projectId);
    await page.getByText(`RabbitMQ, AMQP · ${queue} · 127.0.0.1:${facts.ports.plain}`).waitFor();
    await page.getByRole('button', { name: 'Send a test event' }).click();
    await page.getByText('Confirmed by the broker').waitFor();
    expect(await side.depth(queue)).toBe(1);

    await project.post('/events', { endpoint_id: uid, event_type: 'order.paid', data: { n: 1 } });
    await go('deliveries', project.projectId);
    await page.getByRole('link', { name: 'order.paid' }).first().click();
    await page.getByText('Confirmed by the broker').waitFor();
    await page.getByText('message-id').waitFor();
    expect(await page.getByRole('button', { name: /curl/i }).count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await side.close();
  });
}
