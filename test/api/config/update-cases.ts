import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ApiClient, Json } from '../../support/client.ts';

/** Two values for every field that an update can name, and what its empty value does. */
export interface Field {
  /** The first value of the resource, and another value. */
  values: readonly [unknown, unknown];
  /** How the resource shows them, where not as they were given. */
  as?: readonly [unknown, unknown];
  /** Where it shows them, if not under the name of the field. */
  shown?: (data: Json) => unknown;
  /** `leaves`: what is shown after the empty value; none of the three: there is no empty value. */
  empty?: { given: unknown; leaves?: unknown; keeps?: true; refused?: true };
}

export interface Resource {
  operation: string;
  status: number;
  /** Makes a resource with the fields given; returns its path and the answer. */
  make(client: ApiClient, fields: Json): Promise<{ path: string; answer: Json }>;
  read?(client: ApiClient, path: string): Promise<Json>;
  fields(ids: { endpoint: string; other: string; source: string; second: string }): Record<string, Field>;
}

const field = (first: unknown, next: unknown, rest: Omit<Field, 'values'> = {}): Field => ({
  values: [first, next],
  ...rest,
});
const leaves = (value: unknown, given: unknown = '') => ({ empty: { given, leaves: value } });
const refuses = (given: unknown = '') => ({ empty: { given, refused: true as const } });
const keeps = (given: unknown = '') => ({ empty: { given, keeps: true as const } });
const ZERO = leaves(0, 0);

const code = (name: string) => `function transform(payload) { return payload; } // ${name}`;
const apiKey = (header_value: string) => ({
  type: 'api_key',
  api_key: { header_name: 'x-key', header_value },
});
const hmac = (secret: string) => ({
  type: 'hmac',
  hmac: { header: 'x-sign', hash: 'SHA256', encoding: 'hex', secret },
});
const NO_VERIFIER = { type: 'noop', hmac: null, basic_auth: null, api_key: null };
const certificate = (name: string) => ({
  client_cert: readFileSync(`test/support/certificates/${name}.pem`, 'utf8'),
  client_key: readFileSync(`test/support/certificates/${name}.key`, 'utf8'),
});
const kafka = (topic_name: string) => ({
  type: 'kafka',
  workers: 2,
  kafka: {
    brokers: ['127.0.0.1:9092'],
    topic_name,
    consumer_group_id: 'group',
    auth: { type: 'plain', hash: '', username: 'u', password: 'p', tls: false },
  },
});
const NONE = { sqs: null, google: null, kafka: null, amqp: null };
const without = (fields: Json, name: string): Json =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name));
const created = async (client: ApiClient, path: string, fields: Json) => {
  const answer = await client.post(path, fields);
  return { path: `${path}/${answer.uid}`, answer };
};

