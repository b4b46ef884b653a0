import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** Answers of Convoy's public API, as its documentation and its handlers have them, served from a socket. */
const PROJECT = '01H9ZZPROJECT0000000000000';
const KEY = 'CO.mask.secret';
const times = { created_at: '2024-01-31T12:00:00Z', updated_at: '2024-01-31T12:00:00Z', deleted_at: null };

const billing = {
  uid: '01H9ZZENDPOINT000000000000',
  project_id: PROJECT,
  owner_id: '',
  url: 'http://127.0.0.1:9/billing',
  name: 'billing',
  secrets: [{ uid: '01H9ZZSECRET0000000000000', value: 'the secret of convoy', expires_at: null, ...times }],
  advanced_signatures: true,
  description: 'Invoices',
  slack_webhook_url: '',
  support_email: '',
  content_type: 'application/json',
  http_timeout: 30,
  rate_limit: 0,
  rate_limit_duration: 0,
  events: 3,
  status: 'active',
  authentication: null,
  failure_rate: 0,
  ...times,
};

/** Thirty endpoints of ten owners, each on a path of its own. */
const endpoints = Array.from({ length: 30 }, (_, n) =>
  n === 0
    ? billing
    : {
        ...billing,
        uid: `01H9ZZENDPOINT0000000000${String(n).padStart(2, '0')}`,
        name: `endpoint ${n}`,
        url: `http://127.0.0.1:9/${n}`,
        owner_id: `owner-${n % 10}`,
        // Read from the database, an endpoint without authentication has an empty object.
        authentication:
          n === 1 ? { type: 'basic_auth', basic_auth: { username: 'ann', password: '[REDACTED]' } } : {},
        secrets: [
          ...(n === 2 ? [{ ...billing.secrets[0], expires_at: '2030-01-01T00:00:00Z' }] : []),
          { ...billing.secrets[0], value: `secret ${n}` },
        ],
      },
);

const source = {
  uid: '01H9ZZSOURCE00000000000000',
  project_id: PROJECT,
  mask_id: 'abcdefgh',
  name: 'github',
  type: 'http',
  url: 'https://convoy.example.com/ingest/abcdefgh',
  provider: 'github',
  is_disabled: false,
  verifier: {
    type: 'hmac',
    hmac: { header: 'X-Hub-Signature-256', hash: 'SHA256', secret: 'of github', encoding: 'hex' },
    basic_auth: null,
    api_key: null,
  },
  custom_response: { body: '', content_type: '' },
  provider_config: null,
  forward_headers: null,
  pub_sub: { type: '', workers: 0, sqs: null, google: null, kafka: null, amqp: null },
  idempotency_keys: null,
  event_type_location: '',
  body_function: null,
  header_function: null,
  ...times,
};

const broker = (n: number, name: string, pub_sub: object) => ({
  ...source,
  uid: `01H9ZZSOURCE00000000000${n}00`,
  name,
  type: 'pub_sub',
  url: '',
  provider: '',
  verifier: { type: 'noop', hmac: null, basic_auth: null, api_key: null },
  pub_sub: { type: '', workers: 1, sqs: null, google: null, kafka: null, amqp: null, ...pub_sub },
});

const amqp = {
  schema: 'amqp',
  host: '127.0.0.1',
  port: '9',
  queue: 'orders',
  auth: { user: 'guest', password: 'of amqp' },
  vhost: null,
  routingKey: '',
  deadLetterExchange: null,
};

const sources = [
  source,
  // Some versions leave the exchange out, others send null or an empty text.
  broker(1, 'orders', { type: 'amqp', amqp }),
  broker(2, 'bound', { type: 'amqp', amqp: { ...amqp, bindedExchange: 'shop', routingKey: 'orders.*' } }),
  broker(3, 'clicks', {
    type: 'kafka',
    kafka: { brokers: ['127.0.0.1:9'], consumer_group_id: 'shop', topic_name: 'clicks', auth: null },
  }),
  {
    ...broker(4, 'old', {
      type: 'sqs',
      sqs: { queue_name: 'q', access_key_id: 'a', secret_key: 's', default_region: 'eu-west-1' },
    }),
    is_disabled: true,
  },
];

const invoices = {
  uid: '01H9ZZSUBSCRIPTION00000000',
  project_id: PROJECT,
  name: 'invoices',
  type: 'api',
  status: 'active',
  function: null,
  delivery_mode: 'at_least_once',
  endpoint_metadata: { uid: billing.uid, name: billing.name, url: billing.url, secrets: null },
  source_metadata: { uid: source.uid, name: source.name, verifier: source.verifier },
  device_metadata: null,
  filter_config: {
    event_types: ['invoice.paid'],
    filter: { is_flattened: true, headers: {}, body: { amount: { $gte: 5 } }, query: {}, path: {} },
  },
  ...times,
};

const subscriptions = Array.from({ length: 40 }, (_, n) => {
  const { uid, name, url } = endpoints[n % 30] as typeof billing;
  return n === 0
    ? invoices
    : {
        ...invoices,
        uid: `01H9ZZSUBSCRIPTION000000${String(n).padStart(2, '0')}`,
        name: `subscription ${n}`,
        endpoint_metadata: { uid, name, url, secrets: null },
        source_metadata: null,
        filter_config: {
          event_types: [n < 30 ? 'invoice.paid' : 'order.made'],
          filter: { is_flattened: true, headers: {}, body: {}, query: {}, path: {} },
        },
      };
});

