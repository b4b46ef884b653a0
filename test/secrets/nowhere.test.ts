import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../../src/platform/logger.ts';
import { startTestApp } from '../support/app.ts';
import { eventually } from '../support/eventually.ts';
import { type Received, Receiver } from '../support/servers/receiver.ts';
import { dump } from './dump.ts';
import { KnownSecrets } from './known-secrets.ts';
import {
  makeEndpoints,
  makeProjects,
  makeSources,
  type Scene,
  sendEvents,
  sendToSources,
  settled,
  usePeople,
  usePortal,
} from './scene.ts';

/** Everything that takes a secret is used once, failures included; then the secrets are looked for. */
let scene: Scene;
let token: string;
const logged: string[] = [];
const answers: string[] = [];

beforeAll(async () => {
  const secrets = new KnownSecrets();
  const receiver = await Receiver.start();
  token = secrets.makePlain('access token');
  receiver.answerAlways(answer);
  const mailPassword = secrets.makePlain('mail password');
  const log = createLogger('trace', { write: (line: string) => void logged.push(line) });
  const env = {
    POSTHORN_SECRET_KEY: secrets.make('secret key'),
    POSTHORN_OTHER_SECRET_KEY: secrets.make('other secret key'),
    POSTHORN_SMTP_URL: `smtp://ann:${mailPassword}@127.0.0.1:9`,
    POSTHORN_SMTP_FROM: 'alerts@example.com',
  };
  const app = await startTestApp(env, log);
  scene = { app, receiver, secrets };
  await makeProjects(scene);
  await makeEndpoints(scene);
  const sources = await makeSources(scene);
  await sendToSources(scene, sources);
  await usePortal(scene);
  await usePeople(scene);
  await sendEvents(scene);
  await refusals(scene);
  await settled(scene);
});

afterAll(async () => {
  await scene?.app.stop();
  await scene?.receiver.stop();
});

/** Gives back what it got, credentials included, and fails now and then, with them in its reason. */
function answer(request: Received, response: ServerResponse): void {
  if (request.path === '/token') {
    const asked = new URLSearchParams(request.body.toString());
    const isFirst = scene.receiver.requests.filter(({ path }) => path === '/token').length === 1;
    const failure = { error: asked.get('client_secret'), error_description: request.body.toString() };
    const good = { access_token: token, token_type: 'Bearer', expires_in: 3600 };
    response.writeHead(isFirst ? 400 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isFirst ? failure : good));
    return;
  }
  if (!request.path.startsWith('/echo')) {
    response.writeHead(request.path === '/meta' ? 200 : 500).end();
    return;
  }
  const sent = Object.entries(request.headers).filter(([name]) => !/^(webhook-|x-convoy-)/.test(name));
  const isFirst = scene.receiver.requests.filter(({ path }) => path === request.path).length === 1;
  const reason = (request.headers.authorization ?? 'no').slice(0, 200);
  response.writeHead(isFirst ? 500 : 200, reason, { 'x-echo': reason, 'set-cookie': `a=${token}` });
  response.end(JSON.stringify(sent));
}

