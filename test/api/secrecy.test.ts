import { generateKeyPairSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { sourceCredentials } from '../../src/domain/config/source.ts';
import { endpointCredentials } from '../../src/domain/resources/endpoint-credentials.ts';
import { pathsOf } from '../../src/platform/json/schema-marks.ts';
import { startTestApp } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { runPosthorn } from '../support/command.ts';
import { linesOf } from '../support/log-lines.ts';
import { callTool, connectMcp } from '../support/mcp.ts';
import { prepareCall } from '../support/operations/cases.ts';
import { document, type Operation, operations } from '../support/operations/documented.ts';
import { newScene, OWNER, type Scene } from '../support/operations/scene.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

/**
 * A project with a value of its own in every field that is marked as a credential. Each role calls every operation, and no
 * answer to one that may not see them has any of these values.
 */
const log = linesOf('debug');
const app = await shared(startTestApp({ POSTHORN_MCP: 'on', POSTHORN_ROLES: 'api,ingest,deliver' }, log.log));
const receiver = await shared(Receiver.start());

/** The values by the paths of their fields. */
const planted = new Map<string, string>();
let scene: Scene;
const known: Record<string, string> = {};

function plant(path: string, value = `planted ${path} ${'x'.repeat(8)}`): string {
  planted.set(path, value);
  return value;
}

/** The values as an answer would have them. Of a PEM file a line, because JSON writes the breaks otherwise. */
const needles = (): string[] =>
  [...planted.values()].map((value) => (value.includes('\n') ? (value.split('\n')[2] ?? '') : value));

const seenIn = (text: string): string[] => needles().filter((value) => text.includes(value));

const authentications = (): Json[] => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = privateKey.export({ format: 'jwk' });
  plant('authentication.oauth2.signing_key', jwk.d);
  const oauth2 = { url: `${receiver.url}/token`, client_id: 'c' };
  const value = (path: string) => plant(`authentication.${path}`);
  return [
    { type: 'api_key', api_key: { header_name: 'x-key', header_value: value('api_key.header_value') } },
    { type: 'basic_auth', basic_auth: { username: 'u', password: value('basic_auth.password') } },
    {
      type: 'oauth2',
      oauth2: {
        ...oauth2,
        authentication_type: 'shared_secret',
        client_secret: value('oauth2.client_secret'),
      },
    },
    { type: 'oauth2', oauth2: { ...oauth2, authentication_type: 'client_assertion', signing_key: jwk } },
  ];
};

const keyFile = (path: string) => {
  const base64 = Buffer.from(`planted ${path}`).toString('base64');
  return plant(path, base64);
};

/** The settings of each kind of broker, with the names of endpoints and sources. */
const brokers = (group: string): Record<string, Json> => ({
  kafka: {
    brokers: ['127.0.0.1:1'],
    topic_name: 't',
    auth: { type: 'plain', username: 'u', password: plant(`${group}.kafka.auth.password`) },
  },
  amqp: {
    host: '127.0.0.1',
    port: '1',
    ...(group === 'broker' ? { routing_key: 'q' } : { queue: 'q' }),
    auth: { user: 'u', password: plant(`${group}.amqp.auth.password`) },
  },
  sqs: {
    queue_name: 'q',
    access_key_id: 'id',
    secret_key: plant(`${group}.sqs.secret_key`),
    default_region: 'eu-west-1',
  },
  google: {
    project_id: 'p',
    ...(group === 'broker' ? { topic_id: 't' } : { subscription_id: 's' }),
    service_account: keyFile(`${group}.google.service_account`),
  },
  ...(group === 'broker' && {
    s3: {
      bucket: 'a-bucket',
      access_key_id: 'id',
      secret_key: plant('broker.s3.secret_key'),
      default_region: 'r',
    },
  }),
});

