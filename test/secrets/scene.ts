import { createHmac, generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestApp } from '../support/app.ts';
import { subscribe } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import type { Receiver } from '../support/servers/receiver.ts';
import {
  cookieOf,
  SessionClient,
  setUpSecondFactor,
  signIn,
  tokenOf,
  use,
} from '../support/session-client.ts';
import { completedJob } from '../support/settled.ts';
import type { KnownSecrets } from './known-secrets.ts';

/** A use of everything that takes a secret, so that afterwards each of them could be somewhere. */
export interface Scene {
  app: TestApp;
  receiver: Receiver;
  secrets: KnownSecrets;
}

const CERTIFICATES = join(import.meta.dirname, '../support/certificates');
const RETRY = { type: 'linear', interval_seconds: 1, retry_count: 1 };

/** Sends variables where they are not known as credentials by a name. */
const FUNCTION = `export const version = 2;
function transform(payload, { variables }) {
  return { headers: { 'X-Note': variables.HEADER }, query: { note: variables.QUERY } };
}`;

/** Lines of a PEM text are found wherever they stand. */
export function addPem(secrets: KnownSecrets, name: string, pem: string): void {
  for (const [index, line] of pem.split('\n').entries())
    if (line.length > 40 && !line.startsWith('-')) secrets.add(`${name} ${index}`, line);
}

export async function makeProjects({ app, receiver, secrets }: Scene): Promise<void> {
  const secret = secrets.make('meta secret');
  const meta_event = {
    is_enabled: true,
    type: 'http',
    event_type: ['*'],
    url: `${receiver.url}/meta`,
    secret,
  };
  const strategy = { type: 'linear', duration: 1, retry_count: 3 };
  const variables = {
    HEADER: secrets.makePlain('variable header'),
    QUERY: secrets.makePlain('variable query'),
  };
  await app.project.put('', { name: 'default', config: { meta_event, strategy }, variables });
  expectEqual((await app.project.get('')).config.meta_event.secret, secret);
  const other = secrets.make('meta secret of a new project');
  const made = await app.instance.post('/projects', {
    name: 'other',
    type: 'incoming',
    config: { meta_event: { ...meta_event, secret: other } },
  });
  secrets.add('key of a new project', made.api_key.key);
  const gone = new ApiClient(`${app.url}/api/v1/projects/${made.project.uid}`, made.api_key.key);
  const key = await gone.post('/keys', { name: 'further' });
  secrets.add('further key', key.key);
  await gone.delete('');
  secrets.add('key', app.project.key);
  secrets.add('instance key', app.instance.key);
}

/** Every kind of credential an endpoint has; an answer that gives back what came; one that fails first. */
export async function makeEndpoints(scene: Scene): Promise<void> {
  const { app, receiver, secrets } = scene;
  const clientKey = readFileSync(join(CERTIFICATES, 'client.key'), 'utf8');
  addPem(secrets, 'client key', clientKey);
  const mtls_client_cert = {
    client_cert: readFileSync(join(CERTIFICATES, 'client.pem'), 'utf8'),
    client_key: clientKey,
  };
  const password = secrets.makePlain('basic password');
  secrets.add('basic credentials', Buffer.from(`ann:${password}`).toString('base64'));
  const kinds: object[] = [
    { authentication: { type: 'basic_auth', basic_auth: { username: 'ann', password } } },
    {
      authentication: {
        type: 'api_key',
        api_key: { header_name: 'X-Odd', header_value: secrets.makePlain('api key header') },
      },
    },
    { authentication: { type: 'oauth2', oauth2: sharedSecret(scene) } },
    { authentication: { type: 'oauth2', oauth2: assertion(scene) } },
    { mtls_client_cert, signing_key: { type: 'ed25519' } },
    { headers: { 'X-Plain': secrets.makePlain('header of an endpoint') } },
    {
      slack_webhook_url: `${receiver.url}/slack/${secrets.makePlain('slack')}`,
      teams_webhook_url: `${receiver.url}/teams/${secrets.makePlain('teams')}`,
      support_email: 'ann@example.com',
    },
  ];
  for (const [index, kind] of kinds.entries()) {
    const secret = secrets.make(`endpoint secret ${index}`);
    const { endpoint } = await subscribe(app.project, `${receiver.url}/echo/${index}`, {
      endpoint: { secret, owner_id: 'owner', ...kind },
      subscription: { retry_config: RETRY, alert_config: { count: 1, threshold: '1h' } },
    });
    const rolled = { secret: secrets.make(`rolled secret ${index}`), expiration: 3600 };
    await app.project.put(`/endpoints/${endpoint.uid}/expire_secret`, rolled, 200);
  }
  await subscribe(app.project, `${receiver.url}/echo/function`, { subscription: { function: FUNCTION } });
  const { endpoint } = await subscribe(app.project, `${receiver.url}/gone`, {
    endpoint: { secret: secrets.make('secret of a deleted endpoint') },
  });
  await app.project.delete(`/endpoints/${endpoint.uid}`);
}

