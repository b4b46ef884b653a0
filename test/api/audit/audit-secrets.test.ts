import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startTestApp } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { completedJob } from '../../support/settled.ts';
import { shared } from '../../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());

describe('no secret is in any entry:', () => {
  const given = (name: string) => `given ${name} ${'x'.repeat(8)}`;
  const secrets: string[] = [];
  const secret = (name: string) => {
    const value = given(name);
    secrets.push(value);
    return value;
  };

  const authentications = () => [
    { type: 'api_key', api_key: { header_name: 'X-Key', header_value: secret('header value') } },
    { type: 'basic_auth', basic_auth: { username: secret('username'), password: secret('password') } },
    {
      type: 'oauth2',
      oauth2: {
        url: 'http://127.0.0.1:9/token',
        client_id: secret('client id'),
        authentication_type: 'shared_secret',
        client_secret: secret('client secret'),
      },
    },
  ];

  const brokers = () => ({
    sqs: {
      queue_name: 'q',
      access_key_id: secret('access key id'),
      secret_key: secret('secret key'),
      default_region: 'r',
      endpoint: 'http://127.0.0.1:1',
    },
    google: {
      project_id: 'p',
      subscription_id: 's',
      service_account: Buffer.from(secret('service account')).toString('base64'),
    },
    kafka: {
      brokers: ['127.0.0.1:9092'],
      topic_name: 't',
      auth: {
        type: 'plain',
        hash: '',
        username: secret('kafka user'),
        password: secret('kafka password'),
        tls: false,
      },
    },
    amqp: {
      schema: 'amqp',
      host: 'h',
      port: '5672',
      queue: 'q',
      auth: { user: secret('amqp user'), password: secret('amqp password') },
      routingKey: 'k',
    },
  });

  const verifiers = () => [
    { type: 'hmac', hmac: { header: 'X-Sig', hash: 'SHA256', secret: secret('hmac'), encoding: 'hex' } },
    { type: 'basic_auth', basic_auth: { username: secret('user'), password: secret('pass') } },
    { type: 'api_key', api_key: { header_name: 'X-Key', header_value: secret('verifier key') } },
  ];

  test('given ones or generated ones, and a change of a secret is still visible', async () => {
    const client = await app.newProject();
    const { uid: id } = await client.get('');
    const list = async (query: string): Promise<Json[]> =>
      (await client.get(`/audit?perPage=1000${query}`)).content;
    secrets.push(client.key);
    const pem = (name: string) =>
      readFile(join(import.meta.dirname, '../../support/certificates', name), 'utf8');
    const url = receiver.url;
    const logo_url = 'https://someone:given-logo-password@example.com/logo';
    await client.put('', {
      name: `secrets ${id}`,
      logo_url,
      config: { meta_event: { is_enabled: true, event_type: ['*'], url, secret: secret('meta') } },
    });
    const endpoint = await client.post('/endpoints', {
      name: 'e',
      url,
      secret: secret('signing'),
      slack_webhook_url: 'https://example.com/given-slack',
      teams_webhook_url: 'https://example.com/given-teams',
      mtls_client_cert: { client_cert: await pem('client.pem'), client_key: await pem('client.key') },
      signing_key: { type: 'ed25519' },
    });
    for (const authentication of authentications())
      await client.put(`/endpoints/${endpoint.uid}`, { name: 'e', url, authentication });
    await client.put(`/endpoints/${endpoint.uid}/expire_secret`, { secret: secret('rolled') }, 200);
    const made = await client.post('/endpoints', { name: 'made', url });
    secrets.push(...made.secrets.map(({ value }: Json) => value));
    for (const verifier of verifiers()) await client.post('/sources', { name: 's', type: 'http', verifier });
    for (const [type, settings] of Object.entries(brokers()))
      await client.post('/sources', {
        name: 's',
        type: 'pub_sub',
        pub_sub: { type, workers: 1, [type]: settings },
      });
    await client.post('/sources', {
      name: 's',
      type: 'db_change_stream',
      is_disabled: true,
      db_change_stream: {
        connection_url: `postgres://u:${secret('database')}@127.0.0.1:1/d`,
        tables: ['a.b'],
      },
    });
    await client.post('/events/dynamic', {
      url: `${url}/d`,
      secret: secret('dynamic'),
      event_type: 'x',
      data: {},
    });
    const items = [{ name: 'o', url, auth_username: secret('o user'), auth_password: secret('o password') }];
    const job = await client.post('/onboard', { items }, 202);
    await completedJob(client, job);
    secrets.push((await client.post('/keys', { name: 'k' })).key);
    const link = await client.post('/portal-links', { name: 'l', owner_id: 'o' });
    secrets.push(link.token);
    const refreshing = await client.post('/portal-links', {
      name: 'l',
      owner_id: 'o',
      auth_type: 'refresh_token',
    });
    secrets.push(refreshing.auth_key, await client.get(`/portal-links/${refreshing.uid}/refresh_token`));
    secrets.push('given-logo-password', 'given-slack', 'given-teams', 'PRIVATE KEY', 'BEGIN CERTIFICATE');

    const rows = await app.database.query('select to_jsonb(e)::text as text from audit_entries e');
    const text = rows.map((row) => String(row['text'])).join('\n');
    expect(secrets.length).toBeGreaterThan(25);
    expect(secrets.every((value) => typeof value === 'string' && value.length > 8)).toBe(true);
    const encoded = [...secrets, ...secrets.map((value) => Buffer.from(value).toString('base64'))];
    expect(encoded.filter((value) => text.includes(value))).toEqual([]);

    const changes = await list(`&resourceId=${endpoint.uid}&sort=ASC`);
    expect(changes.map(({ action }) => action)).toEqual([
      'endpoint.created',
      ...Array.from({ length: 3 }, () => 'endpoint.updated'),
      'endpoint.secret_rolled',
    ]);
    expect(changes[2].after.secret.authentication).toEqual({
      type: 'basic_auth',
      basic_auth: { username: '[secret]', password: '[secret]' },
    });
    expect(changes[4].after.secret.secrets.map(({ value }: Json) => value)).toEqual(['[secret]', '[secret]']);
    const password = { username: 'u', password: 'another' };
    for (const basic_auth of [password, { ...password, password: 'yet another' }])
      await client.put(`/endpoints/${endpoint.uid}`, {
        name: 'e',
        url,
        authentication: { type: 'basic_auth', basic_auth },
      });
    const [last] = await list(`&resourceId=${endpoint.uid}`);
    expect(last.before.secret.authentication.basic_auth).toEqual({
      username: '[secret]',
      password: '[secret]',
    });
    expect(last.after.secret.authentication.basic_auth).toEqual({
      username: '[secret]',
      password: '[secret, changed]',
    });
  });
});