async function plantEndpoints({ project }: Scene): Promise<void> {
  const pem = (name: string) => readFile(join(import.meta.dirname, '../support/certificates', name), 'utf8');
  const own = { name: 'planted', owner_id: OWNER, url: `${receiver.url}/e` };
  const endpoint = await project.post('/endpoints', {
    ...own,
    secret: plant('secret'),
    headers: { 'x-plain': plant('headers') },
    slack_webhook_url: plant('slack_webhook_url', `${receiver.url}/planted-slack`),
    teams_webhook_url: plant('teams_webhook_url', `${receiver.url}/planted-teams`),
    mtls_client_cert: {
      client_cert: await pem('client.pem'),
      client_key: plant('mtls_client_cert.client_key', await pem('client.key')),
    },
  });
  known['endpointID'] = endpoint.uid;
  for (const authentication of authentications())
    await project.post('/endpoints', { ...own, authentication });
  for (const [type, settings] of Object.entries(brokers('broker')))
    await project.post('/endpoints', {
      name: 'planted',
      owner_id: OWNER,
      delivery: 'broker',
      broker: { type, [type]: settings },
    });
}

async function plantSources({ project }: Scene): Promise<void> {
  const value = (path: string) => plant(`verifier.${path}`);
  const hmac = { header: 'x-sign', hash: 'SHA256', encoding: 'hex', secret: value('hmac.secret') };
  const verifiers: Json[] = [
    { type: 'hmac', hmac },
    { type: 'basic_auth', basic_auth: { username: 'u', password: value('basic_auth.password') } },
    { type: 'api_key', api_key: { header_name: 'x', header_value: value('api_key.header_value') } },
  ];
  const off = { name: 'planted', is_disabled: true };
  for (const verifier of verifiers) {
    const source = await project.post('/sources', { ...off, type: 'http', verifier });
    known['sourceID'] = source.uid;
  }
  for (const [type, settings] of Object.entries(brokers('pub_sub')))
    await project.post('/sources', {
      ...off,
      type: 'pub_sub',
      pub_sub: { type, workers: 1, [type]: settings },
    });
  const connection_url = plant('db_change_stream.connection_url', 'postgres://u:planted-word@127.0.0.1:1/d');
  const db_change_stream = { connection_url, tables: ['public.t'] };
  await project.post('/sources', { ...off, type: 'db_change_stream', db_change_stream });
}

beforeAll(async () => {
  scene = await newScene(app, receiver);
  const { name } = await scene.project.get('');
  const meta_event = { secret: plant('meta_event.secret'), event_type: ['*'] };
  await scene.project.put('', { name, config: { meta_event } });
  await plantEndpoints(scene);
  await plantSources(scene);
  const subscription = await scene.project.post('/subscriptions', {
    name: 'planted',
    endpoint_id: known['endpointID'],
    source_id: known['sourceID'],
  });
  known['subscriptionID'] = subscription.uid;
});

test('every field with the mark has a value of its own here', () => {
  const marked = [
    ...pathsOf('credential', endpointCredentials),
    ...pathsOf('credential', sourceCredentials),
    'meta_event.secret',
  ];
  expect([...planted.keys()].sort()).toEqual(marked.sort());
});

interface Leak {
  operation: string;
  seen: string[];
}

/** Calls an operation and returns its whole answer. A stream is left after its first part. */
async function answerOf(operation: Operation, caller: ApiClient, isRead: boolean): Promise<string> {
  const { path, body } = await prepareCall(scene, operation, isRead ? known : {});
  const response = await caller.raw(operation.method, path, { body });
  if (!(response.headers.get('content-type') ?? '').includes('text/event-stream')) return response.text();
  await response.body?.cancel();
  return '';
}

const isRead = ({ method }: Operation) => method === 'GET';
const isOfProject = ({ path, isPortal }: Operation) => !isPortal && path.includes('{projectID}');

async function leaks(called: readonly Operation[], caller: ApiClient): Promise<Leak[]> {
  const found: Leak[] = [];
  for (const operation of called) {
    const seen = seenIn(await answerOf(operation, caller, isRead(operation)));
    if (seen.length > 0) found.push({ operation: operation.id, seen });
  }
  return found;
}

/** The operations whose answers have one of these schemas somewhere. */
function showing(names: readonly string[]): Set<string> {
  const reaches = (value: unknown, way: readonly string[]): boolean =>
    [...JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)].some(([, name = '']) => {
      if (names.includes(name)) return true;
      return !way.includes(name) && reaches(document.components.schemas[name], [...way, name]);
    });
  const methods = Object.values(document.paths).flatMap((each) => Object.values(each));
  return new Set(
    methods.filter(({ responses }) => reaches(responses, [])).map(({ operationId }) => operationId),
  );
}