function sharedSecret({ receiver, secrets }: Scene) {
  return {
    url: `${receiver.url}/token`,
    client_id: 'client',
    authentication_type: 'shared_secret',
    client_secret: secrets.makePlain('client secret'),
  };
}

function assertion({ receiver, secrets }: Scene) {
  const signing_key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
  secrets.add('assertion key', String(signing_key.d));
  return {
    url: `${receiver.url}/token`,
    client_id: 'client',
    authentication_type: 'client_assertion',
    signing_key,
    signing_algorithm: 'ES256',
  };
}

export async function makeSources({ app, secrets }: Scene): Promise<Json[]> {
  const account = Buffer.from(JSON.stringify({ private_key: secrets.make('google key') })).toString('base64');
  secrets.add('service account', account);
  const brokers = {
    sqs: {
      queue_name: 'q',
      access_key_id: 'id',
      secret_key: secrets.make('sqs key'),
      default_region: 'r',
      endpoint: 'http://127.0.0.1:1',
    },
    google: { project_id: 'p', subscription_id: 's', service_account: account },
    kafka: {
      brokers: ['127.0.0.1:1'],
      consumer_group_id: 'g',
      topic_name: 't',
      auth: { type: 'plain', hash: '', username: 'u', password: secrets.make('kafka password'), tls: false },
    },
    amqp: {
      schema: 'amqp',
      host: '127.0.0.1',
      port: '1',
      queue: 'q',
      auth: { user: 'u', password: secrets.make('amqp password') },
    },
  };
  for (const [type, settings] of Object.entries(brokers))
    await app.project.post('/sources', {
      name: type,
      type: 'pub_sub',
      is_disabled: true,
      pub_sub: { type, workers: 1, [type]: settings },
    });
  const connection_url = `postgres://u:${secrets.makePlain('database password')}@127.0.0.1:1/d`;
  await app.project.post('/sources', {
    name: 'changes',
    type: 'db_change_stream',
    is_disabled: true,
    db_change_stream: { connection_url, tables: ['public.t'] },
  });
  const hmac = { header: 'X-Sign', hash: 'SHA256', encoding: 'hex', secret: secrets.make('hmac secret') };
  const basic_auth = { username: 'u', password: secrets.makePlain('source password') };
  const api_key = { header_name: 'X-Own-Key', header_value: secrets.makePlain('source key') };
  const forward_headers = ['Authorization', 'X-Own-Key', 'X-Trace'];
  const verifiers = [
    { type: 'hmac', hmac },
    { type: 'basic_auth', basic_auth },
    { type: 'api_key', api_key },
  ];
  return Promise.all(
    verifiers.map((verifier) =>
      app.project.post('/sources', { name: verifier.type, type: 'http', verifier, forward_headers }),
    ),
  );
}

/** Requests to each source, with credentials that it forwards; then with wrong ones. */
export async function sendToSources({ app, secrets }: Scene, sources: Json[]): Promise<void> {
  const body = '{"from":"outside"}';
  for (const { mask_id, verifier } of sources) {
    const basic = `${verifier.basic_auth?.username}:${verifier.basic_auth?.password}`;
    if (verifier.type === 'basic_auth') secrets.add('sent basic', Buffer.from(basic).toString('base64'));
    const good: Record<string, string> = {
      'X-Sign': createHmac('sha256', verifier.hmac?.secret ?? '')
        .update(body)
        .digest('hex'),
      'X-Own-Key': verifier.api_key?.header_value ?? secrets.makePlain('sent to a source by key'),
      Authorization:
        verifier.type === 'basic_auth'
          ? `Basic ${Buffer.from(basic).toString('base64')}`
          : `Bearer ${secrets.makePlain(`sent to ${verifier.type}`)}`,
      'X-Trace': 'seen',
    };
    // A source of another kind does not know this header for a credential.
    if (verifier.type !== 'api_key') delete good['X-Own-Key'];
    await ingest(app, mask_id, { body, headers: good, status: 200 });
    const wrong = secrets.makePlain(`wrong for ${verifier.type}`);
    const headers = { 'X-Sign': wrong, 'X-Own-Key': wrong, Authorization: `Basic ${wrong}` };
    await ingest(app, mask_id, { body, headers, status: 400 });
  }
}

