import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

/**
 * Request fields of the interface: each is taken, and the answer and a later read show its value. The fields that an
 * update can name are in test/api/config/update-cases.ts; here are those of events, and further kinds of values.
 */
// Without brokers: the status of their sources would change between two reads.
const app = await shared(
  startTestApp({ POSTHORN_DEFAULTS: 'standard', POSTHORN_ROLES: 'api,ingest,deliver,janitor' }),
);
const receiver = await shared(Receiver.start());
const ids = { endpoint: '', other: '', source: '', link: '' };

beforeAll(async () => {
  const create = (name: string) => app.project.post('/endpoints', { name, url: receiver.url });
  ids.endpoint = (await create('one')).uid;
  ids.other = (await create('two')).uid;
  ids.source = (await app.project.post('/sources', { name: 'source', type: 'http' })).uid;
  const link = { name: 'link', owner_id: 'owner', endpoints: [ids.endpoint] };
  ids.link = (await app.project.post('/portal-links', link)).uid;
});

/** A field, a value for it, and where the answer shows it; by default under the same name, as it was given. */
interface Given {
  field: string;
  value: () => unknown;
  shown?: (data: Json) => unknown;
  as?: () => unknown;
}

interface Request {
  operation: string;
  /** The required fields, and those that the tested field depends on. */
  base: () => Record<string, unknown>;
  fields: Given[];
}

const given = (field: string, value: unknown, rest: Partial<Given> = {}): Given => ({
  field,
  value: () => value,
  ...rest,
});

const verifiers = [
  { type: 'noop' },
  { type: 'hmac', hmac: { encoding: 'base64', hash: 'SHA256', header: 'x-signature', secret: 'secret' } },
  { type: 'hmac', hmac: { encoding: 'hex', hash: 'SHA512', header: 'x-signature', secret: 'secret' } },
  { type: 'basic_auth', basic_auth: { username: 'user', password: 'pass:word' } },
  { type: 'api_key', api_key: { header_name: 'x-key', header_value: 'value' } },
];

const brokers = {
  sqs: {
    access_key_id: 'id',
    default_region: 'eu',
    queue_name: 'queue',
    secret_key: 'secret',
    endpoint: 'http://127.0.0.1:1',
  },
  google: {
    project_id: 'project',
    service_account: [123, 125],
    subscription_id: 'subscription',
    endpoint: 'http://127.0.0.1:1',
  },
  kafka: {
    brokers: ['127.0.0.1:1'],
    consumer_group_id: 'group',
    topic_name: 'topic',
    auth: { type: 'scram', hash: 'SHA512', username: 'user', password: 'secret', tls: true },
  },
  amqp: {
    host: '127.0.0.1',
    port: '5672',
    queue: 'queue',
    schema: 'amqp',
    vhost: '/',
    deadLetterExchange: 'dead',
    auth: { user: 'user', password: 'secret' },
    bindExchange: { exchange: 'exchange', routingKey: 'key' },
  },
};

const { bindExchange: _, ...amqpAnswer } = brokers.amqp;
const brokerAnswers = {
  ...brokers,
  google: { ...brokers.google, service_account: Buffer.from([123, 125]).toString('base64') },
  amqp: { ...amqpAnswer, bindedExchange: 'exchange', routingKey: 'key' },
};

const sourceFields: Given[] = [
  ...['http', 'rest_api', 'db_change_stream'].map((type) => given('type', type)),
  ...verifiers.map((verifier) =>
    given('verifier', verifier, {
      as: () => ({ hmac: null, basic_auth: null, api_key: null, ...verifier }),
    }),
  ),
];

const brokerFields: Given[] = Object.entries(brokers).map(([type, settings]) =>
  given(
    'pub_sub',
    { type, workers: 2, [type]: settings },
    {
      as: () => ({
        type,
        workers: 2,
        sqs: null,
        google: null,
        kafka: null,
        amqp: null,
        [type]: brokerAnswers[type as 'sqs'],
      }),
    },
  ),
);

const requests: Request[] = [
  ...['POST /portal-links', 'PUT /portal-links/{link}'].map((operation) => ({
    operation,
    base: () => ({ name: 'link', owner_id: 'owner' }),
    fields: [{ field: 'endpoints', value: () => [ids.endpoint] }],
  })),
  {
    operation: 'POST /subscriptions',
    base: () => ({ name: 'subscription' }),
    fields: [{ field: 'app_id', value: () => ids.other, shown: (data) => data.endpoint_metadata.uid }],
  },
  {
    operation: 'POST /sources',
    base: () => ({ name: 'source', type: 'http' }),
    fields: [
      ...sourceFields,
      ...['github', 'twitter', 'shopify'].map((provider) => given('provider', provider)),
    ],
  },
  {
    operation: 'PUT /sources/{source}',
    base: () => ({ name: 'source', type: 'http' }),
    fields: sourceFields,
  },
  {
    operation: 'POST /sources',
    base: () => ({ name: 'source', type: 'pub_sub' }),
    fields: brokerFields,
  },
  {
    operation: 'PUT /sources/{source}',
    base: () => ({ name: 'source', type: 'pub_sub' }),
    fields: brokerFields,
  },
  {
    operation: 'POST /events/broadcast',
    base: () => ({ event_type: 'invoice.paid', data: { amount: 1 } }),
    fields: [
      given('event_type', 'invoice.sent'),
      given('data', { nested: { list: [1, 'two', null] } }),
      given(
        'custom_headers',
        { 'X-Kind': 'value' },
        { shown: (data) => data.headers, as: () => ({ 'X-Kind': ['value'] }) },
      ),
      given('idempotency_key', 'only once'),
      given('acknowledged_at', '2026-01-02T03:04:05.000Z'),
    ],
  },
];