const endpoint: Resource = {
  operation: 'PUT /api/v1/projects/{projectID}/endpoints/{endpointID}',
  status: 202,
  make: (client, fields) => created(client, '/endpoints', fields),
  fields: () => ({
    name: field('first', 'next', refuses()),
    url: field('http://127.0.0.1:9/first', 'http://127.0.0.1:9/next', refuses()),
    description: field('first', 'next', leaves('')),
    owner_id: field('first', 'next', leaves('')),
    advanced_signatures: field(false, true),
    authentication: field(apiKey('first'), apiKey('next'), leaves(null, {})),
    mtls_client_cert: field(certificate('client'), certificate('expired-client'), leaves(undefined, {})),
    signing_key: field(
      { type: 'ed25519' },
      { type: 'ed25519' },
      {
        shown: (data) => data.signing_key?.type,
        as: ['ed25519', 'ed25519'],
        ...leaves(undefined, {}),
      },
    ),
    content_type: field('application/x-www-form-urlencoded', 'application/json', leaves('application/json')),
    cloudevents: field('structured', 'binary', leaves('')),
    http_timeout: field(11, 12, ZERO),
    final_status_codes: field([410, 413], [400], leaves([], [])),
    rate_limit: field(5, 6, ZERO),
    rate_limit_duration: field(60, 61, ZERO),
    delivery: field('push', 'pull', keeps()),
    support_email: field('first@example.org', 'next@example.org', leaves('')),
    key: field(`first-${randomUUID()}`, `next-${randomUUID()}`, leaves('')),
    slack_webhook_url: field('http://127.0.0.1:9/slack', 'http://127.0.0.1:9/slack2', leaves('')),
    teams_webhook_url: field('http://127.0.0.1:9/teams', 'http://127.0.0.1:9/teams2', leaves('')),
    expires_at: field('2199-01-31T15:04:05.000Z', '2199-02-01T00:00:00.000Z', leaves(null, null)),
    verification: field('none', 'challenge', keeps()),
    envelope: field('standard', 'none', keeps()),
    webhook_id: field('event', 'delivery', keeps()),
    envelope_fields: field({ id: 'id', body: 'data' }, { event: 'type' }, leaves({}, {})),
    max_body_bytes: field(1024, 2048, ZERO),
    metadata: field({ plan: 'gold' }, { 'next.one': '' }, leaves({}, {})),
    user_agent: field('First/1.0', 'Next (2)', leaves('')),
    headers: field({ 'X-First': 'a' }, { 'X-Next': 'b' }, leaves({}, {})),
    // The cases of endpoints that call a URL: a broker stays away.
    broker: field({ type: '' }, {}, { shown: (data) => data.broker, as: [null, null] }),
    // Clients send false with every change; activate is what makes an endpoint active.
    is_disabled: field(true, false, { shown: (data) => data.status, as: ['inactive', 'inactive'] }),
    secret: field('the first secret', 'the next secret', {
      shown: (data) => data.secrets.map((secret: Json) => secret.value),
      as: [['the first secret'], ['the next secret']],
      ...keeps(),
    }),
  }),
};

const source: Resource = {
  operation: 'PUT /api/v1/projects/{projectID}/sources/{sourceID}',
  status: 202,
  make: (client, fields) => created(client, '/sources', fields),
  fields: () => ({
    name: field('first', 'next', refuses()),
    type: field('pub_sub', 'http', refuses()),
    is_disabled: field(true, false),
    body_function: field(code('first'), code('next'), leaves('')),
    header_function: field(code('first'), code('next'), leaves('')),
    idempotency_keys: field(
      ['request.body.id', 'request.header.x-id', 'request.query.id'],
      ['request.body.uid'],
      leaves([], []),
    ),
    event_type_location: field('request.body.type', 'request.body.kind', leaves('')),
    forward_headers: field(['x-first', 'X-Second'], ['x-next'], leaves([], [])),
    cloudevents: field(false, true),
    unsigned_cloudevents: field(true, false),
    custom_response: field(
      { body: '<first/>', content_type: 'text/xml' },
      { body: 'next' },
      {
        as: [
          { body: '<first/>', content_type: 'text/xml' },
          { body: 'next', content_type: '' },
        ],
        ...leaves({ body: '', content_type: '' }, {}),
      },
    ),
    pub_sub: field(kafka('first'), kafka('next'), {
      as: [
        { ...NONE, ...kafka('first') },
        { ...NONE, ...kafka('next') },
      ],
      ...refuses({}),
    }),
    // Another type of source has this field, so it is ignored here. test/api/config/broker-sources.test.ts has its own.
    db_change_stream: field({}, { connection_url: 'postgres://u@h/d' }, { as: [null, null], ...keeps({}) }),
    // test/ingest/schedules.test.ts has a test of its own.
    schedule: field({}, { cron: '@daily' }, { as: [null, null], ...keeps({}) }),
    verifier: field(hmac('first'), hmac('next'), {
      as: [
        { ...NO_VERIFIER, ...hmac('first') },
        { ...NO_VERIFIER, ...hmac('next') },
      ],
      ...leaves(NO_VERIFIER, {}),
    }),
    rate_limit: field(5, 6, ZERO),
    rate_limit_duration: field(60, 61, ZERO),
    key: field(`first-${randomUUID()}`, `next-${randomUUID()}`, leaves('')),
  }),
};