async function ingest(
  app: TestApp,
  mask: string,
  { body, headers, status }: { body: string; headers: Record<string, string>; status: number },
): Promise<void> {
  const response = await fetch(`${app.url}/ingest/${mask}`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...headers },
  });
  expectEqual([response.status, mask], [status, mask]);
}

export async function usePortal({ app, secrets }: Scene): Promise<void> {
  for (const auth_type of ['static_token', 'refresh_token']) {
    const link = await app.project.post('/portal-links', {
      name: auth_type,
      owner_id: 'owner',
      auth_type,
      can_manage_endpoint: true,
    });
    secrets.add(`token of a portal, ${auth_type}`, link.token);
    if (auth_type === 'refresh_token') secrets.add('token for an hour', link.auth_key);
    const portal = new ApiClient(`${app.url}/portal-api`, link.auth_key || link.token);
    const { content } = await portal.get('/endpoints');
    if (content.length === 0) throw new Error('the portal shows no endpoints');
  }
}

export async function sendEvents({ app, receiver, secrets }: Scene): Promise<void> {
  const custom_headers = {
    Authorization: `Bearer ${secrets.makePlain('header of an event')}`,
    'X-Api-Key': secrets.makePlain('key of an event'),
    Cookie: `session=${secrets.makePlain('cookie of an event')}`,
    'X-Shop-Token': secrets.makePlain('token of an event'),
    'X-Note': 'for everybody',
  };
  await app.project.post('/events/broadcast', { event_type: 'a', data: {}, custom_headers });
  await app.project.post('/events/fanout', { event_type: 'a', owner_id: 'owner', data: {}, custom_headers });
  await app.project.post('/events/dynamic', {
    event_type: 'a',
    url: `${receiver.url}/echo/dynamic`,
    secret: secrets.make('secret of a dynamic event'),
    data: {},
    custom_headers,
  });
  const items = [
    {
      name: 'onboarded',
      url: `${receiver.url}/echo/onboarded`,
      auth_username: 'ann',
      auth_password: secrets.make('onboarded password'),
    },
  ];
  await completedJob(app.project, await app.project.post('/onboard', { items }, 202));
  const { content } = await app.project.get('/events?perPage=1');
  await app.project.put(`/events/${content[0].uid}/replay`, undefined, 200);
}

/** Nothing is under way any more: what could be written is written. */
export async function settled({ app }: Scene): Promise<void> {
  await eventually(() => app.database.query('select delivery_id from delivery_queue'), { length: 0 });
}

function expectEqual(actual: unknown, wanted: unknown): void {
  if (JSON.stringify(actual) !== JSON.stringify(wanted))
    throw new Error(`${JSON.stringify(actual)} is not ${JSON.stringify(wanted)}`);
}

/** A person who sets a password and a second factor, signs in and fails to. */
export async function usePeople({ app, secrets }: Scene): Promise<void> {
  const email = 'known@example.com';
  const { link } = await app.instance.post('/people', { email });
  const token = secrets.add('invitation', tokenOf(link));
  const password = secrets.make('password of a person');
  const used = await use(app.url, { token, password });
  const client = new SessionClient(app.url, cookieOf(used));
  secrets.add('session', client.cookie.split('=')[1] ?? '');
  const set = await setUpSecondFactor(client);
  secrets.add('raised session', set.client.cookie.split('=')[1] ?? '');
  secrets.add('second factor', set.secret);
  await signIn(app.url, { email, password, code: set.recoveryCodes[0] });
  await signIn(app.url, { email, password: secrets.make('wrong password'), code: '000000' });
  await use(app.url, { token: secrets.makePlain('wrong link').slice(0, 64), password });
}
