import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { DISCORD_KEY, moreSchemes } from '../support/samples/more-schemes.ts';
import { shared } from '../support/shared.ts';
import { storedRows } from '../support/stored-rows.ts';

/**
 * Requests of the shapes that providers send, signed here by what each documents, through the real route: accepted
 * as they are, and with any one bit of the body or the signature changed refused, with nothing stored.
 */
const app = await shared(startTestApp());

const SECRET = 'a shared secret';
const STANDARD_SECRET = `whsec_${Buffer.from('thirty-two bytes of signing key!').toString('base64')}`;

interface Provider {
  provider: string;
  secret: string;
  contentType: string;
  body: string;
  /** Headers; the first carries the signature. */
  headers(body: string, url: string): Record<string, string>;
  eventTypeLocation?: string;
  eventType?: string;
  /** The secret itself is the header: the body is not signed. */
  isBare?: true;
}

const hmac = (hash: string, key: string | Buffer, text: string) => createHmac(hash, key).update(text);
/** How long ago requests are signed. */
let agoSeconds = 0;
const seconds = () => String(Math.floor(Date.now() / 1000) - agoSeconds);

function standardHeaders(body: string): Record<string, string> {
  const [id, at] = ['msg_2KWPBgLlAfxdpx2AI54pPJ85f4W', seconds()];
  const key = Buffer.from(STANDARD_SECRET.slice('whsec_'.length), 'base64');
  const signature = hmac('sha256', key, `${id}.${at}.${body}`).digest('base64');
  return { 'webhook-signature': `v1,${signature}`, 'webhook-id': id, 'webhook-timestamp': at };
}

function sortedForm(body: string): string {
  return [...new URLSearchParams(body)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => name + value)
    .join('');
}

const gitlabPush = JSON.stringify({
  object_kind: 'push',
  event_name: 'push',
  before: '95790bf891e76fee5e1747ab589903a6a1f80f22',
  after: 'da1560886d4f094c3e6c9ef40349f7d38b5d27d7',
  ref: 'refs/heads/master',
  user_username: 'jsmith',
  project: { id: 15, name: 'Diaspora', path_with_namespace: 'mike/diaspora' },
  commits: [{ id: 'b6568db1bc1dcd7f8b4d5a946b0b91f9dacd7327', message: 'Update Catalan translation' }],
  total_commits_count: 4,
});