/** Calls that are refused, each with a secret in it. */
async function refusals({ app, secrets }: Scene): Promise<void> {
  const secret = secrets.makePlain('refused');
  const pem = '-----BEGIN PRIVATE KEY-----';
  const endpoint = (fields: object) =>
    ['/endpoints', { name: 'e', url: 'http://127.0.0.1:9/', ...fields }] as const;
  const oauth2 = { url: 'http://127.0.0.1:9', client_id: 'c', authentication_type: 'client_assertion' };
  const calls: (readonly [string, unknown])[] = [
    endpoint({ secret: [secret] }),
    endpoint({ url: `http://ann:${secret}@127.0.0.1/` }),
    endpoint({ name: 'zero \u0000', secret }),
    endpoint({ slack_webhook_url: `ftp://x/${secret}` }),
    endpoint({ headers: { 'X-Bad': `${secret}\n` } }),
    endpoint({ headers: { Host: secret } }),
    endpoint({ slack_webhook_url: `http://127.0.0.1:9/\u0000${secret}` }),
    endpoint({
      authentication: { type: 'api_key', api_key: { header_name: 'a', header_value: `${secret}\n` } },
    }),
    endpoint({ authentication: { type: secret } }),
    endpoint({ authentication: { type: 'basic_auth', basic_auth: { username: 'u', password: { secret } } } }),
    endpoint({
      authentication: { type: 'oauth2', oauth2: { ...oauth2, signing_key: { kty: 'EC', d: secret } } },
    }),
    endpoint({ mtls_client_cert: { client_cert: secret, client_key: `${pem}\n${secret}` } }),
    ['/sources', { name: 's', type: 'http', verifier: { type: 'hmac', hmac: { secret: { secret } } } }],
    ['/sources', { name: 's', type: 'http', verifier: { type: 'hmac', hmac: { secret, hash: 'MD1' } } }],
    ['/sources', { name: 's', type: 'pub_sub', pub_sub: { type: 'sqs', sqs: { secret_key: secret } } }],
    [
      '/sources',
      { name: 's', type: 'pub_sub', pub_sub: { type: 'google', google: { service_account: `$${secret}` } } },
    ],
    ['/onboard', { items: [{ name: '', url: 'x', auth_username: 'u', auth_password: secret }] }],
    ['/events/broadcast', { event_type: 'a', data: {}, custom_headers: { Authorization: `${secret}\n` } }],
    ['/events/dynamic', { event_type: 'a', url: 'nowhere', data: {}, secret }],
    ['/endpoints', `{"secret": "${secret}" "url": 1}`],
    ['/endpoints', `{"secret": "${secret}`],
  ];
  for (const [path, body] of calls) await refused('POST', path, body);
  await refused('PUT', '', {
    name: 'default',
    config: { meta_event: { is_enabled: true, url: 'no', secret } },
  });
  for (const key of [`CO.${secret}`, `PRT.${secret}`, secret, `Bearer ${secret}`, `two ${secret}`]) {
    const response = await fetch(app.project.base, { headers: { authorization: key } });
    expect(response.status).toBe(401);
    answers.push(await response.text());
  }

  async function refused(method: string, path: string, body: unknown): Promise<void> {
    const response = await app.project.raw(method, path, { body });
    const text = await response.text();
    expect([response.status, method, path, body, text]).toEqual([400, method, path, body, text]);
    answers.push(text);
  }
}

test('the secrets reached their targets', async () => {
  const { receiver, secrets } = scene;
  const got = receiver.requests.map(
    ({ path, headers, body }) => `${path} ${JSON.stringify(headers)} ${body.toString()}`,
  );
  const wanted = ['basic credentials', 'api key header', 'client secret', 'access token', 'slack', 'teams'];
  const events = ['header of an event', 'key of an event', 'cookie of an event'];
  const variables = ['variable header', 'variable query'];
  const sources = ['sent basic', 'source key', 'sent to hmac', 'sent to api_key'];
  expect(secrets.foundIn(got.join('\n'))).toEqual(
    expect.arrayContaining([...wanted, ...events, ...variables, ...sources]),
  );
  expect(secrets.count).toBeGreaterThan(50);
});

test('a dump of the database contains none of them', async () => {
  const text = await dump(scene.app.database);
  expect(scene.secrets.foundIn(text)).toEqual([]);
  expect(text).not.toContain('PRIVATE KEY');
  expect(text).toContain('for everybody');
});

test('the log at level trace contains none of them', async () => {
  // Chats that answer 500 are tried for seventeen seconds; their last word is awaited, since it names the failure.
  await eventually(
    () => Promise.resolve(logged.join('')),
    (text) => ['mail', 'slack', 'teams'].every((channel) => text.includes(`"channel":"${channel}"`)),
  );
  expect(scene.secrets.foundIn(logged.join(''))).toEqual([]);
  expect(logged.length).toBeGreaterThan(20);
});

test('no response to a refused call contains one', () => {
  expect(answers.length).toBeGreaterThan(20);
  expect(scene.secrets.foundIn(answers.join('\n'))).toEqual([]);
});

test('no list shows a credential to a portal, or to any caller in an event or attempt', async () => {
  const { app, secrets } = scene;
  const pages = ['/events?perPage=100', '/meta-events?perPage=100'].map((path) => app.project.get(path));
  const { content } = await app.project.get('/eventdeliveries?perPage=100');
  const attempts = content.map(({ uid }: { uid: string }) =>
    app.project.get(`/eventdeliveries/${uid}/deliveryattempts`),
  );
  const shown = await Promise.all([...pages, ...attempts]);
  expect(secrets.foundIn(JSON.stringify(shown))).toEqual([]);
});
