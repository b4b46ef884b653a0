import {
  absentOr,
  boolean,
  type Check,
  fields,
  id,
  integer,
  listOf,
  mapOf,
  nothing,
  nullable,
  object,
  oneOf,
  text,
  time,
} from '../support/shape.ts';

/**
 * Every field of every resource of the interface, with its type. What it leaves open is as client libraries have it:
 * headers are lists of values on events and deliveries and texts on attempts, arrays are never null.
 */
const times = { created_at: time, updated_at: time, deleted_at: nullable(time) };
const texts = (...names: string[]) => Object.fromEntries(names.map((name) => [name, text]));
const headerValues = mapOf(listOf(text));
const headerTexts = mapOf(text);

const secret = fields({ ...texts('uid', 'value'), ...times, expires_at: nullable(time) });

export const endpoint = fields({
  uid: id,
  project_id: id,
  ...texts('owner_id', 'name', 'description', 'url', 'slack_webhook_url', 'support_email'),
  // `pending` is in the interface and never sent: a closed enum of one client does not know it.
  status: oneOf('active', 'inactive', 'paused'),
  advanced_signatures: boolean,
  authentication: nullable(
    fields({
      type: oneOf('api_key', 'basic_auth', 'oauth2'),
      api_key: absentOr(fields(texts('header_name', 'header_value'))),
    }),
  ),
  events: integer,
  failure_rate: integer,
  http_timeout: integer,
  rate_limit: integer,
  rate_limit_duration: integer,
  secrets: listOf(secret),
  ...times,
});

export const endpointSummary = fields({
  uid: id,
  project_id: id,
  ...texts('name', 'url', 'owner_id', 'support_email'),
  status: oneOf('active', 'inactive', 'paused'),
});

export const portalLink = fields({
  uid: id,
  project_id: id,
  ...texts('name', 'owner_id', 'token', 'url'),
  can_manage_endpoint: boolean,
  endpoints: listOf(id),
  endpoint_count: integer,
  endpoints_metadata: listOf(endpoint),
  ...times,
});

const kafkaAuth = fields({ ...texts('type', 'hash', 'username', 'password'), tls: boolean });
const pubSub = fields({
  type: oneOf('sqs', 'google', 'kafka', 'amqp', ''),
  workers: integer,
  sqs: nullable(fields(texts('access_key_id', 'default_region', 'queue_name', 'secret_key'))),
  google: nullable(fields(texts('project_id', 'service_account', 'subscription_id'))),
  kafka: nullable(
    fields({
      brokers: listOf(text),
      ...texts('consumer_group_id', 'topic_name'),
      auth: nullable(kafkaAuth),
    }),
  ),
  amqp: nullable(
    fields({
      ...texts('host', 'port', 'queue', 'schema', 'routingKey'),
      vhost: nullable(text),
      deadLetterExchange: nullable(text),
      bindedExchange: nullable(text),
      auth: nullable(fields(texts('user', 'password'))),
    }),
  ),
});

const verifier = fields({
  type: oneOf('noop', 'hmac', 'basic_auth', 'api_key'),
  api_key: nullable(fields(texts('header_name', 'header_value'))),
  basic_auth: nullable(fields(texts('username', 'password'))),
  hmac: nullable(fields(texts('encoding', 'hash', 'header', 'secret'))),
});

export const source = fields({
  uid: id,
  project_id: id,
  ...texts('name', 'mask_id', 'url', 'body_function', 'header_function', 'provider'),
  type: oneOf('http', 'rest_api', 'pub_sub', 'db_change_stream'),
  provider_config: nullable(fields({ twitter: fields({ crc_verified_at: nullable(time) }) })),
  is_disabled: boolean,
  idempotency_keys: listOf(text),
  forward_headers: listOf(text),
  custom_response: fields(texts('body', 'content_type')),
  pub_sub: pubSub,
  verifier,
  ...times,
});

const sourceSummary = fields({ uid: id, project_id: id, ...texts('name', 'type', 'provider') });

export const subscription = fields({
  uid: id,
  project_id: id,
  ...texts('name', 'function'),
  type: oneOf('api', 'cli'),
  alert_config: absentOr(fields({ count: integer, threshold: text })),
  rate_limit_config: absentOr(fields({ count: integer, duration: integer })),
  retry_config: absentOr(
    fields({ type: oneOf('linear', 'exponential'), retry_count: integer, duration: integer }),
  ),
  filter_config: fields({
    event_types: listOf(text),
    filter: fields({ body: object, headers: object, is_flattened: boolean }),
  }),
  endpoint_metadata: nullable(endpoint),
  source_metadata: nullable(source),
  device_metadata: nothing,
  ...times,
});

export const filter = fields({
  ...texts('uid', 'subscription_id', 'event_type'),
  body: object,
  headers: object,
  raw_body: object,
  raw_headers: object,
});

const eventFields: Record<string, Check> = {
  uid: id,
  project_id: id,
  ...texts('app_id', 'source_id', 'event_type', 'raw', 'metadata', 'url_query_params', 'idempotency_key'),
  endpoints: listOf(id),
  endpoint_metadata: listOf(endpointSummary),
  source_metadata: nullable(sourceSummary),
  headers: headerValues,
  data: object,
  is_duplicate_event: boolean,
  status: oneOf('Pending', 'Processing', 'Success', 'Retry', 'Failure'),
  acknowledged_at: time,
  ...times,
};

export const event = fields(eventFields);
export const listedEvent = fields({ ...eventFields, endpoint_metadata: absentOr(listOf(endpointSummary)) });

const deliveryStatus = oneOf('Scheduled', 'Processing', 'Discarded', 'Failure', 'Success', 'Retry');

const retryMetadata = fields({
  data: object,
  raw: text,
  strategy: oneOf('linear', 'exponential'),
  interval_seconds: integer,
  max_retry_seconds: integer,
  num_trials: integer,
  retry_limit: integer,
  next_send_time: nullable(time),
});

export const eventDelivery = fields({
  uid: id,
  project_id: id,
  event_id: id,
  endpoint_id: id,
  ...texts(
    'device_id',
    'subscription_id',
    'event_type',
    'description',
    'idempotency_key',
    'url_query_params',
  ),
  headers: headerValues,
  status: deliveryStatus,
  latency: text,
  latency_seconds: integer,
  cli_metadata: nothing,
  device_metadata: nothing,
  endpoint_metadata: nullable(endpoint),
  event_metadata: fields({ uid: id, event_type: text, created_at: time }),
  source_metadata: nullable(sourceSummary),
  metadata: retryMetadata,
  acknowledged_at: time,
  ...times,
});

export const deliveryAttempt = fields({
  uid: id,
  project_id: id,
  endpoint_id: id,
  msg_id: id,
  ...texts('api_version', 'url', 'method', 'ip_address', 'http_status', 'error', 'response_data'),
  status: boolean,
  request_http_header: headerTexts,
  response_http_header: headerTexts,
  ...times,
});

export const metaEvent = fields({
  uid: id,
  project_id: id,
  event_type: text,
  status: deliveryStatus,
  metadata: retryMetadata,
  attempt: nullable(
    fields({ request_http_header: headerTexts, response_data: text, response_http_header: headerTexts }),
  ),
  ...times,
});

export const pageOf = (item: Check): Check =>
  fields({
    content: listOf(item),
    pagination: fields({
      has_next_page: boolean,
      has_prev_page: boolean,
      next_page_cursor: text,
      per_page: integer,
      prev_page_cursor: text,
    }),
  });