const providers: Record<string, Provider> = {
  'a GitHub push': {
    provider: 'github',
    secret: SECRET,
    contentType: 'application/json',
    body: JSON.stringify({
      ref: 'refs/heads/main',
      before: '6113728f27ae82c7b1a177c8d03f9e96e0adf246',
      after: '0d1a26e67d8f5eaf1f6ba5c57fc3c7d91ac0fd1c',
      repository: { id: 186853002, full_name: 'octo/hello', private: false },
      pusher: { name: 'octo', email: 'octo@example.com' },
      commits: [{ id: '0d1a26e', message: 'Änderung — „quoted“', added: [], modified: ['README.md'] }],
    }),
    headers: (body) => ({
      'x-hub-signature-256': `sha256=${hmac('sha256', SECRET, body).digest('hex')}`,
      'x-github-event': 'push',
      'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
    }),
  },
  'a Shopify order': {
    provider: 'shopify',
    secret: SECRET,
    contentType: 'application/json',
    body: '{"id":820982911946154508,"email":"jon@example.com","total_price":"388.00","line_items":[{"sku":"IPOD2008PINK","quantity":1}],"note":null}',
    headers: (body) => ({
      'x-shopify-hmac-sha256': hmac('sha256', SECRET, body).digest('base64'),
      'x-shopify-topic': 'orders/create',
      'x-shopify-shop-domain': 'example.myshopify.com',
    }),
  },
  'a Stripe event': {
    provider: 'stripe',
    secret: 'whsec_test_secret',
    contentType: 'application/json; charset=utf-8',
    body: '{\n  "id": "evt_1NG8Du2eZvKYlo2CUI79vXWy",\n  "object": "event",\n  "type": "charge.succeeded",\n  "data": {"object": {"id": "ch_1", "amount": 2000, "currency": "usd"}}\n}',
    headers: (body) => {
      const at = seconds();
      const v1 = hmac('sha256', 'whsec_test_secret', `${at}.${body}`).digest('hex');
      return { 'stripe-signature': `t=${at},v1=${v1}` };
    },
    eventTypeLocation: 'request.body.type',
    eventType: 'charge.succeeded',
  },
  'a Slack event': {
    provider: 'slack',
    secret: SECRET,
    contentType: 'application/json',
    body: JSON.stringify({
      token: 'z26uFbvR1xHJEdHE1OQiO6t8',
      team_id: 'T123ABC456',
      event: {
        type: 'app_mention',
        user: 'U123',
        text: 'What is the hour of the pearl?',
        ts: '1515449522.000016',
      },
      type: 'event_callback',
      event_id: 'Ev123ABC456',
    }),
    headers: slackHeaders,
    eventTypeLocation: 'request.body.event.type',
    eventType: 'app_mention',
  },
  'a tweet': {
    provider: 'twitter',
    secret: SECRET,
    contentType: 'application/json',
    body: JSON.stringify({
      for_user_id: '2244994945',
      tweet_create_events: [{ id_str: '1850', text: 'Hello', user: { screen_name: 'octo' } }],
    }),
    headers: (body) => ({
      'x-twitter-webhooks-signature': `sha256=${hmac('sha256', SECRET, body).digest('base64')}`,
    }),
    eventType: 'tweet_create_events',
  },
  'a GitLab push with a signing token': {
    provider: 'gitlab',
    secret: STANDARD_SECRET,
    contentType: 'application/json',
    body: gitlabPush,
    headers: (body) => ({ ...standardHeaders(body), 'x-gitlab-event': 'Push Hook' }),
  },
  'a GitLab push with a secret token': {
    provider: 'gitlab',
    secret: SECRET,
    contentType: 'application/json',
    body: gitlabPush,
    headers: () => ({ 'x-gitlab-token': SECRET, 'x-gitlab-event': 'Push Hook' }),
    isBare: true,
  },
  'a Twilio form': {
    provider: 'twilio',
    secret: 'twilio auth token',
    contentType: 'application/x-www-form-urlencoded',
    body: 'ToCountry=US&SmsMessageSid=SM1&NumMedia=0&Body=Ahoy%20%26+welcome&From=%2B14017122661&To=%2B15558675310&ApiVersion=2010-04-01',
    headers: (body, url) => ({
      'x-twilio-signature': hmac('sha1', 'twilio auth token', url + sortedForm(body)).digest('base64'),
    }),
    eventTypeLocation: 'request.body.ToCountry',
    eventType: 'US',
  },
  'a Standard Webhooks message': {
    provider: 'standard_webhooks',
    secret: STANDARD_SECRET,
    contentType: 'application/json',
    body: '{"type":"user.created","timestamp":"2026-11-03T20:26:10.344522Z","data":{"id":"1f81eb52-5198-4599-803e-771906343485"}}',
    headers: standardHeaders,
    eventTypeLocation: 'request.body.type',
    eventType: 'user.created',
  },
};

/** Bodies of the shapes that the other presets send, by what their documentation shows. */
const MORE: Record<string, { body(): string; eventType: string; isBare?: true }> = {
  paddle: {
    body: () =>
      '{"event_id":"evt_01","event_type":"transaction.billed","data":{"id":"txn_01","status":"billed"}}',
    eventType: 'transaction.billed',
  },
  zoom: {
    body: () =>
      '{"event":"meeting.started","payload":{"account_id":"AAAAAABBBB","object":{"id":"1234567890"}}}',
    eventType: 'meeting.started',
  },
  discord: {
    body: () => '{"version":1,"application_id":"1234","type":1.5,"event":{"type":"APPLICATION_AUTHORIZED"}}',
    eventType: 'APPLICATION_AUTHORIZED',
  },
  linear: {
    body: () => `{"action":"create","type":"Issue","data":{"id":"1"},"webhookTimestamp":${seconds()}000}`,
    eventType: 'Issue.create',
  },
  typeform: {
    body: () => '{"event_id":"LtWXD3crgy","event_type":"form_response","form_response":{"form_id":"lT4Z3j"}}',
    eventType: 'form_response',
  },
  hubspot: {
    body: () => '[{"eventId":1,"subscriptionType":"contact.creation","objectId":123,"changeSource":"CRM"}]',
    eventType: 'contact.creation',
  },
  square: {
    body: () => '{"merchant_id":"6SSW7HV8K2ST5","type":"payment.updated","event_id":"6a8f5f28","data":{}}',
    eventType: 'payment.updated',
  },
  intercom: {
    body: () => '{"type":"notification_event","topic":"conversation.user.created","id":"notif_1","data":{}}',
    eventType: 'conversation.user.created',
  },
  pagerduty: {
    body: () => '{"event":{"id":"01BWDWL3","event_type":"incident.triggered","data":{"id":"PGR0VU2"}}}',
    eventType: 'incident.triggered',
  },
  calendly: {
    body: () => '{"event":"invitee.created","payload":{"email":"test@example.com","status":"active"}}',
    eventType: 'invitee.created',
  },
  mailgun: { body: mailgunBody, eventType: 'opened', isBare: true },
};