const FILTER = { is_flattened: false, body: {}, headers: {}, query: {}, path: {} };

const subscription: Resource = {
  operation: 'PUT /api/v1/projects/{projectID}/subscriptions/{subscriptionID}',
  status: 202,
  make: (client, fields) => created(client, '/subscriptions', without(fields, 'app_id')),
  fields: (ids) => ({
    name: field('first', 'Ünïcode ✓', keeps()),
    endpoint_id: field(ids.endpoint, ids.other, {
      shown: (data) => data.endpoint_metadata.uid,
      ...keeps(),
    }),
    app_id: field(ids.endpoint, ids.other, { shown: (data) => data.endpoint_metadata.uid, ...keeps() }),
    source_id: field(ids.source, ids.second, {
      shown: (data) => data.source_metadata?.uid,
      ...leaves(undefined),
    }),
    function: field(code('first'), code('next'), leaves('')),
    delivery_mode: field('at_most_once', 'at_least_once', keeps()),
    ttl_seconds: field(60, 90, ZERO),
    key: field(`first-${randomUUID()}`, `next-${randomUUID()}`, leaves('')),
    alert_config: field(
      { count: 3, threshold: '1h30m' },
      { count: 4, threshold: '2h' },
      leaves(undefined, {}),
    ),
    rate_limit_config: field({ count: 3, duration: 60 }, { count: 4, duration: 61 }, leaves(undefined, {})),
    ordering: field(
      { key: 'endpoint', on_failure: 'hold' },
      { key: '$.headers.X-Account', on_failure: 'skip' },
      leaves(undefined, {}),
    ),
    batch: field(
      { max: 2, max_bytes: 2_000, max_wait_seconds: 1 },
      { max: 3 },
      {
        as: [
          { max: 2, max_bytes: 2_000, max_wait_seconds: 1 },
          // Others are the usual ones, not those of the first value.
          { max: 3, max_bytes: 1_000_000, max_wait_seconds: 5 },
        ],
        ...leaves(undefined, {}),
      },
    ),
    retry_config: field(
      { type: 'exponential', duration: '1h3m', retry_count: 3 },
      { type: 'linear', interval_seconds: 8 },
      {
        as: [
          { type: 'exponential', duration: 3780, retry_count: 3 },
          // As the project's strategy has it, not as the first value had it.
          { type: 'linear', duration: 8, retry_count: 9 },
        ],
        ...leaves(undefined, {}),
      },
    ),
    filter_config: field(
      { event_types: ['first', 'b.c'], filter: { body: { a: { $gt: 5 } }, headers: { h: 'x' } } },
      { event_types: ['first'], filter: { body: { a: 2 } } },
      {
        as: [
          {
            event_types: ['first', 'b.c'],
            filter: { ...FILTER, body: { a: { $gt: 5 } }, headers: { h: 'x' } },
          },
          { event_types: ['first'], filter: { ...FILTER, body: { a: 2 } } },
        ],
        ...leaves({ event_types: ['*'], filter: FILTER }, {}),
      },
    ),
  }),
};

const scope = (name: string): Field =>
  field({ a: 1 }, { a: 2 }, { shown: (data) => data[`raw_${name}`], ...leaves({}, {}) });
const filterFields: Record<string, Field> = {
  event_type: field('filtered.first', 'filtered.next', keeps()),
  enabled_at: field('2026-01-31T15:04:05.000Z', '2026-02-01T00:00:00.000Z', leaves(null, null)),
  is_flattened: field(true, false, { shown: () => undefined, as: [undefined, undefined] }),
  body: scope('body'),
  headers: scope('headers'),
  query: scope('query'),
  path: scope('path'),
};

