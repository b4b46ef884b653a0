import { expect, test } from 'vitest';
import { startTestApp } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { shared } from '../../support/shared.ts';

/** Settings with the credentials of the machine. No cloud is asked to save them. */
const app = await shared(startTestApp({ POSTHORN_WORKLOAD_CREDENTIALS: 'aws', POSTHORN_EGRESS: 'any' }));

const sqs = { queue_name: 'q', default_region: 'eu-west-1', credentials: 'workload' };
const s3 = { bucket: 'a-bucket', default_region: 'eu-west-1', credentials: 'workload' };
const google = { project_id: 'p', topic_id: 't', subscription_id: 's', credentials: 'workload' };
const NO_KEY = { access_key_id: '', secret_key: '', endpoint: '' };

const endpoint = (type: string, settings: object, expected = 201): Promise<Json> =>
  app.project.post(
    '/endpoints',
    { name: 'e', delivery: 'broker', broker: { type, [type]: settings } },
    expected,
  );
const source = (type: string, settings: object, expected = 201): Promise<Json> =>
  app.project.post('/sources', { name: 's', type: 'pub_sub', pub_sub: { type, [type]: settings } }, expected);
const problemsOf = (answer: Json): string[] =>
  answer.fields.map(({ field, problem }: Json) => `${field} ${problem}`);
const counts = async () =>
  Promise.all(['/endpoints', '/sources'].map(async (path) => (await app.project.get(path)).content.length));

// proves Instance: POSTHORN_WORKLOAD_CREDENTIALS
test('credentials of the machine may be asked for only at a cloud that the operator allows', async () => {
  expect((await app.project.get('')).workload_credentials).toEqual(['aws']);
  expect((await endpoint('sqs', sqs)).broker.sqs).toEqual({ ...sqs, ...NO_KEY });
  const { broker, uid } = await endpoint('s3', s3);
  expect(broker.s3).toEqual({ ...s3, ...NO_KEY, prefix: '' });
  expect((await app.project.get(`/endpoints/${uid}`)).broker.s3).toEqual(broker.s3);
  expect((await source('sqs', sqs)).pub_sub.sqs).toEqual({ ...sqs, ...NO_KEY });
  const before = await counts();
  const refused =
    'google.credentials may be workload only where the operator allows it: POSTHORN_WORKLOAD_CREDENTIALS does not have google';
  expect(problemsOf(await endpoint('google', google, 400))).toEqual([`broker.${refused}`]);
  expect(problemsOf(await source('google', google, 400))).toEqual([`pub_sub.${refused}`]);
  const made = await source('google', { ...google, credentials: '', service_account: 'e30=' });
  expect(made.pub_sub.google).not.toHaveProperty('credentials');
  const pub_sub = { type: 'google', google };
  const changed = await app.project.call('PUT', `/sources/${made.uid}`, { body: { pub_sub }, expected: 400 });
  expect(problemsOf(changed)).toEqual([`pub_sub.${refused}`]);
  const tried = { endpoint: { delivery: 'broker', broker: { type: 'google', google } } };
  expect(problemsOf(await app.project.post('/endpoints/test', tried, 400))).toEqual([`broker.${refused}`]);
  expect(await counts()).toEqual([before[0], (before[1] ?? 0) + 1]);
});

test('they go to servers of the cloud alone, and not together with a key', async () => {
  const wrong = 'endpoint must be empty or a server of the cloud when credentials is workload';
  for (const own of [
    'https://sqs.example.org',
    'http://sqs.eu-west-1.amazonaws.com',
    'https://sqs.eu-west-1.amazonaws.com.example.org',
    'https://x.execute-api.eu-west-1.amazonaws.com',
    'https://sqs.eu-west-1.amazonaws.com:8443',
    'http://169.254.169.254',
  ])
    expect(problemsOf(await endpoint('sqs', { ...sqs, endpoint: own }, 400))).toEqual([
      `broker.sqs.${wrong}`,
    ]);
  await endpoint('sqs', { ...sqs, endpoint: 'https://vpce-1.sqs.eu-west-1.vpce.amazonaws.com' });
  await endpoint('s3', { ...s3, endpoint: 'https://bucket.vpce-1.s3.eu-west-1.vpce.amazonaws.com' });
  expect(problemsOf(await endpoint('s3', { ...s3, access_key_id: 'id', secret_key: 's' }, 400))).toEqual([
    'broker.s3.access_key_id must be empty when credentials is given',
    'broker.s3.secret_key must be empty when credentials is given',
  ]);
  expect(problemsOf(await source('sqs', { queue_name: 'q', default_region: 'r' }, 400))).toEqual([
    'pub_sub.sqs.access_key_id is required',
    'pub_sub.sqs.secret_key is required',
  ]);
});

test('a portal link never gets them', async () => {
  const project = await app.newProject({ portal_brokers: true });
  const rights = { can_manage_endpoint: true, can_use_brokers: true, can_see_secrets: true };
  const { token, auth_key } = await project.post('/portal-links', { name: 'l', owner_id: 'o', ...rights });
  const link = new ApiClient(`${app.url}/portal-api`, token ?? auth_key);
  const wanted = { name: 'theirs', delivery: 'broker', broker: { type: 'sqs', sqs } };
  const refused = await link.post('/endpoints', wanted, 403);
  expect(refused.message ?? JSON.stringify(refused)).toContain('credentials of the machine');
  await link.post('/endpoints/test', { endpoint: wanted }, 403);
  expect((await project.get('/endpoints')).content).toEqual([]);
});

test('the metadata address stays closed to deliveries', async () => {
  for (const url of ['http://169.254.169.254/latest/meta-data/', 'http://169.254.170.2/'])
    await app.project.post('/endpoints', { name: 'u', url }, 400);
});