test('an administrator sees each of the values, so the calls below would find it', async () => {
  const paths = ['', '/endpoints?perPage=1000', '/sources?perPage=1000'];
  const shown = await Promise.all(paths.map((path) => scene.project.get(path)));
  const seen = seenIn(JSON.stringify(shown));
  expect(needles().filter((value) => !seen.includes(value))).toEqual([]);
});

describe('no credential is in any answer', () => {
  test('to a viewer', async () => {
    const { key } = await scene.project.post('/keys', { name: 'viewer', role: 'viewer' });
    const called = operations.filter((one) => isOfProject(one) && one.access === 'viewer');
    expect(called.length).toBeGreaterThan(30);
    expect(await leaks(called, new ApiClient(app.url, key))).toEqual([]);
  });

  test('to a portal link that does not see secrets', async () => {
    const rights = { can_manage_endpoint: true, can_create_events: true, can_see_secrets: false };
    const { token } = await scene.project.post('/portal-links', { name: 'l', owner_id: OWNER, ...rights });
    const called = operations.filter(({ isPortal }) => isPortal);
    expect(called.length).toBeGreaterThan(40);
    expect(await leaks(called, new ApiClient(app.url, token))).toEqual([]);
  });

  test('to a portal link that sees secrets, but those of its endpoints', async () => {
    const { token } = await scene.project.post('/portal-links', {
      name: 'l',
      owner_id: OWNER,
      can_see_secrets: true,
    });
    const called = operations.filter((one) => one.isPortal && isRead(one));
    const found = await leaks(called, new ApiClient(app.url, token));
    const seen = new Set(found.flatMap((one) => one.seen));
    const paths = [...planted.keys()].filter((_path, index) => seen.has(needles()[index] ?? ''));
    const own = pathsOf('credential', endpointCredentials);
    expect(paths.sort()).toEqual(own.filter((path) => path !== 'mtls_client_cert.client_key').sort());
  });

  test('to a caller who names no key', async () => {
    const called = operations.filter(({ access }) => access === 'public');
    expect(called.length).toBeGreaterThan(5);
    expect(await leaks(called, new ApiClient(app.url, ''))).toEqual([]);
  });

  describe.each(['developer', 'admin'])('to a key with the role %s', (role) => {
    test('that is not about what has them', async () => {
      const { key } = await scene.project.post('/keys', { name: role, role });
      const having = showing(['Endpoint', 'Source', 'Project', 'MetaEventConfig']);
      const called = operations.filter((one) => isOfProject(one) && isRead(one) && !having.has(one.id));
      expect(called.map(({ id }) => id)).toEqual(expect.arrayContaining(['listAudit', 'listMetaEvents']));
      expect(await leaks(called, new ApiClient(app.url, key))).toEqual([]);
    });
  });

  test('to the instance key that is about the instance', async () => {
    const called = operations.filter((one) => ['instance', 'any'].includes(one.access) && isRead(one));
    const own = called.filter(({ id }) => !showing(['Project', 'MetaEventConfig']).has(id));
    expect(own.length).toBeGreaterThan(3);
    expect(await leaks(own, app.instance)).toEqual([]);
  });

  test('in a meta event', async () => {
    const sent = await receiver.received(10, '/meta');
    expect(seenIn(sent.map(({ body }) => body.toString()).join('\n'))).toEqual([]);
  });

  test('in the file of a project', async () => {
    const env = { POSTHORN_URL: app.url, POSTHORN_API_KEY: scene.project.key };
    const { code, stdout } = await runPosthorn(['export'], { env });
    expect([code, seenIn(stdout)]).toEqual([0, []]);
  });

  test('of a tool of an assistant', async () => {
    const client = await connectMcp(app.url, scene.project.key);
    const { tools } = await client.listTools();
    const given = { endpoint_id: known['endpointID'], subscription_id: known['subscriptionID'] };
    const reads = tools.filter(({ annotations }) => annotations?.readOnlyHint === true);
    expect(reads.length).toBeGreaterThan(5);
    for (const { name, inputSchema } of reads) {
      const names = Object.keys(inputSchema.properties ?? {});
      const own = Object.fromEntries(Object.entries(given).filter(([one]) => names.includes(one)));
      expect([name, seenIn(JSON.stringify(await callTool(client, name, own).catch(String)))]).toEqual([
        name,
        [],
      ]);
    }
  });

  test('nor in the log', () => {
    expect(log.text()).not.toBe('');
    expect(seenIn(log.text())).toEqual([]);
  });
});
