import { describe, expect, test } from 'vitest';
import { startTestApp } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { shared } from '../../support/shared.ts';

/** The settings of endpoints that send to brokers. No broker is needed to save them. */
const app = await shared(startTestApp());

const kafka = { brokers: ['127.0.0.1:9'], topic: 'orders', auth: null };
const amqp = {
  schema: 'amqps',
  host: 'rabbit.example.org',
  port: '5671',
  vhost: 'v',
  auth: { user: 'u', password: 'find me' },
  exchange: 'x',
  routing_key: '',
};
const sqs = {
  queue_name: 'q',
  access_key_id: 'id',
  secret_key: 'find me',
  default_region: 'eu-west-1',
  endpoint: '',
};
const google = { project_id: 'p', topic_id: 't', service_account: 'e30=', endpoint: '' };
const s3 = {
  bucket: 'a-bucket',
  prefix: 'events/',
  access_key_id: 'id',
  secret_key: 'find me',
  default_region: 'eu-west-1',
  endpoint: '',
};
const NONE = { kafka: null, amqp: null, sqs: null, google: null, s3: null };

const make = (fields: object, expected = 201): Promise<Json> =>
  app.project.post('/endpoints', { name: 'broker', delivery: 'broker', ...fields }, expected);
const made = (type: string, settings: object) => make({ broker: { type, [type]: settings } });
const problemsOf = (answer: Json): string[] =>
  answer.fields.map(({ field, problem }: Json) => `${field} ${problem}`);