const filter = {
  uid: '01H9ZZFILTER00000000000000',
  subscription_id: invoices.uid,
  event_type: 'invoice.paid',
  enabled_at: '2024-01-31T12:00:00Z',
  headers: {},
  body: { amount: { $gte: 5 } },
  query: {},
  path: {},
  raw_headers: {},
  raw_body: { amount: { $gte: 5 } },
  raw_query: {},
  raw_path: {},
};

const project = {
  uid: PROJECT,
  name: 'shop',
  organisation_id: '01H9ZZORGANISATION00000000',
  type: 'outgoing',
  logo_url: '',
  config: {
    max_payload_read_size: 51_200,
    replay_attacks_prevention_enabled: true,
    add_event_id_trace_headers: false,
    disable_endpoint: false,
    multiple_endpoint_subscriptions: true,
    search_policy: '720h',
    retention_policy_enabled: false,
    ratelimit: { count: 1000, duration: 60 },
    strategy: { type: 'linear', duration: 100, retry_count: 10 },
    signature: {
      header: 'X-Convoy-Signature',
      versions: [
        { uid: '01H9ZZVERSION0000000000000', hash: 'SHA256', encoding: 'hex', created_at: times.created_at },
      ],
    },
    ssl: { enforce_secure_endpoints: false },
    meta_event: {
      is_enabled: false,
      type: 'http',
      event_type: [],
      url: '',
      secret: 'of meta events',
      pub_sub: {},
    },
    request_id_header: '',
    verify_dynamic_events: false,
  },
  statistics: null,
  retained_events: 0,
  ...times,
};

const eventTypes = [
  {
    uid: '01H9ZZTYPE0000000000000000',
    name: '*',
    category: '',
    description: '',
    json_schema: {},
    deprecated_at: null,
  },
  {
    uid: '01H9ZZTYPE0000000000000001',
    name: 'invoice.paid',
    category: '',
    description: 'Paid',
    json_schema: {},
    deprecated_at: null,
  },
];

const PER_PAGE = 20;

/** A page of a list. The cursor is a place. */
function page(content: object[], cursor: string | null) {
  const from = Number(cursor ?? 0);
  const to = from + PER_PAGE;
  return {
    content: content.slice(from, to),
    pagination: {
      per_page: PER_PAGE,
      has_next_page: to < content.length,
      has_prev_page: from > 0,
      prev_page_cursor: '',
      next_page_cursor: String(to),
    },
  };
}

const lists: Record<string, object[]> = {
  '/endpoints': endpoints,
  '/sources': sources,
  '/subscriptions': [...subscriptions, { ...invoices, uid: '01H9ZZCLI', type: 'cli' }],
};

const answers: Record<string, unknown> = {
  '': project,
  '/event-types': eventTypes,
  ...Object.fromEntries(
    subscriptions.flatMap((one) => [
      [`/subscriptions/${one.uid}`, one],
      [`/subscriptions/${one.uid}/filters`, one === invoices ? [filter] : []],
    ]),
  ),
};

export interface RecordedConvoy {
  url: string;
  key: string;
  project: string;
  /** Requests that would change something. */
  writes: string[];
  /** Every request, with the text of its headers. */
  requests: string[];
  stop(): Promise<void>;
}

const NOWHERE = 'http://127.0.0.1:9/';

/** `receiver`: its endpoints are paths of this address. Without one they are nowhere. */
export async function startRecordedConvoy(receiver = NOWHERE): Promise<RecordedConvoy> {
  const writes: string[] = [];
  const requests: string[] = [];
  const here = (text: string) => text.replaceAll(NOWHERE, receiver);
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request;
    requests.push(`${method} ${url} ${JSON.stringify(headers)}`);
    if (method !== 'GET') writes.push(`${method} ${url}`);
    const { pathname, searchParams } = new URL(url, 'http://convoy');
    const path = pathname.replace(`/api/v1/projects/${PROJECT}`, '');
    const answerWith = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(here(JSON.stringify(body)));
    if (headers.authorization !== `Bearer ${KEY}`)
      return void answerWith(401, { status: false, message: 'authorization failed' });
    if (method === 'POST' && path === '/events/fanout') {
      void json(request).then(async (event) => {
        await deliver(event as FanOut, here);
        answerWith(201, { status: true, message: 'Event created successfully', data: null });
      });
      return;
    }
    const list = lists[path];
    const answer = list === undefined ? answers[path] : page(list, searchParams.get('next_page_cursor'));
    if (answer === undefined) answerWith(404, { status: false, message: 'not found' });
    else answerWith(200, { status: true, message: 'fetched successfully', data: answer });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key: KEY,
    project: PROJECT,
    writes,
    requests,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface FanOut {
  owner_id: string;
  event_type: string;
  data: object;
  idempotency_key: string;
}

/** Sends an event to the endpoints of its owner, as a Convoy does. */
async function deliver(event: FanOut, here: (text: string) => string): Promise<void> {
  for (const { endpoint_metadata, filter_config } of subscriptions) {
    const endpoint = endpoints.find(({ uid }) => uid === endpoint_metadata.uid);
    if (endpoint?.owner_id !== event.owner_id) continue;
    if (!filter_config.event_types.includes(event.event_type)) continue;
    await fetch(here(endpoint.url), {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-convoy-idempotency-key': event.idempotency_key },
      body: JSON.stringify(event.data),
    });
  }
}