const makeFilter = async (client: ApiClient, fields: Json) => {
  for (const name of ['filtered.first', 'filtered.next'])
    await client.raw('POST', '/event-types', { body: { name } });
  const { uid } = await client.post('/endpoints', { name: 'e', url: 'http://127.0.0.1:9/' });
  const of = await client.post('/subscriptions', { name: 's', endpoint_id: uid });
  return created(client, `/subscriptions/${of.uid}/filters`, without(fields, 'is_flattened'));
};

const filter: Resource = {
  operation: 'PUT /api/v1/projects/{projectID}/subscriptions/{subscriptionID}/filters/{filterID}',
  status: 200,
  make: makeFilter,
  fields: () => filterFields,
};

const eventType: Resource = {
  operation: 'PUT /api/v1/projects/{projectID}/event-types/{eventTypeID}',
  status: 201,
  make: (client, fields) => created(client, '/event-types', { name: `made.${Math.random()}`, ...fields }),
  read: async (client, path) =>
    (await client.get('/event-types')).find(({ uid }: Json) => path.endsWith(uid)),
  fields: () => ({
    category: field('first', 'next', leaves('')),
    description: field('first', 'next', leaves('')),
    json_schema: field({ type: 'object' }, { type: 'array' }, leaves(null, {})),
  }),
};

const portalLink: Resource = {
  operation: 'PUT /api/v1/projects/{projectID}/portal-links/{portalLinkID}',
  status: 202,
  make: (client, fields) => created(client, '/portal-links', fields),
  // Each read makes a fresh token for links of type refresh_token.
  read: async (client, path) => ({ ...(await client.get(path)), auth_key: '', url: '' }),
  fields: (ids) => ({
    name: field('first', 'next', refuses()),
    owner_id: field('owner', 'another owner', { shown: (data) => data.owner_id, ...keeps() }),
    // Gives endpoints to the owner; no list takes one away.
    endpoints: field([ids.endpoint], [ids.endpoint, ids.other], { shown: () => null, as: [null, null] }),
    can_manage_endpoint: field(true, false),
    can_create_events: field(true, false),
    can_retry: field(false, true),
    can_see_secrets: field(true, false, leaves(null, null)),
    can_edit_functions: field(true, false, leaves(null, null)),
    can_use_brokers: field(true, false),
    event_types: field(['first.*'], ['next'], leaves([], [])),
    auth_type: field('refresh_token', 'static_token', keeps()),
    expires_at: field('2999-01-31T15:04:05.000Z', '2999-02-01T00:00:00.000Z', leaves(null, null)),
  }),
};

const version = (uid: string) => ({
  uid,
  hash: 'SHA512',
  encoding: 'base64',
  created_at: '2026-01-01T00:00:00.000Z',
});