const cases = requests.flatMap(({ operation, base, fields }) =>
  fields.map((field) => ({ operation, base, ...field, name: field.field })),
);

describe('a request field', () => {
  // differs Events and deliveries: A caller's `acknowledged_at` is kept; Convoy overwrites it.
  test.each(cases)('$name of $operation is in the response and in a read', async (row) => {
    const [method = '', path = ''] = row.operation.split(' ');
    const where = path.replace(/\{(\w+)\}/, (_match, name: string) => ids[name as 'link']);
    const body = { ...row.base(), [row.field]: row.value() };
    if (row.field === 'provider') body['verifier'] = { type: 'hmac', hmac: { secret: 'secret' } };
    const shown = row.shown ?? ((data: Json) => data[row.field]);
    const expected = (row.as ?? row.value)();
    const answer = await app.project.call(method, where, { body, expected: method === 'PUT' ? 202 : 201 });
    expect(shown(answer)).toEqual(expected);
    const list = method === 'PUT' ? where : `${where.replace('/broadcast', '')}/${answer.uid}`;
    expect(shown(await app.project.get(list))).toEqual(expected);
  });

  test('of a rolled secret: the new one and the end of the old', async () => {
    const before = Date.now();
    const { secrets } = await app.project.put(
      `/endpoints/${ids.endpoint}/expire_secret`,
      { expiration: 3600, secret: 'the new one' },
      200,
    );
    expect(secrets.at(-1)).toMatchObject({ value: 'the new one', expires_at: null });
    const end = Date.parse(secrets.at(-2).expires_at);
    expect(end).toBeGreaterThanOrEqual(before + 3_590_000);
    expect(end).toBeLessThanOrEqual(Date.now() + 3_610_000);
  });

  test('of a pause: active and paused in turn', async () => {
    const pause = () => app.project.put(`/endpoints/${ids.other}/pause`);
    expect([(await pause()).status, (await pause()).status]).toEqual(['paused', 'active']);
  });
});

describe('the query parameters of a list', () => {
  const lists = [
    ['/portal-links', { ownerId: 'owner', name: 'link', q: 'link' }],
    ['/subscriptions', { name: 'subscription' }],
    ['/sources', { type: 'http', provider: 'github' }],
    ['/meta-events', { startDate: '2026-01-01T00:00:00', endDate: '2999-01-01T00:00:00' }],
  ] as const;

  test.each(lists)('%s are accepted together, and each when empty', async (path, filters) => {
    const page = { direction: 'next', next_page_cursor: '', prev_page_cursor: '', perPage: '5', sort: 'ASC' };
    const ask = (query: Record<string, string>) =>
      app.project.get(`${path}?${new URLSearchParams(query).toString()}`);
    const asked = await ask({ ...page, ...filters });
    expect(asked.pagination.per_page).toBe(5);
    const empty = Object.fromEntries(Object.keys({ ...page, ...filters }).map((name) => [name, '']));
    expect(await ask(empty)).toEqual(await ask({}));
  });

  test('narrow it', async () => {
    const names = async (path: string) => (await app.project.get(path)).content.map((row: Json) => row.name);
    const make = (owner: string) =>
      app.project.post('/portal-links', { name: `of ${owner}`, owner_id: owner });
    await make('first-owner');
    await make('second-owner');
    expect(await names('/portal-links?ownerId=second-owner')).toEqual(['of second-owner']);
    expect(await names('/portal-links?name=of%20first-owner')).toEqual(['of first-owner']);
    await app.project.post('/sources', {
      name: 'from github',
      type: 'http',
      provider: 'github',
      verifier: { type: 'hmac', hmac: { secret: 's' } },
    });
    expect(
      new Set((await app.project.get('/sources?provider=github')).content.map((row: Json) => row.provider)),
    ).toEqual(new Set(['github']));
    const types = (await app.project.get('/sources?type=pub_sub')).content.map((row: Json) => row.type);
    expect(new Set(types)).toEqual(new Set(['pub_sub']));
    const of = await app.project.get(`/subscriptions?endpointId=${ids.other}&endpointId=none`);
    expect(of.content.length).toBeGreaterThan(0);
    expect(of.content.every((row: Json) => row.endpoint_metadata.uid === ids.other)).toBe(true);
  });
});
