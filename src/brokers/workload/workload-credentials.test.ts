import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { CONTAINER_TOKEN, MetadataServer, WEB_TOKEN } from '../../../test/support/brokers/metadata-server.ts';
import { HttpClient } from '../../dispatch/client/http-client.ts';
import { MachineWorkload } from '../machine-workload.ts';

const server = await MetadataServer.start();
const directory = await mkdtemp(join(tmpdir(), 'posthorn-workload-'));
const file = join(directory, 'token');
await writeFile(file, `${WEB_TOKEN}\n`);
const http = new HttpClient({ egress: 'public' });
afterAll(async () => {
  server.close();
  await http.close();
  await rm(directory, { recursive: true });
});
beforeEach(() => {
  server.asked.length = 0;
  server.isDown = false;
  server.key = { id: 'AKIDROLE', secret: 'secret of the role', token: 'of the session' };
});

const machine = (env: Record<string, string>, allowed: readonly ('aws' | 'google')[] = ['aws', 'google']) =>
  new MachineWorkload({ allowed, env, secureContext: () => http.secureContext() });

const METADATA = { AWS_EC2_METADATA_SERVICE_ENDPOINT: `${server.url}/` };
const CONTAINER = {
  AWS_CONTAINER_CREDENTIALS_FULL_URI: `${server.url}/container`,
  AWS_CONTAINER_AUTHORIZATION_TOKEN: CONTAINER_TOKEN,
};
const WEB = { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: 'arn:role', AWS_ENDPOINT_URL_STS: server.url };

test.each([
  ['the metadata service of an instance', METADATA, '/latest/api/token'],
  ['the server of a container', { ...METADATA, ...CONTAINER }, '/container'],
  ['a web identity', { ...METADATA, ...CONTAINER, ...WEB }, '/'],
])('a key of Amazon comes from %s, and is kept', async (_, env, first) => {
  const workload = machine(env);
  const [key, again] = await Promise.all([workload.aws(), workload.aws()]);
  expect(key).toMatchObject({ id: 'AKIDROLE', secret: 'secret of the role', token: 'of the session' });
  expect((key.expiresAtMs ?? 0) - Date.now()).toBeGreaterThan(3_000_000);
  expect(again).toEqual(key);
  const asked = server.asked.length;
  await workload.aws();
  expect(server.asked).toHaveLength(asked);
  expect(server.asked[0]).toBe(first);
});

test('the token of a file may be that of a container too', async () => {
  const tokenFile = join(directory, 'container');
  await writeFile(tokenFile, CONTAINER_TOKEN);
  const { AWS_CONTAINER_AUTHORIZATION_TOKEN: _, ...env } = CONTAINER;
  const workload = machine({ ...env, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tokenFile });
  expect(await workload.aws()).toMatchObject({ id: 'AKIDROLE' });
});

test('a token of Google comes from its metadata server, and is kept', async () => {
  const workload = machine({ GCE_METADATA_HOST: server.host });
  expect(await Promise.all([workload.googleToken(), workload.googleToken()])).toEqual([
    'token of tests',
    'token of tests',
  ]);
  expect(server.asked).toHaveLength(1);
});

test('a cloud that the operator did not allow is not asked, and no variable of it has effect', async () => {
  const env = {
    ...METADATA,
    GCE_METADATA_HOST: server.host,
    AWS_ENDPOINT_URL: 'http://a',
    AWS_ENDPOINT_URL_S3: 'http://b',
  };
  const none = machine(env, []);
  await expect(none.aws()).rejects.toThrow(
    'The credentials of this machine may not be used: POSTHORN_WORKLOAD_CREDENTIALS does not have aws.',
  );
  await expect(machine(env, ['aws']).googleToken()).rejects.toThrow('does not have google');
  expect(server.asked).toEqual([]);
  expect([none.endpoint('s3'), none.endpoint('google')]).toEqual(['', '']);
  const some = machine(env);
  expect([some.endpoint('s3'), some.endpoint('sqs'), some.endpoint('google')]).toEqual([
    'http://b',
    'http://a',
    '',
  ]);
});

test.each([
  [WEB, 'their server answered AccessDenied'],
  [
    { AWS_EC2_METADATA_SERVICE_ENDPOINT: 'http://127.0.0.1:1' },
    'their server cannot be reached (ECONNREFUSED)',
  ],
  [{ ...WEB, AWS_WEB_IDENTITY_TOKEN_FILE: '/no/such/file' }, 'the file of the token cannot be read'],
])('what is wrong is said in plain words (%#)', async (env, reason) => {
  server.isDown = true;
  await expect(machine(env).aws()).rejects.toThrow(
    `The credentials of this machine cannot be had: ${reason}.`,
  );
});

test('an answer without a key or a token is a failure', async () => {
  server.key = { id: '', secret: '' };
  await expect(machine(METADATA).aws()).rejects.toThrow('cannot be had: the answer has no key.');
  server.googleToken = '';
  await expect(machine({ GCE_METADATA_HOST: server.host }).googleToken()).rejects.toThrow('has no token');
});
