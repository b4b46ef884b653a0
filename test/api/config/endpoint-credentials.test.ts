import { generateKeyPairSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { portalOf, startTestApp } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { shown } from '../../support/settled.ts';
import { shared } from '../../support/shared.ts';

const app = await shared(startTestApp());
const url = 'http://127.0.0.1:9/';
const pem = (name: string) => readFile(join(import.meta.dirname, '../../support/certificates', name), 'utf8');

const create = (fields: object, expected = 201): Promise<Json> =>
  app.project.post('/endpoints', { name: 'n', url, ...fields }, expected);
const update = (uid: string, fields: object, expected = 202): Promise<Json> =>
  app.project.put(`/endpoints/${uid}`, { name: 'n', url, ...fields }, expected);

const oauth2 = {
  url: 'http://127.0.0.1:9/token',
  client_id: 'client',
  authentication_type: 'shared_secret',
  client_secret: 'secret',
};
const jwk = () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });

test('an endpoint without extras shows every field, empty', async () => {
  expect(await create({})).toMatchObject({
    authentication: null,
    signing_key: null,
    teams_webhook_url: '',
    cb_state: 'closed',
    failure_rate: 0,
    period_failure_rate: null,
    success_count: null,
    failure_count: null,
    retry_count: null,
  });
});

test('cb_state shows the breaker', async () => {
  const made = await create({});
  await app.database.query(
    `with moved as (update projects set version = version + 1 where id = $2 returning version)
     insert into endpoint_breakers (endpoint_id, project_id, version, state, trips, changed_at)
     select $1, $2, version, 'open', 1, now() from moved`,
    [made.uid, app.projectId],
  );
  await shown(app.project, `/endpoints/${made.uid}`, { cb_state: 'open' });
  const [listed] = (await app.project.get('/endpoints')).content;
  expect(listed).toMatchObject({ uid: made.uid, cb_state: 'open' });
});

describe('authentication', () => {
  test.each([
    { type: 'api_key', api_key: { header_name: 'X-Key', header_value: 'v' } },
    { type: 'basic_auth', basic_auth: { username: 'u', password: 'p:w' } },
    { type: 'oauth2', oauth2: { ...oauth2, scope: 'a b', audience: 'x', expiry_time_unit: 'minutes' } },
    { type: 'oauth2', oauth2: { ...oauth2, field_mapping: { access_token: 'jwt' }, grant_type: 'custom' } },
  ])('$type is kept and shown in clear to keys, and cleared by an empty one', async (authentication) => {
    const made = await create({ authentication });
    expect(made.authentication).toEqual(authentication);
    expect((await app.project.get(`/endpoints/${made.uid}`)).authentication).toEqual(authentication);
    expect((await update(made.uid, { authentication: made.authentication })).authentication).toEqual(
      authentication,
    );
    expect((await update(made.uid, {})).authentication).toEqual(authentication);
    expect((await update(made.uid, { authentication: {} })).authentication).toBeNull();
  });

  test('a signed assertion takes a key that fits its algorithm; blank settings are omitted', async () => {
    const key = jwk();
    const assertion = {
      ...oauth2,
      authentication_type: 'client_assertion',
      client_secret: '',
      signing_key: key,
    };
    const made = await create({
      authentication: { type: 'oauth2', oauth2: { ...assertion, signing_algorithm: '', issuer: '' } },
    });
    expect(made.authentication.oauth2).toEqual({
      url: oauth2.url,
      client_id: 'client',
      authentication_type: 'client_assertion',
      signing_key: key,
    });
    const wrong = { type: 'oauth2', oauth2: { ...assertion, signing_algorithm: 'RS256' } };
    expect((await create({ authentication: wrong }, 400)).message).toContain('signing_key');
  });

  // differs Events and deliveries: A name that is no legal header, or belongs to the connection, is 400 in
  //   `authentication.api_key.header_name`. It could not be sent.
  test.each([
    [{ type: 'api_key' }, 'authentication.api_key'],
    [{ type: 'api_key', api_key: { header_name: 'a b', header_value: 'v' } }, 'header_name'],
    [{ type: 'api_key', api_key: { header_name: 'Expect', header_value: 'v' } }, 'header_name'],
    [{ type: 'api_key', api_key: { header_name: 'a', header_value: 'v\r\nx: y' } }, 'header_value'],
    [{ type: 'basic_auth', basic_auth: { username: '' } }, 'authentication.basic_auth'],
    [{ type: 'oauth2', oauth2: { ...oauth2, client_secret: undefined } }, 'client_secret'],
    [{ type: 'oauth2', oauth2: { ...oauth2, url: 'ftp://x' } }, 'oauth2.url'],
    [{ type: 'oauth2', oauth2: { ...oauth2, authentication_type: 'magic' } }, 'authentication_type'],
    [{ type: 'oauth2', oauth2: { ...oauth2, authentication_type: 'client_assertion' } }, 'signing_key'],
    [{ type: 'oauth2', oauth2: { ...oauth2, expiry_time_unit: 'years' } }, 'expiry_time_unit'],
    [{ type: 'kerberos' }, 'authentication.type'],
  ])('%j is refused', async (authentication, field) => {
    expect((await create({ authentication }, 400)).message).toContain(field);
  });
});

