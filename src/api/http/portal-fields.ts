import { endpointFields } from '../../domain/resources/endpoint-fields.ts';
import { portalNames } from '../../domain/resources/fields.ts';
import { subscriptionFields } from '../../domain/resources/subscription-fields.ts';

/**
 * The fields of responses that portal callers see as they are, by name. All other text is masked (portal-view.ts), so a
 * new field is hidden until it is listed here, or its description says that portal callers see it.
 */
export const SHOWN: ReadonlySet<string> = new Set([
  ...[endpointFields, subscriptionFields].flatMap(portalNames),
  // Ids and names.
  'uid',
  'project_id',
  'endpoint_id',
  'source_id',
  'subscription_id',
  'device_id',
  'event_id',
  'event_delivery_id',
  'worst_endpoint_id',
  'worst_endpoint_name',
  'filter_id',
  'app_id',
  'duplicate_of',
  'msg_id',
  'endpoint_name',
  'host_name',
  'title',
  'category',
  // Pages of lists.
  'next_page_cursor',
  'prev_page_cursor',
  // Endpoints. The certificate and the public key are not secret, other than their private keys.
  'target_url',
  'addresses',
  'content_type',
  'status',
  'type',
  'cb_state',
  'client_cert',
  'public_key',
  // Subscriptions: their filters, and why one matches or does not.
  'event_type',
  'event_types',
  'threshold',
  'body',
  'headers',
  'query',
  'path',
  'raw_body',
  'raw_headers',
  'raw_query',
  'raw_path',
  'field',
  'scope',
  'operator',
  'expected',
  'actual',
  'reason',
  // Events and deliveries, with the payload that the endpoint receives.
  'cancelled',
  'data',
  'raw',
  'metadata',
  'payload',
  'idempotency_key',
  'url_path',
  'url_query_params',
  'failure_reason',
  'latency',
  'outcome',
  'last_outcome',
  'period',
  'json_schema',
  'value',
  // Attempts, and deliveries that consumers fetch.
  'method',
  'http_status',
  'ip_address',
  'response_data',
  'api_version',
  'error',
  'lease',
  // Trials of functions.
  'before',
  'after',
  'log',
  'function_error',
  // The token that the caller itself has.
  'token',
  'auth_key',
]);