function mailgunBody(): string {
  const [timestamp, token] = [seconds(), 'a8ce0edb2dd8301dee6c2405235584e45aa91d1e9f979f3de0'];
  const signature = hmac('sha256', SECRET, timestamp + token).digest('hex');
  return JSON.stringify({ signature: { timestamp, token, signature }, 'event-data': { event: 'opened' } });
}

const signedMore = (provider: string, body: string, url: string) =>
  moreSchemes({ secret: SECRET, body, url, seconds: seconds() }).find((one) => one.provider === provider)
    ?.headers ?? {};

async function sendMore(provider: string, change: (body: string) => string = (body) => body) {
  const secret = provider === 'discord' ? DISCORD_KEY : SECRET;
  const verifier = { type: 'hmac', hmac: { secret } };
  const source = await app.project.post('/sources', { name: provider, type: 'http', provider, verifier });
  const body = MORE[provider]?.body() ?? '';
  const headers = { 'content-type': 'application/json', ...signedMore(provider, body, source.url) };
  const { status } = await post(source, change(body), headers);
  const { content } = await app.project.get(`/events?sourceId=${source.uid}`);
  return { status, stored: content.map((event: Json) => [event.event_type, Object.keys(event.headers)]) };
}

test.each(Object.keys(MORE))(
  'a signed request of %s is stored with its type, a changed one is not',
  async (provider) => {
    const { status, stored } = await sendMore(provider);
    const [[eventType, names] = []] = stored;
    expect([status, eventType]).toEqual([200, MORE[provider]?.eventType]);
    const [signature = ''] = Object.keys(signedMore(provider, '', ''));
    expect(names?.map((name: string) => name.toLowerCase())).not.toContain(signature);
    const late = (body: string) => body.replace(/"timestamp":"\d+/, '"timestamp":"1403645220');
    const changed = await sendMore(provider, provider === 'mailgun' ? late : (body) => `${body} `);
    // Discord checks that a wrong signature is answered with 401.
    expect(changed).toEqual({ status: provider === 'discord' ? 401 : 400, stored: [] });
  },
);

test('Zoom and Discord ask about the URL, signed, and the question makes no event', async () => {
  const before = (await storedRows(app.database)).events;
  const ask = async (provider: 'zoom' | 'discord', body: string) => {
    const secret = provider === 'discord' ? DISCORD_KEY : SECRET;
    const verifier = { type: 'hmac', hmac: { secret } };
    const source = await app.project.post('/sources', { name: provider, type: 'http', provider, verifier });
    const headers = { 'content-type': 'application/json', ...signedMore(provider, body, source.url) };
    const [right, forged] = [await post(source, body, headers), await post(source, `${body} `, headers)];
    return [right.status, await right.text(), forged.status];
  };
  const encryptedToken = hmac('sha256', SECRET, 'qgg8vlvZRS6UYooatFL8Aw').digest('hex');
  const zoom = '{"event":"endpoint.url_validation","payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}}';
  expect(await ask('zoom', zoom)).toEqual([
    200,
    `{"plainToken":"qgg8vlvZRS6UYooatFL8Aw","encryptedToken":"${encryptedToken}"}`,
    400,
  ]);
  expect(await ask('discord', '{"version":1,"type":0}')).toEqual([204, '', 401]);
  expect(await ask('discord', '{"type":1}')).toEqual([200, '{"type":1}', 401]);
  expect((await storedRows(app.database)).events).toEqual(before);
});

test('Intercom looks with HEAD whether the URL is there; others have no such answer', async () => {
  const verifier = { type: 'hmac', hmac: { secret: SECRET } };
  const make = (provider: string) =>
    app.project.post('/sources', { name: provider, type: 'http', provider, verifier });
  const look = async (provider: string) =>
    (await fetch((await make(provider)).url, { method: 'HEAD' })).status;
  expect([await look('intercom'), await look('calendly')]).toEqual([200, 400]);
});

function slackHeaders(body: string): Record<string, string> {
  const at = seconds();
  const signature = `v0=${hmac('sha256', SECRET, `v0:${at}:${body}`).digest('hex')}`;
  return { 'x-slack-signature': signature, 'x-slack-request-timestamp': at };
}

const makeSource = ({ provider, secret, eventTypeLocation = '' }: Provider): Promise<Json> =>
  app.project.post('/sources', {
    name: provider,
    type: 'http',
    provider,
    event_type_location: eventTypeLocation,
    verifier: { type: 'hmac', hmac: { secret, header: '', hash: '', encoding: '' } },
  });

const post = (source: Json, body: string | Buffer, headers: Record<string, string>): Promise<Response> =>
  fetch(source.url, { method: 'POST', body, headers });

/** The text with one bit of one of its characters changed. */
function flipped(text: string, at: number): Buffer {
  const bytes = Buffer.from(text);
  bytes[at] = (bytes[at] as number) ^ 1;
  return bytes;
}

test.each(Object.entries(providers))('%s is accepted and stored with its type', async (_, provider) => {
  const source = await makeSource(provider);
  const headers = { 'content-type': provider.contentType, ...provider.headers(provider.body, source.url) };
  const answer = await post(source, provider.body, headers);
  expect([answer.status, await answer.json()]).toMatchObject([200, { status: true }]);
  const { content } = await app.project.get(`/events?sourceId=${source.uid}`);
  expect(content).toHaveLength(1);
  expect(content[0].event_type).toBe(provider.eventType ?? source.mask_id);
  const [signature = ''] = Object.keys(provider.headers(provider.body, source.url));
  const storedNames = Object.keys(content[0].headers).map((name) => name.toLowerCase());
  expect(storedNames).not.toContain(signature);
});

test.each(Object.entries(providers))(
  '%s with one bit changed is refused and not stored',
  async (_, provider) => {
    const source = await makeSource(provider);
    const before = await storedRows(app.database);
    const { body } = provider;
    const headers = { 'content-type': provider.contentType, ...provider.headers(body, source.url) };
    const [name = ''] = Object.keys(provider.headers(body, source.url));
    const signature = provider.headers(body, source.url)[name] ?? '';
    const places = (text: string) => [0, 1, 2, 3].map((n) => Math.floor((n * (text.length - 2)) / 3));
    const forged: [Buffer, Record<string, string>][] = [
      // The last character of base64 may hold bits that stand for nothing, so the signature's places end before it.
      ...places(signature.slice(0, -2)).map((at): [Buffer, Record<string, string>] => [
        Buffer.from(body),
        { ...headers, [name]: flipped(signature, at).toString('latin1') },
      ]),
      ...(provider.isBare === true ? [] : places(body)).map((at): [Buffer, Record<string, string>] => [
        flipped(body, at),
        headers,
      ]),
      [Buffer.from(body), { 'content-type': provider.contentType }],
    ];
    for (const [bytes, given] of forged) {
      const answer = await post(source, bytes, given);
      expect([answer.status, ((await answer.json()) as Json).code]).toEqual([400, 'verification_failed']);
    }
    expect(await storedRows(app.database)).toEqual(before);
  },
);

test.each([
  ['slack', 'a Slack event', 'app_mention'],
  ['twitter', 'a tweet', 'tweet_create_events'],
  ['standard_webhooks', 'a Standard Webhooks message', 'user.created'],
  ['github', 'a GitHub push', 'push'],
  ['gitlab', 'a GitLab push with a secret token', 'push'],
  ['stripe', 'a Stripe event', 'charge.succeeded'],
  ['shopify', 'a Shopify order', 'orders/create'],
])(
  'a new source of %s takes the event type from where the provider says it',
  async (name, example, eventType) => {
    const { secret, contentType, body, headers } = providers[example] as Provider;
    const verifier = { type: 'hmac', hmac: { secret, header: '', hash: '', encoding: '' } };
    const source = await app.project.post('/sources', { name, type: 'http', provider: name, verifier });
    const answer = await post(source, body, { 'content-type': contentType, ...headers(body, source.url) });
    expect(answer.status).toBe(200);
    const { content } = await app.project.get(`/events?sourceId=${source.uid}`);
    expect(content.map((event: Json) => event.event_type)).toEqual([eventType]);
  },
);

test('a Twitter request without such a field gets the mask id as its type', async () => {
  const { secret, headers } = providers['a tweet'] as Provider;
  const source = await makeSource({ ...(providers['a tweet'] as Provider), secret });
  for (const body of ['{"for_user_id":"1"}', '["tweet_create_events"]', '{"tweet_create_events ":[]}']) {
    const answer = await post(source, body, {
      'content-type': 'application/json',
      ...headers(body, source.url),
    });
    expect(answer.status).toBe(200);
  }
  const { content } = await app.project.get(`/events?sourceId=${source.uid}`);
  expect(content.map((event: Json) => event.event_type)).toEqual(Array(3).fill(source.mask_id));
});

test('Slack’s url_verification is answered with its challenge if it is signed, and makes no event', async () => {
  const source = await makeSource({ ...(providers['a Slack event'] as Provider), eventTypeLocation: '' });
  const body = JSON.stringify({
    token: 'Jhj5',
    challenge: '3eZbrw1aBm2rZgRNFdxV2595E9CY',
    type: 'url_verification',
  });
  const before = await storedRows(app.database);
  const answer = await post(source, body, { 'content-type': 'application/json', ...slackHeaders(body) });
  expect([answer.status, await answer.text()]).toEqual([200, '3eZbrw1aBm2rZgRNFdxV2595E9CY']);
  const forged = await post(source, `${body} `, {
    'content-type': 'application/json',
    ...slackHeaders(body),
  });
  expect(forged.status).toBe(400);
  expect(await storedRows(app.database)).toEqual(before);
});

test.each(['stripe', 'slack', 'standard_webhooks'])(
  'a request of %s from long ago is refused',
  async (name) => {
    const provider = Object.values(providers).find((each) => each.provider === name) as Provider;
    const source = await makeSource(provider);
    const signedAgo = (ago: number) => {
      agoSeconds = ago;
      const headers = provider.headers(provider.body, source.url);
      agoSeconds = 0;
      return post(source, provider.body, { 'content-type': provider.contentType, ...headers });
    };
    expect((await signedAgo(3600)).status).toBe(400);
    expect((await signedAgo(0)).status).toBe(200);
  },
);

test.each([
  ['github', 'X-GitHub-Event', 'push'],
  ['shopify', 'X-Shopify-Topic', 'orders/create'],
])('a new source of %s has the event type location %s by default', async (name, header, eventType) => {
  const found = Object.values(providers).find(({ provider }) => provider === name) as Provider;
  const verifier = { type: 'hmac', hmac: { secret: found.secret } };
  const source = await app.project.post('/sources', { name, type: 'http', provider: name, verifier });
  expect(source.event_type_location).toBe(`request.header.${header}`);
  const typed = { 'content-type': found.contentType, ...found.headers(found.body, source.url) };
  const { [header.toLowerCase()]: _, ...untyped } = typed as Record<string, string>;
  for (const headers of [typed, untyped])
    expect((await post(source, found.body, headers as Record<string, string>)).status).toBe(200);
  const { content } = await app.project.get(`/events?sourceId=${source.uid}`);
  // A request without the header is taken too, under the type of any source without a location.
  expect(content.map((event: Json) => event.event_type)).toEqual([source.mask_id, eventType]);
});