const project: Resource = {
  operation: 'PUT /api/v1/projects/{projectID}',
  status: 202,
  make: async (client, fields) => ({ path: '', answer: await client.put('', fields) }),
  fields: () => ({
    name: field(`first ${Math.random()}`, `next ${Math.random()}`, refuses()),
    logo_url: field('http://127.0.0.1:9/first', 'http://127.0.0.1:9/next', leaves('')),
    variables: field(
      { FIRST: 'x' },
      { NEXT: 'y' },
      {
        as: [{ FIRST: '***' }, { NEXT: '***' }],
        ...leaves({}, {}),
      },
    ),
    'config.max_payload_read_size': field(1000, 2000, refuses(0)),
    'config.replay_attacks_prevention_enabled': field(true, false),
    'config.add_event_id_trace_headers': field(true, false),
    'config.disable_endpoint': field(true, false),
    'config.hide_payload_from_viewers': field(true, false),
    'config.envelope': field('standard', 'none'),
    'config.user_agent': field('First/1.0', 'Next (2)', leaves('')),
    'config.require_second_factor': field(true, false),
    'config.multiple_endpoint_subscriptions': field(false, true),
    'config.verify_dynamic_events': field(true, false),
    'config.allow_unmatched_dynamic_urls': field(false, true),
    'config.schema_check': field('warn', 'refuse'),
    'config.search_policy': field('1h', '2h', leaves('')),
    'config.webhook_origin': field('first.example.com', 'next.example.com', leaves('')),
    'config.retention_policy.policy': field('100h', '200h', {
      ...leaves(''),
    }),
    'config.retention_policy.retention_policy_enabled': field(true, false),
    'config.ratelimit.count': field(1000, 2000, ZERO),
    'config.ratelimit.duration': field(10, 20, ZERO),
    'config.strategy.type': field('exponential', 'linear', refuses()),
    'config.strategy.duration': field(5, 6, refuses(0)),
    'config.strategy.retry_count': field(5, 6, refuses(0)),
    // The other fields of the strategy describe it.
    'config.strategy.schedule': field(['5s', '1m', '2m', '3m'], ['5s', '1m', '2m', '4m'], leaves([], [])),
    'config.disable_after': field('100h', '200h', leaves('')),
    'config.http_timeout': field(5, 6, refuses(0)),
    'config.final_status_codes': field([410, 413], [400], leaves([], [])),
    'config.ssl.enforce_secure_endpoints': field(true, false),
    'config.signature.header': field('X-First', 'X-Next', keeps()),
    'config.signature.versions': field([version('first')], [version('next')], keeps([])),
    'config.signature.schemes': field(['convoy'], ['standard'], leaves([], [])),
    'config.visible_headers': field(['X-First-Key'], ['X-Next-Key'], leaves([], [])),
    'config.request_id_header': field('X-First-Id', 'X-Next-Id', refuses()),
    'config.meta_event.is_enabled': field(true, false),
    'config.meta_event.type': field('http', 'http', leaves('')),
    'config.meta_event.event_type': field(['first'], ['next'], leaves([], [])),
    'config.meta_event.url': field('http://127.0.0.1:9/first', 'http://127.0.0.1:9/next', refuses()),
    'config.meta_event.secret': field('first', 'next'),
    // It has no effect.
    'config.meta_event.pub_sub': field({}, { type: 'sqs' }, { shown: () => null, as: [null, null] }),
    'config.circuit_breaker.sample_rate': field(5, 6, refuses(0)),
    'config.circuit_breaker.error_timeout': field(5, 6, refuses(0)),
    'config.circuit_breaker.failure_threshold': field(5, 6, refuses(0)),
    'config.circuit_breaker.success_threshold': field(5, 6, refuses(0)),
    'config.circuit_breaker.minimum_request_count': field(5, 6, refuses(0)),
    'config.circuit_breaker.observability_window': field(5, 6, refuses(0)),
    'config.circuit_breaker.consecutive_failure_threshold': field(5, 6, refuses(0)),
    'config.portal_brokers': field(true, false),
    'config.portal.title': field('First', 'Next', leaves('')),
    'config.portal.logo_url': field('https://a.example/1.png', 'https://a.example/2.png', leaves('')),
    'config.portal.logo_url_dark': field('https://a.example/3.png', 'https://a.example/4.png', leaves('')),
    'config.portal.font': field('Inter', 'Georgia, serif', leaves('')),
    'config.portal.accent': field('#112233', '#445566', leaves('')),
    'config.portal.radius': field(3, 9, ZERO),
    'config.portal.color_scheme': field('light', 'dark', refuses()),
    'config.portal.language': field('de', 'fr', leaves('')),
    'config.portal.frame_origins': field(['https://a.example'], ['https://b.example'], leaves([], [])),
  }),
};

export const updatable: readonly Resource[] = [
  endpoint,
  source,
  subscription,
  filter,
  eventType,
  portalLink,
  project,
];
