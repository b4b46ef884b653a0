import { createHash, createPublicKey, verify } from 'node:crypto';
import { expect, test } from 'vitest';
import { publicKeys, verifyWebhook } from '../../client/src/posthorn.ts';
import { startTestApp, subscribe } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { type Received, Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

/** Keys that a project signs with, as a receiver without any secret sees them. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());

const keySetUrl = ({ projectId }: ApiClient) =>
  `${app.url}/api/v1/projects/${projectId}/.well-known/jwks.json`;
const keySet = async (client: ApiClient): Promise<Json[]> =>
  ((await (await fetch(keySetUrl(client))).json()) as Json).keys;

/** A project with an endpoint, and the next request that an event makes. */
async function scene() {
  const client = await app.newProject();
  await subscribe(client, receiver.url, { endpoint: { signing_key: { type: 'ed25519' } } });
  const deliver = async (): Promise<Received> => {
    const seen = receiver.requests.length;
    await client.post('/events/broadcast', { event_type: 'a', data: { seen } });
    await eventually(() => receiver.requests.length, atLeast(seen + 1));
    return receiver.requests[seen] as Received;
  };
  return { client, deliver };
}

const signatures = ({ headers }: Received): string[] =>
  String(headers['webhook-signature'])
    .split(' ')
    .filter((one) => one.startsWith('v1a,'));

/** The kids of the set whose key made a signature of the request, by Node's own code. */
function signers(keys: readonly Json[], request: Received): string[] {
  const { 'webhook-id': id, 'webhook-timestamp': time } = request.headers;
  const message = Buffer.concat([Buffer.from(`${String(id)}.${String(time)}.`), request.body]);
  return keys
    .filter((jwk) =>
      signatures(request).some((one) =>
        verify(
          null,
          message,
          createPublicKey({ key: jwk, format: 'jwk' }),
          Buffer.from(one.slice(4), 'base64'),
        ),
      ),
    )
    .map(({ kid }) => kid);
}

test('a receiver without a secret checks deliveries with the published key', async () => {
  const { client, deliver } = await scene();
  expect(await keySet(client)).toEqual([]);
  expect(signatures(await deliver())).toHaveLength(1);

  const made = await client.post('/signing_keys', {});
  const [jwk] = await keySet(client);
  const thumbprint = createHash('sha256')
    .update(`{"crv":"Ed25519","kty":"OKP","x":"${jwk.x}"}`)
    .digest('base64url');
  expect(jwk).toEqual({
    kty: 'OKP',
    crv: 'Ed25519',
    alg: 'EdDSA',
    use: 'sig',
    kid: thumbprint,
    x: expect.any(String),
  });
  expect(made).toEqual({
    kid: thumbprint,
    public_key: `whpk_${Buffer.from(jwk.x, 'base64url').toString('base64')}`,
    created_at: expect.stringMatching(/Z$/),
    expires_at: null,
  });
  const request = await deliver();
  // The endpoint has a key of its own too.
  expect(signatures(request)).toHaveLength(2);
  expect(signers([jwk], request)).toEqual([thumbprint]);
  const keys = publicKeys(keySetUrl(client));
  expect((await verifyWebhook(request, await keys())).json()).toEqual(request.json);
  const changed = { ...request, body: Buffer.concat([request.body, Buffer.from(' ')]) };
  await expect(verifyWebhook(changed, await keys())).rejects.toThrow('No signature');
});

test('a roll overlaps: both keys sign and are published, until the old one expires or is deleted', async () => {
  const { client, deliver } = await scene();
  const first = await client.post('/signing_keys', {});
  const second = await client.post('/signing_keys', { expiration: 3600 });
  expect((await client.get('/signing_keys')).map((key: Json) => [key.kid, key.expires_at !== null])).toEqual([
    [first.kid, true],
    [second.kid, false],
  ]);
  expect(signers(await keySet(client), await deliver())).toEqual([first.kid, second.kid]);
  await client.delete(`/signing_keys/${first.kid}`);
  expect(signers(await keySet(client), await deliver())).toEqual([second.kid]);

  const third = await client.post('/signing_keys', { expiration: 0 });
  expect((await keySet(client)).map(({ kid }) => kid)).toEqual([third.kid]);
  expect(signers(await keySet(client), await deliver())).toEqual([third.kid]);
  await client.delete(`/signing_keys/${third.kid}`);
  expect([await keySet(client), signatures(await deliver()).length]).toEqual([[], 1]);
});

test('keys are bounded, and their private halves are nowhere to be seen', async () => {
  const client = await app.newProject();
  for (let n = 0; n < 3; n += 1) await client.post('/signing_keys', {});
  const refused = await client.post('/signing_keys', {}, 400);
  expect(refused.message).toContain('3 keys sign already');
  expect(await client.get('/signing_keys')).toHaveLength(3);
  const [row] = await app.database.query('select sealed_keys from projects where id = $1', [
    client.projectId,
  ]);
  expect(String(row?.['sealed_keys'])).not.toContain('PRIVATE KEY');
  const shown = JSON.stringify([
    await client.get('/signing_keys'),
    await client.get('/audit'),
    await keySet(client),
  ]);
  expect(shown).not.toMatch(/PRIVATE|private_key|keysMark/);
  // Another change of the project leaves them.
  await client.put('', { config: { max_payload_read_size: 1000 } });
  expect(await keySet(client)).toHaveLength(3);
});

test('unknown keys, projects and roles are refused', async () => {
  const client = await app.newProject();
  expect((await client.delete('/signing_keys/none', 404)).code).toBe('not_found');
  await client.post('/signing_keys', { expiration: -1 }, 400);
  const developer = await client.post('/keys', { name: 'dev', role: 'developer' });
  const less = new ApiClient(client.base, developer.key);
  expect((await less.post('/signing_keys', {}, 403)).code).toBe('role_required');
  expect(await less.get('/signing_keys')).toEqual([]);
  for (const id of ['01ARZ3NDEKTSV4RRFFQ69G5FAV', 'nothing', 'a%2Fb']) {
    const answer = await fetch(`${app.url}/api/v1/projects/${id}/.well-known/jwks.json`);
    expect([answer.status, ((await answer.json()) as Json).code]).toEqual([404, 'project_not_found']);
  }
  const open = await fetch(keySetUrl(client));
  expect([open.headers.get('content-type'), open.headers.get('cache-control')]).toEqual([
    'application/jwk-set+json',
    'public, max-age=300',
  ]);
  await client.delete('');
  expect((await fetch(keySetUrl(client))).status).toBe(404);
});

test('a key is refused while an older node runs, whose deliveries would lack its signature', async () => {
  const client = await app.newProject();
  await app.database.query(
    `insert into nodes (id, roles, knows, seal_keys, beat_at)
     values ('older', 'deliver', '0002', '{}', now() + interval '1 hour')`,
  );
  const refused = await client.post('/signing_keys', {}, 409);
  expect([refused.code, await keySet(client)]).toEqual(['older_nodes', []]);
  await app.database.query(`delete from nodes where id = 'older'`);
  await client.post('/signing_keys', {});
});