describe('an endpoint that sends to a broker', () => {
  test.each([
    ['kafka', kafka],
    ['amqp', amqp],
    ['sqs', sqs],
    ['google', google],
    ['s3', s3],
  ])('has the settings of %s as they were given, and no others', async (type, settings) => {
    const endpoint = await made(type, settings);
    expect(endpoint).toMatchObject({
      delivery: 'broker',
      url: '',
      broker: { ...NONE, type, [type]: settings },
    });
    expect(await app.project.get(`/endpoints/${endpoint.uid}`)).toEqual(endpoint);
  });

  test('may leave out what has a default, and call the topic as sources do', async () => {
    const { broker: one } = await made('amqp', { host: '::1', routing_key: 'q' });
    const usual = { schema: 'amqp', port: '5672', vhost: null, auth: null, exchange: '' };
    expect(one.amqp).toEqual({ ...usual, host: '::1', routing_key: 'q' });
    const { broker: other } = await made('kafka', {
      brokers: ['h:1'],
      topic_name: 't',
      auth: { type: 'scram', username: 'u', password: 'p' },
    });
    expect(other.kafka).toMatchObject({ topic: 't', auth: { hash: 'SHA512', tls: false } });
  });

  test('is refused with every problem of its settings, and nothing is stored', async () => {
    const count = async () => (await app.project.get('/endpoints?perPage=100')).content.length;
    const before = await count();
    const refused = async (fields: object) => problemsOf(await make(fields, 400));
    expect(await refused({})).toEqual(['broker is required when delivery is broker']);
    expect(await refused({ broker: { type: 'kafka' } })).toEqual([
      'broker.kafka is required when broker.type is kafka',
    ]);
    expect(await refused({ broker: { kafka } })).toEqual(['broker.type is required']);
    expect(
      await refused({ broker: { type: 'kafka', kafka: { brokers: ['no port'], auth: { type: 'plain' } } } }),
    ).toEqual([
      'broker.kafka.brokers.0 must be host:port',
      'broker.kafka.topic is required',
      'broker.kafka.auth.username is required',
      'broker.kafka.auth.password is required',
    ]);
    expect(
      await refused({ broker: { type: 'amqp', amqp: { port: '70000', exchange: 'x'.repeat(256) } } }),
    ).toEqual([
      'broker.amqp.host is required',
      'broker.amqp.port must be a port number from 1 to 65535',
      'broker.amqp.exchange must have at most 255 bytes',
    ]);
    expect(await refused({ broker: { type: 'amqp', amqp: { host: 'h' } } })).toEqual([
      'broker.amqp.routing_key is required unless exchange is given',
    ]);
    for (const host of ['h:5672', 'amqp://h', 'h/v', 'a b', '[::1]', 'u@h'])
      expect(await refused({ broker: { type: 'amqp', amqp: { ...amqp, host } } }), host).toEqual([
        'broker.amqp.host must be a name or an address, without a protocol, a port and brackets',
      ]);
    expect(
      await refused({
        broker: { type: 's3', s3: { bucket: 'x/y', prefix: 'a/../b', default_region: 'a.b' } },
      }),
    ).toEqual([
      'broker.s3.bucket must be the name of a bucket: 3 to 63 letters, digits, dots and hyphens',
      'broker.s3.prefix must not begin with a slash, or have control characters or parts . and ..',
      'broker.s3.access_key_id is required',
      'broker.s3.secret_key is required',
      'broker.s3.default_region must be the name of a region, such as eu-west-1',
    ]);
    // The server that it would name gets the credentials.
    const sqs = { queue_name: 'q', credentials: 'workload', default_region: 'other.example/#' };
    expect(await refused({ broker: { type: 'sqs', sqs } })).toContain(
      'broker.sqs.default_region must be the name of a region, such as eu-west-1',
    );
    expect(await refused({ broker: { type: 's3', s3: { ...s3, prefix: '/a' } } })).toHaveLength(1);
    expect(await refused({ broker: { type: 's3', s3: { ...s3, prefix: 'ü'.repeat(451) } } })).toEqual([
      'broker.s3.prefix must have at most 900 bytes',
    ]);
    expect(await refused({ broker: { type: 'amqp', amqp: { ...amqp, port: '567100' } } })).toEqual([
      'broker.amqp.port must not have more than 5 characters',
    ]);
    const own = { ...s3, endpoint: 's3.example.org' };
    expect(await refused({ broker: { type: 's3', s3: own } })).toEqual([
      'broker.s3.endpoint must be an http or https URL',
    ]);
    for (const url of [
      'https://u:p@s3.example',
      'https://:p@s3.example',
      'https://s3.example/?key=p',
      'https://s3.example/#p',
    ])
      for (const [type, settings] of Object.entries({ s3, google }))
        expect(await refused({ broker: { type, [type]: { ...settings, endpoint: url } } }), url).toEqual([
          `broker.${type}.endpoint must have no user name, password, query or fragment: it is shown`,
        ]);
    expect(
      await refused({ broker: { type: 'kafka', kafka: { ...kafka, brokers: ['h:1', 'u:p@h:9092'] } } }),
    ).toEqual(['broker.kafka.brokers.1 must have no user name, password, query or fragment: it is shown']);
    const auth = { type: '', username: 'ada', hash: 'SHA256' };
    expect(await refused({ broker: { type: 'kafka', kafka: { ...kafka, auth } } })).toEqual([
      'broker.kafka.auth.username must be empty unless auth.type is plain or scram',
    ]);
    expect(await refused({ broker: { type: 'kafka', kafka }, url: 'https://example.org' })).toEqual([
      'url must be empty when delivery is broker',
    ]);
    expect(await refused({ delivery: 'pull', broker: { type: 'kafka', kafka } })).toEqual([
      'broker is allowed only when delivery is broker',
    ]);
    expect(await refused({ delivery: 'push' })).toEqual(['url is required']);
    expect(await refused({ delivery: undefined, broker: { type: 'kafka', kafka } })).toEqual([
      'broker is allowed only when delivery is broker',
    ]);
    expect(await count()).toBe(before);
  });

  // proves Endpoints: delivery
  test('changes from and to other kinds of delivery', async () => {
    const endpoint = await app.project.post('/endpoints', { name: 'a', url: 'http://127.0.0.1:9/' });
    const path = `/endpoints/${endpoint.uid}`;
    const broker = { type: 'kafka', kafka };
    expect(await app.project.put(path, { delivery: 'broker', broker })).toMatchObject({ url: '', broker });
    expect(await app.project.put(path, { name: 'b' })).toMatchObject({ name: 'b', broker });
    expect(await app.project.put(path, { delivery: 'pull' })).toMatchObject({
      delivery: 'pull',
      broker: null,
    });
  });

  test('is stored without a readable credential, and shows none to the audit log', async () => {
    await made('amqp', amqp);
    const rows = await app.database.query('select e::text as text from endpoints e');
    expect(JSON.stringify(rows)).not.toContain('find me');
    const { content } = await app.project.get('/audit?perPage=100');
    const noted = JSON.stringify(content);
    expect(noted).toContain('rabbit.example.org');
    expect(noted).not.toContain('find me');
  });

  test('is tried, saved or not, with the step that failed as a word', async () => {
    const nowhere = { ...amqp, schema: 'amqp', host: 'posthorn.invalid', port: '9' };
    for (const [host, outcome] of [
      ['posthorn.invalid', 'dns_not_found'],
      ['127.0.0.1', 'connection_refused'],
    ]) {
      const broker = { type: 'amqp', amqp: { ...nowhere, host } };
      const expected = { status: false, outcome, http_status: '', method: 'PUBLISH' };
      const tried = { endpoint: { delivery: 'broker', broker } };
      const attempt = await app.project.post('/endpoints/test', tried, 200);
      expect(attempt).toMatchObject(expected);
      expect(attempt.request_http_header).toMatchObject({ 'event-type': 'posthorn.test' });
      for (const ofHttp of ['User-Agent', 'Accept-Encoding'])
        expect(attempt.request_http_header).not.toHaveProperty(ofHttp);
      const { uid } = await make({ broker });
      expect(await app.project.post(`/endpoints/${uid}/test`, undefined, 200)).toMatchObject(expected);
    }
  });

  test('must use TLS where the project wants it', async () => {
    const strict = await app.newProject({ ssl: { enforce_secure_endpoints: true } });
    const create = (broker: object, expected: number) =>
      strict.post('/endpoints', { name: 'a', delivery: 'broker', broker }, expected);
    expect(problemsOf(await create({ type: 'kafka', kafka }, 400))).toEqual([
      'broker must use TLS in this project',
    ]);
    await create({ type: 'amqp', amqp }, 201);
  });
});