describe('a client certificate', () => {
  // differs Access: `mtls_client_cert.client_key` is shown as `***`, and `***` written back keeps it. Clients
  //   write whole objects.
  test('is kept with its key, shown to keys only, survives an update without it and is removed by blanks', async () => {
    const mtls_client_cert = { client_cert: await pem('client.pem'), client_key: await pem('client.key') };
    const made = await create({ mtls_client_cert, owner_id: 'mtls' });
    expect(made.mtls_client_cert).toEqual(mtls_client_cert);
    const portal = await portalOf(app.project, 'mtls', { can_manage_endpoint: true });
    const seen = await portal.get(`/endpoints/${made.uid}`);
    expect(seen.mtls_client_cert).toEqual({ ...mtls_client_cert, client_key: '***' });
    await portal.put(`/endpoints/${made.uid}`, { name: 'n', url, mtls_client_cert: seen.mtls_client_cert });
    expect((await update(made.uid, {})).mtls_client_cert).toEqual(mtls_client_cert);
    const removed = await update(made.uid, { mtls_client_cert: { client_cert: '', client_key: '' } });
    expect(removed).not.toHaveProperty('mtls_client_cert');
  });

  test('is refused in part, unreadable, or with the key of another', async () => {
    const client_cert = await pem('client.pem');
    for (const mtls_client_cert of [
      { client_cert },
      { client_cert, client_key: 'nonsense' },
      { client_cert, client_key: '***' },
      { client_cert, client_key: await pem('other.key') },
    ]) {
      expect((await create({ mtls_client_cert }, 400)).message).toContain('mtls_client_cert');
    }
  });
});

test('a signing key is created once, shows only its public half and is removed on request', async () => {
  const made = await create({ signing_key: { type: 'ed25519' } });
  expect(made.signing_key).toEqual({ type: 'ed25519', public_key: expect.stringMatching(/^whpk_/) });
  expect(JSON.stringify(made)).not.toContain('PRIVATE KEY');
  expect((await update(made.uid, { signing_key: { type: 'ed25519' } })).signing_key).toEqual(
    made.signing_key,
  );
  expect((await update(made.uid, {})).signing_key).toEqual(made.signing_key);
  expect((await update(made.uid, { signing_key: { type: '' } })).signing_key).toBeNull();
  await create({ signing_key: { type: 'rsa' } }, 400);
});

describe('the token server test', () => {
  test('reports whether a token was issued, and when it expires', async () => {
    const answers: string[] = [];
    const server = createServer((request, response) => {
      request.on('data', (chunk: Buffer) => answers.push(chunk.toString()));
      request.on('end', () => {
        const good = !answers.at(-1)?.includes('wrong');
        response.writeHead(good ? 200 : 401, { 'content-type': 'application/json' });
        response.end(
          JSON.stringify(good ? { access_token: 'tok', expires_in: 60 } : { error: 'invalid_client' }),
        );
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const tokenUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const ask = (fields: object) =>
      app.project.post('/endpoints/oauth2/test', { oauth2: { ...oauth2, url: tokenUrl, ...fields } }, 200);
    expect(await ask({})).toMatchObject({ success: true, access_token: 'tok', token_type: 'Bearer' });
    expect(Date.parse((await ask({})).expires_at)).toBeGreaterThan(Date.now());
    const failed = await ask({ client_secret: 'wrong' });
    expect(failed).toMatchObject({ success: false, expires_at: null });
    expect(failed.error).toContain('invalid_client');
    server.close();
  });

  test('needs whole settings', async () => {
    await app.project.post('/endpoints/oauth2/test', {}, 400);
    await app.project.post('/endpoints/oauth2/test', { oauth2: { url } }, 400);
  });
});