describe('a portal link', () => {
  const linkOf = async (project: ApiClient, fields: object): Promise<ApiClient> => {
    const rights = { can_manage_endpoint: true, ...fields };
    const link = await project.post('/portal-links', { name: 'l', owner_id: 'o', ...rights });
    return new ApiClient(`${app.url}/portal-api`, link.token ?? link.auth_key);
  };
  const broker = { type: 'amqp', amqp };
  const wanted = { name: 'theirs', delivery: 'broker', broker };

  // proves Portal links: can_use_brokers
  // proves Projects: portal_brokers
  test('sends to brokers only if it and its project allow it', async () => {
    for (const [portal_brokers, can_use_brokers, status] of [
      [false, false, 403],
      [false, true, 403],
      [true, false, 403],
      [true, true, 201],
    ] as const) {
      const project = await app.newProject({ portal_brokers });
      const link = await linkOf(project, { can_use_brokers });
      await link.post('/endpoints', wanted, status);
      expect((await link.get('/portal_link')).can_use_brokers).toBe(status === 201);
      const tried = { endpoint: { delivery: 'broker', broker: { type: 'kafka', kafka } } };
      if (status === 403) await link.post('/endpoints/test', tried, 403);
      expect((await project.get('/endpoints')).content).toHaveLength(status === 201 ? 1 : 0);
    }
  });

  test('that sees no secrets sees the kind of the broker alone', async () => {
    const project = await app.newProject({ portal_brokers: true });
    await project.post('/endpoints', { ...wanted, owner_id: 'o' });
    const shown = async (fields: object) => {
      const link = await linkOf(project, fields);
      return (await link.get('/endpoints')).content[0].broker;
    };
    expect(await shown({ can_see_secrets: false })).toEqual({ ...NONE, type: 'amqp' });
    expect(await shown({ can_see_secrets: true })).toMatchObject(broker);
  });

  test('that sees no secrets cannot have stored credentials sent to a broker of its own', async () => {
    const project = await app.newProject({ portal_brokers: true });
    const link = await linkOf(project, { can_see_secrets: false, can_use_brokers: true });
    const authentication = { type: 'basic_auth', basic_auth: { username: 'u', password: 'p' } };
    const kept = [{ headers: { 'X-Own': 'hush' } }, { authentication }];
    const ways = [wanted, { ...wanted, url: '' }, { ...wanted, headers: { 'x-own': '***' } }];
    for (const fields of kept)
      for (const address of [{ url: `${app.url}/made-up` }, { delivery: 'broker', broker }]) {
        const { uid } = await project.post('/endpoints', { name: 'a', owner_id: 'o', ...address, ...fields });
        const stored = await project.get(`/endpoints/${uid}`);
        for (const way of ways) {
          const { message } = await link.call('PUT', `/endpoints/${uid}`, { body: way, expected: 403 });
          expect(message).toContain('a new address with the stored');
          await link.post('/endpoints/test', { endpoint_id: uid, endpoint: way }, 403);
        }
        expect(await project.get(`/endpoints/${uid}`)).toEqual(stored);
        const own = { ...wanted, headers: { 'X-Own': 'mine' }, authentication };
        expect(await link.put(`/endpoints/${uid}`, own)).toMatchObject({ delivery: 'broker' });
        expect((await link.put(`/endpoints/${uid}`, { name: 'renamed' })).name).toBe('renamed');
      }
  });
});
