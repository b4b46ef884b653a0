// Made from the routes of the server by `npm run generate`. Changes here are lost.

export interface WholeEvent extends Event {
  endpoint_metadata: Endpoint[];
}

export interface WholeEventDelivery extends EventDelivery {
  event_metadata: Event;
  /** The delivery of its ordering key that has to end first; null if it waits for none that the caller may see. */
  waits_behind: {
    event_delivery_id: string;
    status: 'Scheduled' | 'Processing' | 'Discarded' | 'Failure' | 'Success' | 'Retry';
    /** Why it waits, and until when if that is known; null if it does not wait. */
    waiting_for: {
      gate:
        | 'moving'
        | 'pending'
        | 'paused'
        | 'circuit_breaker'
        | 'rate_limit'
        | 'delayed'
        | 'retry'
        | 'order'
        | 'batch'
        | 'sending'
        | 'pull'
        | 'node';
      until: string | null;
    } | null;
    held_at: string | null;
    /** The key, for `POST /ordering-keys/skip`. */
    ordering_key_id: string;
    /** The acts that its state allows. */
    acts: Array<'resend' | 'skip' | 'send_now' | 'cancel'>;
  } | null;
}

export interface AuditEntry {
  uid: string;
  /** Null: a change of the instance itself. */
  project_id: string | null;
  actor: {
    type: 'person' | 'api_key' | 'portal_link' | 'instance_key' | 'cli' | 'instance';
    uid: string | null;
    /** The session of a person, or the key of a command. */
    credential: string | null;
    /** Where the call came from. */
    address: string | null;
    /** The tool of an assistant that made the call, such as `mcp/retry_write`. */
    via: string | null;
  };
  action:
    | 'project.created'
    | 'project.updated'
    | 'project.deleted'
    | 'key.created'
    | 'key.revoked'
    | 'signing_key.created'
    | 'signing_key.deleted'
    | 'endpoint.created'
    | 'endpoint.updated'
    | 'endpoint.deleted'
    | 'endpoint.paused'
    | 'endpoint.activated'
    | 'endpoint.disabled'
    | 'endpoint.secret_rolled'
    | 'subscription.created'
    | 'subscription.updated'
    | 'subscription.activated'
    | 'subscription.deactivated'
    | 'subscription.deleted'
    | 'device.deleted'
    | 'filter.created'
    | 'filter.updated'
    | 'filter.deleted'
    | 'source.created'
    | 'source.updated'
    | 'source.deleted'
    | 'portal_link.created'
    | 'portal_link.updated'
    | 'portal_link.revoked'
    | 'portal_link.token_made'
    | 'event_type.created'
    | 'event_type.updated'
    | 'event_type.deprecated'
    | 'view.saved'
    | 'view.deleted'
    | 'failures.muted'
    | 'failures.unmuted'
    | 'job.started'
    | 'job.cancelled'
    | 'event.replayed'
    | 'event.rescheduled'
    | 'event_delivery.resent'
    | 'event_delivery.force_resent'
    | 'ordering_keys.skipped'
    | 'meta_event.resent'
    | 'person.created'
    | 'person.updated'
    | 'person.joined'
    | 'person.role_changed'
    | 'person.left'
    | 'person.password_changed'
    | 'person.second_factor_on'
    | 'person.second_factor_off'
    | 'person.recovery_codes_made'
    | 'person.used_code_refused'
    | 'person.link_made'
    | 'person.link_used'
    | 'person.signed_in'
    | 'session.ended'
    | 'primary.accepted';
  resource: {
    type: string;
    uid: string | null;
  };
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
}

export interface Account extends Person {
  /** Whether the account has a second factor. */
  second_factor: boolean;
  projects: Array<{
    uid: string;
    role: 'viewer' | 'developer' | 'admin';
  }>;
}

export interface Me {
  person: Person;
  has_password: boolean;
  /** Whether the account has a second factor. */
  second_factor: boolean;
  /** Whether the session can use nothing but the own account until it has a second factor. */
  second_factor_required: boolean;
  instance_admin: boolean;
  /** The projects that the person may use, with the role in each. */
  projects: Array<{
    uid: string;
    name: string;
    role: 'viewer' | 'developer' | 'admin';
  }>;
  session: Session;
}

export interface Member extends Person {
  /** Whether the account has a second factor. */
  second_factor: boolean;
  role: 'viewer' | 'developer' | 'admin';
}

export interface Person {
  uid: string;
  email: string;
  /** Whether the owner of the address, or an administrator of the instance, has confirmed it. */
  email_verified: boolean;
  name: string;
  /** Whether the person may do anything in any project. */
  instance_admin: boolean;
  /** `invited`: has never signed in. */
  status: 'active' | 'invited' | 'deactivated';
  last_sign_in_at: string | null;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
}

export interface Session {
  uid: string;
  /** Whether it is the session of this call. */
  current: boolean;
  /** `password`, `link`, or the name of a provider. */
  method: string;
  second_factor: boolean;
  address: string;
  user_agent: string;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  /** RFC 3339, UTC, milliseconds. */
  last_used_at: string;
  /** RFC 3339, UTC, milliseconds. */
  expires_at: string;
}

export interface MetaEvent {
  uid: string;
  project_id: string;
  event_type: string;
  status: 'Scheduled' | 'Processing' | 'Discarded' | 'Failure' | 'Success' | 'Retry';
  /** Why it failed or was discarded. */
  description: string;
  metadata: RetryMetadata;
  attempt: {
    request_http_header: Record<string, string>;
    response_http_header: Record<string, string>;
    response_data: string;
    http_status: string;
    error: string;
  } | null;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  /** RFC 3339, UTC, milliseconds. */
  updated_at: string;
  deleted_at: string | null;
}

export interface ApiKey {
  uid: string;
  name: string;
  /** The middle part of the key, which identifies it. */
  mask: string;
  role: {
    /** `project_viewer`, `project_developer`, `project_admin` or `instance_admin`. */
    type: string;
    project: string;
  };
  key_type: string;
  expires_at: string | null;
  last_used_at: string | null;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
}

export interface NewApiKey extends ApiKey {
  /** The key itself; shown only once. */
  key: string;
}

export interface TestAttempt extends DeliveryAttempt {
  /** The result as one word, as `last_outcome` of a delivery has it. */
  outcome: string;
  /** State of the circuit breaker before the test: closed, half-open or open. Through one that is not closed, a single request is sent, which is not stored and neither closes nor feeds the breaker. */
  cb_state: string;
}

export interface DeliveryAttempt {
  uid: string;
  /** The delivery of this attempt. */
  msg_id: string;
  project_id: string;
  endpoint_id: string;
  api_version: string;
  url: string;
  method: string;
  ip_address: string;
  http_status: string;
  error: string;
  status: boolean;
  /** Made by a node that had lost its lease. It is recorded, but changed nothing. */
  is_stale: boolean;
  request_http_header: Record<string, string>;
  response_http_header: Record<string, string>;
  response_data: string;
  /** Milliseconds: dnsMs, connectMs, tlsMs, firstByteMs, totalMs. */
  timings: Record<string, unknown>;
  requested_at: string | null;
  responded_at: string | null;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  /** RFC 3339, UTC, milliseconds. */
  updated_at: string;
  deleted_at: string | null;
}

export interface EventDelivery {
  uid: string;
  project_id: string;
  event_id: string;
  endpoint_id: string;
  /** The device that it goes to, instead of an endpoint. */
  device_id: string;
  subscription_id: string;
  event_type: string;
  status: 'Scheduled' | 'Processing' | 'Discarded' | 'Failure' | 'Success' | 'Retry';
  /** Why it failed, was discarded or waits. */
  description: string;
  /** Why it waits, and until when if that is known; null if it does not wait. */
  waiting_for: {
    gate:
      | 'moving'
      | 'pending'
      | 'paused'
      | 'circuit_breaker'
      | 'rate_limit'
      | 'delayed'
      | 'retry'
      | 'order'
      | 'batch'
      | 'sending'
      | 'pull'
      | 'node';
    until: string | null;
  } | null;
  /** The result of the last attempt as one word: `http_503` for a response, `timeout` and the like for an error. Empty before the first attempt. */
  last_outcome: string;
  delivery_mode: string;
  /** The ordering key that it belongs to. Absent: it has no order. */
  ordering_key?: string;
  /** The URL of the endpoint, or the address of its broker. */
  target_url: string;
  headers: Record<string, string[]>;
  idempotency_key: string;
  url_query_params: string;
  /** Time from acceptance, or the `deliver_at` of the event, to the successful response, such as 12.4ms. */
  latency: string;
  latency_seconds: number;
  metadata: RetryMetadata;
  endpoint_metadata: Endpoint | null;
  /** The event in short form. */
  event_metadata: {
    uid: string;
    event_type: string;
    /** RFC 3339, UTC, milliseconds. */
    created_at: string;
  };
  source_metadata: SourceSummary | null;
  device_metadata: Device | null;
  cli_metadata: {
    event_type: string;
    source_id: string;
  } | null;
  acknowledged_at: string | null;
  /** When it was cancelled; null if it was not, or was sent again since. */
  cancelled_at: string | null;
  /** If it is not delivered by then, it is discarded; null: never. A resend removes it. */
  expires_at: string | null;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  /** RFC 3339, UTC, milliseconds. */
  updated_at: string;
  deleted_at: string | null;
}

export interface RetryMetadata {
  /** The body sent to the endpoint. */
  data: unknown;
  /** The body as text. */
  raw: string;
  strategy: 'linear' | 'exponential';
  /** The earliest time of the next attempt; null if it is unknown. */
  next_send_time: string | null;
  /** Attempts so far. */
  num_trials: number;
  interval_seconds: number;
  /** Maximum number of attempts. */
  retry_limit: number;
  max_retry_seconds: number;
}

export interface Endpoint {
  uid: string;
  project_id: string;
  /** Name for people. */
  name: string;
  /** URL that deliveries go to. Required if `delivery` is `push`. */
  url: string;
  /** `push`: the `url` is called. `pull`: consumers fetch the deliveries. `broker`: they go to the broker of `broker`. */
  delivery: 'push' | 'pull' | 'broker';
  /** Description for people. */
  description: string;
  /** Owner, for fan-outs and portal links. */
  owner_id: string;
  /** `paused`: deliveries wait. `inactive`: they are discarded. `pending`: they wait for the answer to the challenge. */
  status: 'active' | 'inactive' | 'paused' | 'pending';
  /** The Convoy signature includes a timestamp. */
  advanced_signatures: boolean;
  /** Body of the deliveries: JSON or form fields. */
  content_type: 'application/json' | 'application/x-www-form-urlencoded';
  /** Sends each event as a CloudEvent: `binary` or `structured`. Empty: as it came. */
  cloudevents: '' | 'binary' | 'structured';
  /** Timeout of a whole exchange in seconds. 0: that of the project. */
  http_timeout: number;
  /** As `final_status_codes` of the project, for this endpoint. Empty: those of the project. */
  final_status_codes: number[];
  /** Sends in any interval of `rate_limit_duration`. 0: no limit. */
  rate_limit: number;
  /** Length of that interval in seconds. */
  rate_limit_duration: number;
  /** Gets the alerts of the endpoint by mail. */
  support_email: string;
  /** `challenge`: the URL has to echo a signed challenge before the first delivery, and again after it changes. */
  verification: 'none' | 'challenge';
  /** At most 20 texts of your own by name, such as `{"plan": "gold"}`. Lists find them. */
  metadata: Record<string, string>;
  /** `standard`: JSON bodies are `{"type", "timestamp", "data"}` around the payload, unless they are CloudEvents. `none`: the payload. `project`: as the project. */
  envelope: 'project' | 'none' | 'standard';
  /** An envelope with names of its own in place of `envelope`: each member holds the `id` (that of `webhook-id`), `type`, `time` or `data` of the event, or `null`. */
  envelope_fields: Record<string, 'id' | 'type' | 'time' | 'data' | 'null'>;
  /** Largest body of a request. A delivery with a larger one is not sent and ends as `Failure`. 0: any size. */
  max_body_bytes: number;
  /** `webhook-id` of the requests: the id of the delivery, or `event`: that of the event. Then no two subscriptions of the endpoint may match the same event. */
  webhook_id: 'delivery' | 'event';
  /** `User-Agent` of the deliveries. Empty: that of the project. */
  user_agent: string;
  /** Name in the file of a project, unique per kind. */
  key: string;
  /** From this time on the endpoint is inactive. Null: it does not expire. */
  expires_at: string | null;
  secrets: Array<{
    uid: string;
    value: string;
    expires_at: string | null;
    /** RFC 3339, UTC, milliseconds. */
    created_at: string;
    /** RFC 3339, UTC, milliseconds. */
    updated_at: string;
    deleted_at: string | null;
  }>;
  /** The newest secret in the form of Standard Webhooks libraries. */
  standard_webhooks_secret: string;
  authentication: Authentication | null;
  mtls_client_cert?: {
    /** Client certificate in PEM. Both parts empty: none. */
    client_cert: string;
    /** Its private key in PEM. `***` keeps the stored key. */
    client_key: string;
  };
  signing_key: {
    type: string;
    public_key: string;
  } | null;
  slack_webhook_url: string;
  teams_webhook_url: string;
  headers: Record<string, string>;
  broker: Broker | null;
  /** Deliveries created so far. */
  events: number;
  /** Percentage of failed attempts in the observed window. */
  failure_rate: number;
  /** State of the circuit breaker: closed, half-open or open. */
  cb_state: string;
  /** How it does, over the last hour. `disabled`: it is inactive. `held`: it is paused or pending. `failing`: nothing has succeeded since the last failure, or the circuit breaker is not closed. `recovered`: attempts failed, and since the last failure ten have succeeded, or one, a minute has passed and no delivery waits for a retry; not if at least half of the attempts failed before and others succeeded between. `degraded`: other attempts that fail. `ok`: none failed. */
  state: 'failing' | 'disabled' | 'degraded' | 'held' | 'recovered' | 'ok';
  /** While it is `failing`: the minute since which every attempt failed. While it is `degraded`: the first minute of the last hour in which one failed. */
  failing_since: string | null;
  /** The minute of the first success since its last failure, while it is `recovered`. */
  recovered_at: string | null;
  /** Successful attempts since `recovered_at`. */
  sent_since: number;
  /** The gate that holds all of its deliveries. Empty: none. */
  held_by: '' | 'circuit_breaker' | 'paused' | 'pending';
  /** When the open circuit breaker sends a probe. Else null. */
  held_until: string | null;
  period_failure_rate: number | null;
  success_count: number | null;
  failure_count: number | null;
  retry_count: number | null;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  /** RFC 3339, UTC, milliseconds. */
  updated_at: string;
  deleted_at: string | null;
}

/** Client credentials with a secret or with an assertion signed by a key. */
export interface OAuth2 {
  /** URL of the token server. */
  url: string;
  /** Client id. */
  client_id: string;
  /** The client authenticates by a secret or by a signed assertion. */
  authentication_type: 'shared_secret' | 'client_assertion';
  /** Needed for `shared_secret`. */
  client_secret?: string;
  /** Requested grant. Default: `client_credentials`. */
  grant_type?: string;
  /** Requested scope. */
  scope?: string;
  /** Requested audience. */
  audience?: string;
  /** Private key as JWK: `kty`, `crv`, `x`, `y`, `d` of EC, or `kty`, `n`, `e`, `d`, `p`, `q`, `dp`, `dq`, `qi` of RSA. Needed for `client_assertion`. */
  signing_key?: Record<string, unknown>;
  /** Algorithm of the assertion. Default: `ES256`. */
  signing_algorithm?:
    | 'ES256'
    | 'ES384'
    | 'ES512'
    | 'RS256'
    | 'RS384'
    | 'RS512'
    | 'PS256'
    | 'PS384'
    | 'PS512'
    | '';
  /** Issuer of the assertion. Default: `client_id`. */
  issuer?: string;
  /** Subject of the assertion. Default: `client_id`. */
  subject?: string;
  field_mapping?: {
    /** Name of this field in the token response. */
    access_token?: string;
    /** Name of the field with the type of the token. */
    token_type?: string;
    /** Name of the field with its lifetime. */
    expires_in?: string;
  };
  /** Unit of `expires_in`. Default: `seconds`. */
  expiry_time_unit?: 'seconds' | 'milliseconds' | 'minutes' | 'hours' | '';
}

export interface EndpointSummary {
  uid: string;
  project_id: string;
  name: string;
  url: string;
  owner_id: string;
  status: string;
  support_email: string;
}

export interface Event {
  uid: string;
  project_id: string;
  event_type: string;
  source_id: string;
  app_id: string;
  status: string;
  failure_reason?: string;
  /** Why it waits, and until when if that is known; null if it does not wait. */
  waiting_for: {
    gate: 'expansion';
    until: string | null;
  } | null;
  endpoints: string[];
  /** The customers whom it went to: the owners of `endpoints`, and the owner that a fan-out named. Empty for portal links. */
  owner_ids: string[];
  /** The endpoints in short form. Absent in lists. */
  endpoint_metadata?: EndpointSummary[];
  source_metadata: SourceSummary | null;
  headers: Record<string, string[]>;
  /** The payload. */
  data: unknown;
  /** The payload as text. */
  raw: string;
  metadata: string;
  /** As given with the event. */
  ordering_key?: string;
  idempotency_key: string;
  is_duplicate_event: boolean;
  /** For a duplicate: the id of the first event with its idempotency key, while it is known. */
  duplicate_of: string;
  url_query_params: string;
  url_path: string;
  /** It is not delivered before; null: at once. */
  deliver_at: string | null;
  /** Deliveries that were not made by then are discarded. Subscriptions may set an earlier time. */
  expires_at: string | null;
  acknowledged_at: string | null;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  /** RFC 3339, UTC, milliseconds. */
  updated_at: string;
  deleted_at: string | null;
}

export interface BatchResult {
  status: 'stored' | 'duplicate' | 'refused';
  /** The id of the event. Empty if it was refused. */
  uid: string;
  /** For a duplicate: the id of the first event with its idempotency key, while it is known. */
  duplicate_of: string;
  /** For a refused event: the error code, as of a call with it alone. */
  code: string;
  /** For a refused event: the reason. */
  message: string;
}

export interface BatchEventsResult {
  /** One for each event, in the same place. */
  results: BatchResult[];
}

export interface EventDryRun {
  event_type: string;
  /** That of the event, if it were sent. */
  status: 'Success' | 'Failure';
  failure_reason: string;
  /** The event that has its idempotency key. It would not be sent. */
  duplicate_of: string;
  /** How many it would have. */
  deliveries: number;
  /** Endpoints that would get it, at most 1,000. */
  endpoints: string[];
  /** Config that the call would make. */
  changes: Array<{
    resource: 'endpoint' | 'subscription';
    action: 'create' | 'update';
    /** Empty for an endpoint that would be created. */
    endpoint_id: string;
    url: string;
  }>;
  /** Every subscription as it is now: whether it would get the event, and why not. */
  subscriptions: SubscriptionExplanation[];
}

export interface SubscriptionExplanation {
  subscription_id: string;
  name: string;
  endpoint_id: string;
  /** The ordering key of its delivery. Absent: it would have no order. */
  ordering_key?: string;
  matched: boolean;
  cause:
    | 'duplicate'
    | 'target'
    | 'inactive'
    | 'source'
    | 'type'
    | 'filter'
    | 'moving'
    | 'pending'
    | 'paused'
    | null;
  reason: string;
  filter_id: string | null;
  clause: FilterExplanation | null;
}

export interface EventType {
  uid: string;
  name: string;
  category: string;
  description: string;
  json_schema: Record<string, unknown> | null;
  deprecated_at: string | null;
}

export interface Pagination {
  per_page: number;
  has_next_page: boolean;
  has_prev_page: boolean;
  next_page_cursor: string;
  prev_page_cursor: string;
}

/** Warnings about the request, such as unknown query parameters and body fields (`X-Posthorn-Strict: true` turns them into errors), and rows that a list omits because they cannot be shown. */
export type Warnings = string[];

export interface Filter {
  uid: string;
  subscription_id: string;
  event_type: string;
  enabled_at: string | null;
  /** Flattened: dotted names. */
  body: Record<string, unknown>;
  /** Flattened: dotted names. */
  headers: Record<string, unknown>;
  /** Flattened: dotted names. */
  query: Record<string, unknown>;
  /** Flattened: dotted names. */
  path: Record<string, unknown>;
  raw_body: Record<string, unknown>;
  raw_headers: Record<string, unknown>;
  raw_query: Record<string, unknown>;
  raw_path: Record<string, unknown>;
}

export interface Job {
  uid: string;
  project_id: string;
  type: 'batch_replay' | 'batch_retry' | 'batch_cancel' | 'send_now' | 'onboard';
  /** completed: every row was processed. Queued deliveries may still wait. dry_run: nothing was started. */
  status: 'queued' | 'running' | 'completed' | 'cancelled' | 'failed' | 'dry_run';
  /** The act of the job on each row. */
  description: string;
  /** The endpoint, if its filter leaves only one. Else empty. */
  endpoint_id: string;
  endpoint_name: string;
  /** The customer, if its filter leaves endpoints of only one. Else empty. */
  owner_id: string;
  /** How many endpoints it is limited to; for a dry run, how many would get something. Null: it has no such limit. */
  endpoints: number | null;
  /** Rows to process; null while they are too many to count. */
  total: number | null;
  /** Rows processed so far. */
  done: number;
  /** Rows that could not be processed. */
  failed: number;
  /** Rows per second at most; null: as fast as it can. */
  rate: number | null;
  /** Why the job failed. */
  error: string;
  /** The states of the deliveries of a completed retry. Null in lists, for other jobs, and after another retry of the same deliveries. */
  result: RetryResult | null;
  /** The counts for a call with `dry_run=true`; else null. */
  dry_run: DryRun | null;
  started_at: string | null;
  finished_at: string | null;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  /** RFC 3339, UTC, milliseconds. */
  updated_at: string;
}

export interface PortalLink {
  uid: string;
  project_id: string;
  /** Name for people. */
  name: string;
  /** Owner whose endpoints the link shows. */
  owner_id: string;
  /** Whether the holder may change endpoints, subscriptions and filters. */
  can_manage_endpoint: boolean;
  /** Whether the holder may send new events to the endpoints. */
  can_create_events: boolean;
  /** Whether the holder may send earlier events again, and test events. */
  can_retry: boolean;
  /** Whether the holder sees the secrets and credentials of endpoints, and the code of functions. Null: as `can_manage_endpoint`. */
  can_see_secrets: boolean | null;
  /** Whether the holder may change functions, together with `can_manage_endpoint`. Null: as `can_manage_endpoint`. */
  can_edit_functions: boolean | null;
  /** Whether the holder may send to brokers, together with `can_manage_endpoint`, if `portal_brokers` of the project is set. */
  can_use_brokers: boolean;
  /** Event types that the holder may see: names, or prefixes such as `invoice.*`. Empty: all. */
  event_types: string[];
  /** Kind of token. */
  auth_type: 'static_token' | 'refresh_token';
  /** The endpoints of the owner, which the link shows. */
  endpoints: string[];
  endpoint_count: number;
  endpoints_metadata: Endpoint[];
  /** The static token. */
  token: string;
  /** A new token, valid for an hour, for links of type refresh_token. */
  auth_key: string;
  /** The URL of the portal page, with the token after the #. */
  url: string;
  expires_at: string | null;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  /** RFC 3339, UTC, milliseconds. */
  updated_at: string;
  deleted_at: string | null;
}

export interface OrderingKey {
  uid: string;
  /** As the expression or `ordering_key` of the event gave it. */
  key: string;
  subscription_id: string;
  endpoint_id: string;
  /** The one delivery of the key that may be sent, or that holds it. */
  head_id: string;
  held_at: string | null;
  /** Deliveries behind the head, 10000 at most. */
  waiting: number;
}

/** The kinds of things that the project has. Only the read of one project shows them. */
export interface ProjectStatistics {
  events_exist: boolean;
  sources_exist: boolean;
  endpoints_exist: boolean;
  subscriptions_exist: boolean;
}

export interface FunctionLimits {
  cpu_ms: number;
  heap_bytes: number;
  output_bytes: number;
  heap_used_bytes: number;
}

export interface FunctionRequest {
  /** Headers that the function set. */
  set_headers: Record<string, string>;
  /** Path of the URL. Null: not set. */
  set_path: string | null;
  /** Parameters of the URL that the function set. */
  set_query: Record<string, string>;
}

export interface ListedProject extends Project {
  /** The role of the caller in the project. */
  role: 'viewer' | 'developer' | 'admin';
}

export interface Project {
  uid: string;
  name: string;
  type: string;
  logo_url: string;
  organisation_id: string;
  config: ProjectConfig;
  /** Values for functions, by name. At most 100. They are stored sealed and shown as `***`; written back, that keeps the value. */
  variables: Record<string, string>;
  /** Clouds whose credentials of the machine the operator allows. */
  workload_credentials: Array<'aws' | 'google'>;
  statistics: ProjectStatistics | null;
  retained_events: number;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  /** RFC 3339, UTC, milliseconds. */
  updated_at: string;
  deleted_at: string | null;
}

export interface PubSub {
  type: 'sqs' | 'google' | 'kafka' | 'amqp' | '';
  workers: number;
  sqs: SqsSettings | null;
  google: {
    project_id: string;
    subscription_id: string;
    credentials?: 'workload';
    /** base64; an array of integers if payloads are requested as bytes. */
    service_account: unknown;
    endpoint: string;
  } | null;
  kafka: {
    brokers: string[];
    topic_name: string;
    consumer_group_id: string;
    auth: KafkaSignIn | null;
  } | null;
  amqp: {
    schema: string;
    host: string;
    port: string;
    queue: string;
    vhost: string | null;
    deadLetterExchange: string | null;
    auth: {
      user: string;
      password: string;
    } | null;
    bindedExchange: string | null;
    routingKey: string;
  } | null;
}

export interface Broker {
  type: 'kafka' | 'amqp' | 'sqs' | 'google' | 's3';
  kafka: {
    brokers: string[];
    topic: string;
    auth: KafkaSignIn | null;
  } | null;
  amqp: {
    schema: 'amqp' | 'amqps' | '';
    host: string;
    port: string;
    vhost: string | null;
    auth: {
      user: string;
      password: string;
    } | null;
    exchange: string;
    routing_key: string;
  } | null;
  sqs: SqsSettings | null;
  google: {
    project_id: string;
    topic_id: string;
    credentials?: 'workload';
    service_account: string;
    endpoint: string;
  } | null;
  s3: {
    bucket: string;
    prefix: string;
    credentials?: 'workload';
    access_key_id: string;
    secret_key: string;
    default_region: string;
    endpoint: string;
  } | null;
}

export interface KafkaSignIn {
  type: 'plain' | 'scram' | '';
  username: string;
  password: string;
  hash: 'SHA256' | 'SHA512' | '';
  tls: boolean;
}

export interface SqsSettings {
  queue_name: string;
  credentials?: 'workload';
  access_key_id: string;
  secret_key: string;
  default_region: string;
  endpoint: string;
}

export interface Source {
  uid: string;
  project_id: string;
  /** Name for people. */
  name: string;
  /** Type of the source. */
  type: 'http' | 'rest_api' | 'pub_sub' | 'db_change_stream' | 'schedule';
  /** Preset of a known sender. Needs only `verifier.hmac.secret`. Cannot be changed. */
  provider: string;
  /** Id of the source in its ingest URL. */
  mask_id: string;
  /** The source refuses every request with 403. */
  is_disabled: boolean;
  /** JavaScript that changes the incoming payload. */
  body_function: string;
  /** JavaScript that changes the incoming headers. */
  header_function: string;
  /** Locations that identify an event, such as `request.body.id`. */
  idempotency_keys: string[];
  /** Location of the event type, such as `request.body.type`. With a signature, in the body or a header. Empty: the `mask_id`. */
  event_type_location: string;
  /** Headers forwarded with each delivery. */
  forward_headers: string[];
  /** Reads requests with CloudEvents, and answers the handshakes of their senders. Off in sources of version 0.1.0. */
  cloudevents: boolean;
  /** Reads CloudEvents in `ce-` headers although a signature covers the body alone. */
  unsigned_cloudevents: boolean;
  /** Response to the sender. */
  custom_response: {
    body: string;
    content_type: string;
  };
  /** When the provider last verified the URL. */
  provider_config: {
    twitter: {
      crc_verified_at: string | null;
    };
  } | null;
  /** Events accepted in any interval of `rate_limit_duration`. 0: no limit. */
  rate_limit: number;
  /** Length of that interval in seconds. */
  rate_limit_duration: number;
  /** Name in the file of a project, unique per kind. */
  key: string;
  /** Ingest URL, to which the sender posts its webhooks. */
  url: string;
  verifier: {
    type: 'noop' | 'hmac' | 'basic_auth' | 'api_key';
    hmac: {
      /** Header with the signature. */
      header: string;
      /** Hash of the signature. */
      hash:
        | 'MD5'
        | 'SHA1'
        | 'SHA224'
        | 'SHA256'
        | 'SHA384'
        | 'SHA512'
        | 'SHA3_224'
        | 'SHA3_256'
        | 'SHA3_384'
        | 'SHA3_512'
        | 'SHA512_224'
        | 'SHA512_256'
        | '';
      /** Secret of the signature. */
      secret: string;
      /** Encoding of the signature. */
      encoding: 'hex' | 'base64' | '';
    } | null;
    basic_auth: {
      /** Required user name. */
      username: string;
      /** Required password. */
      password: string;
    } | null;
    api_key: {
      /** Required header. Empty: `Authorization`. */
      header_name: string;
      /** Required value of that header. */
      header_value: string;
    } | null;
  };
  pub_sub: PubSub;
  db_change_stream: {
    connection_url: string;
    slot_name: string;
    publication_name: string;
    tables: string[];
    snapshot: boolean;
  } | null;
  schedule: {
    cron: string;
    time_zone: string;
    event_type: string;
    data: unknown;
  } | null;
  /** Only sources of brokers, databases and schedules have it. */
  status: {
    /** waiting: it cannot take messages now, for the reason given, and tries again by itself. */
    state: 'connecting' | 'running' | 'waiting' | 'disabled';
    /** Why it waits; while it runs, what its owner should know. */
    reason: string;
    last_message_at: string | null;
    last_error: string;
    last_error_at: string | null;
    /** Messages that wait in the broker, or bytes of the log of a database; null where that is not known. */
    lag: number | null;
  } | null;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  /** RFC 3339, UTC, milliseconds. */
  updated_at: string;
  deleted_at: string | null;
}

export interface Subscription {
  uid: string;
  project_id: string;
  /** Name for people. */
  name: string;
  /** `cli`: the subscription of a device. */
  type: 'api' | 'cli';
  /** `inactive`: it matches no event. */
  status: 'active' | 'inactive';
  /** JavaScript that returns the payload to send. */
  function: string;
  /** Whether the function was last changed through a portal link. It sees no variables. */
  is_portal_function: boolean;
  /** `at_most_once` never repeats a request that may have arrived. */
  delivery_mode: 'at_least_once' | 'at_most_once';
  alert_config?: {
    /** Failed attempts that raise an alert. */
    count: number;
    /** Time within which they must occur, such as `1h`. */
    threshold: string;
  };
  rate_limit_config?: {
    /** Sends of this subscription in any interval of `rate_limit_config.duration`. 0: no limit. */
    count: number;
    /** Length of that interval in seconds. */
    duration: number;
  };
  retry_config?: {
    type: 'linear' | 'exponential';
    /** Seconds. */
    duration: number;
    retry_count: number;
    /** The wait before each retry, such as `["5s", "5m", "2h"]`, up to 20 % longer at random. Replaces the other fields, which then describe it. */
    schedule?: string[];
  };
  ordering?: {
    /** Where an event has its key: `$.body.account.id`, `$.headers.X-Account`, or `endpoint` for one order of all deliveries to the endpoint. `ordering_key` of an event overrides it. */
    key: string;
    /** `hold`: after a failure the key waits until the delivery is resent or skipped. `skip`: the next one goes. */
    on_failure: 'hold' | 'skip';
  };
  batch?: {
    /** Most deliveries of a batch, up to 1000. 100 unless given. */
    max: number;
    /** Most bytes of their payloads, up to 10000000. 1000000 unless given. What stands around each payload in the request is not counted. */
    max_bytes: number;
    /** Longest wait of a delivery for others, up to 300. 5 unless given. 0: none. */
    max_wait_seconds: number;
  };
  /** Deliveries expire so many seconds after their event. 0: never. */
  ttl_seconds: number;
  /** Name in the file of a project, unique per kind. */
  key: string;
  endpoint_metadata: Endpoint | null;
  source_metadata: Source | null;
  device_metadata: Device | null;
  filter_config: {
    event_types: string[];
    filter: {
      /** false: the conditions are in the given form. */
      is_flattened: boolean;
      body: Record<string, unknown>;
      headers: Record<string, unknown>;
      query: Record<string, unknown>;
      path: Record<string, unknown>;
    };
  };
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  /** RFC 3339, UTC, milliseconds. */
  updated_at: string;
  deleted_at: string | null;
}

export interface CircuitBreaker {
  /** Seconds between two checks of a failing endpoint. */
  sample_rate: number;
  /** Seconds that deliveries wait before one is sent as a probe. */
  error_timeout: number;
  /** Percentage of failures that opens the breaker. */
  failure_threshold: number;
  /** Probes that must succeed to close it, as a percentage of `minimum_request_count`. */
  success_threshold: number;
  /** With fewer attempts the breaker does not open. */
  minimum_request_count: number;
  /** Minutes of attempts that count. */
  observability_window: number;
  /** How often in a row the breaker opens before `disable_endpoint` applies. */
  consecutive_failure_threshold: number;
}

export interface MetaEventConfig {
  /** Meta events are sent. */
  is_enabled: boolean;
  /** The transport. There is only `http`. */
  type: 'http' | '';
  /** Meta events to send. Empty: none. */
  event_type: string[];
  /** URL that meta events are sent to. */
  url: string;
  /** Secret that signs meta events. */
  secret: string;
}

export interface ProjectConfig {
  /** Largest payload in bytes; a larger one is 413. */
  max_payload_read_size: number;
  /** The Convoy signature of every endpoint includes a timestamp. */
  replay_attacks_prevention_enabled: boolean;
  /** Deliveries carry `X-Convoy-Event-ID` and `X-Convoy-EventDelivery-ID`. */
  add_event_id_trace_headers: boolean;
  /** An endpoint that keeps failing becomes inactive. */
  disable_endpoint: boolean;
  /** An endpoint at which no attempt succeeded for this time, such as `120h`, becomes inactive, after an alert. Empty: never. */
  disable_after: string;
  /** Viewers see no payloads, responses and query strings, and cannot search payloads. */
  hide_payload_from_viewers: boolean;
  /** People need a session with a second factor. Keys do not. */
  require_second_factor: boolean;
  /** False: one subscription per endpoint. */
  multiple_endpoint_subscriptions: boolean;
  /** A dynamic event to a forbidden URL is refused. False: it is stored as failed. */
  verify_dynamic_events: boolean;
  /** A dynamic event to a new URL creates an endpoint. False: it is stored as failed. */
  allow_unmatched_dynamic_urls: boolean;
  /** Answer to an event that does not fit the [schema](how-to/event-types.md#checks) of its type. */
  schema_check: 'off' | 'warn' | 'refuse';
  /** How far back a search without dates reaches, such as `720h`. Empty: everything. */
  search_policy: string;
  retention_policy: {
    /** Retention of the project, such as `720h`. Empty: that of the instance. */
    policy: string;
    /** The policy is in force. Omitted with a policy: true. */
    retention_policy_enabled: boolean;
  };
  ratelimit: {
    /** Events accepted in any interval of `ratelimit.duration`. 0: no limit. */
    count: number;
    /** Length of that interval in seconds. */
    duration: number;
  };
  strategy: Strategy;
  /** Timeout in seconds of endpoints that set none. */
  http_timeout: number;
  /** Answers after which a delivery is not retried, such as `413`. After `410` the endpoint becomes inactive too. */
  final_status_codes: number[];
  ssl: {
    /** Endpoints must use https. */
    enforce_secure_endpoints: boolean;
  };
  signature: {
    /** Header of the Convoy signature. */
    header: string;
    versions: Array<{
      /** Id of the version. */
      uid: string;
      /** Hash of the HMAC. Several versions sign at the same time. */
      hash:
        | 'MD5'
        | 'SHA1'
        | 'SHA224'
        | 'SHA256'
        | 'SHA384'
        | 'SHA512'
        | 'SHA3_224'
        | 'SHA3_256'
        | 'SHA3_384'
        | 'SHA3_512'
        | 'SHA512_224'
        | 'SHA512_256';
      /** Encoding of the HMAC. */
      encoding: 'hex' | 'base64';
      /** Time of its creation. */
      created_at: string;
    }>;
    /** Signature headers of deliveries. */
    schemes: Array<'convoy' | 'standard'>;
  };
  /** Host name under which new endpoints are asked for their consent with OPTIONS. Empty: none is asked. */
  webhook_origin: string;
  /** Header of a delivery with the idempotency key of its event. */
  request_id_header: string;
  /** Form of the JSON bodies of endpoints with `envelope` `project`. */
  envelope: 'none' | 'standard';
  /** `User-Agent` of the deliveries. Empty: `Posthorn/` and the version, or that of the event. */
  user_agent: string;
  /** Headers whose names look like credentials but are not. */
  visible_headers: string[];
  meta_event: MetaEventConfig;
  circuit_breaker: CircuitBreaker;
  /** Portal links with `can_use_brokers` may create endpoints that send to brokers. */
  portal_brokers: boolean;
  portal: {
    /** Name at the top of the portal page. Empty: Webhooks. */
    title: string;
    /** Image next to the name, an https URL. */
    logo_url: string;
    /** Image on a dark ground. Empty: `portal.logo_url`. */
    logo_url_dark: string;
    /** Local fonts, such as `Georgia, serif`. Empty: Inter, which the page brings. */
    font: string;
    /** Colour of buttons and links, such as `#3b5bdb`. */
    accent: string;
    /** Radius of corners in pixels. */
    radius: number;
    /** `auto` follows the system of the reader. */
    color_scheme: 'auto' | 'light' | 'dark';
    /** `en`, `de`, `fr` or `es`. Empty: as the browser asks. */
    language: string;
    /** Origins whose pages may embed the portal. Empty: none. */
    frame_origins: string[];
  };
}

export interface Strategy {
  /** `linear`: the same wait before each retry. `exponential`: the wait doubles. */
  type: 'linear' | 'exponential';
  /** Seconds between attempts, or before the first retry. */
  duration: number;
  /** Number of attempts, the first included. */
  retry_count: number;
  /** The wait before each retry, such as `["5s", "5m", "2h"]`, up to 20 % longer at random. Replaces the other fields, which then describe it. */
  schedule: string[];
}

export interface Authentication {
  /** The authentication method. */
  type?: 'api_key' | 'basic_auth' | 'oauth2' | '';
  api_key?: {
    /** Header of each delivery. */
    header_name: string;
    /** Value of that header. */
    header_value: string;
  };
  basic_auth?: {
    /** User name. */
    username: string;
    /** Password. */
    password: string;
  };
  oauth2?: OAuth2;
}

export interface Device {
  uid: string;
  project_id: string;
  endpoint_id: string;
  host_name: string;
  status: 'offline' | 'online' | 'disabled';
  /** RFC 3339, UTC, milliseconds. */
  last_seen_at: string;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  /** RFC 3339, UTC, milliseconds. */
  updated_at: string;
  deleted_at: string | null;
}

export interface DryRun {
  /** Rows of the job, exactly. */
  total: number;
  /** Deliveries that the job sends again or cancels. For a replay: new deliveries under the current subscriptions. */
  deliveries: number;
  /** Rows that were matched for `deliveries`: for a replay at most the oldest 2,000, else all. */
  examined: number;
  /** Not all rows were examined. `deliveries` and the counts of `by_endpoint` are extrapolated from those that were. */
  is_estimate: boolean;
  oldest_at: string | null;
  /** How many endpoints the deliveries are for. */
  endpoints: number;
  /** The largest first, at most 100. */
  by_endpoint: Array<{
    endpoint_id: string;
    name: string;
    count: number;
  }>;
  by_status: Array<{
    status: string;
    count: number;
  }>;
  /** Deliveries by the result of the last attempt. Empty for events. */
  by_outcome: Array<{
    outcome: string;
    count: number;
  }>;
  /** The newest of them. */
  sample: Array<{
    uid: string;
    event_type: string;
    /** Empty for events. */
    endpoint_id: string;
    status: string;
    last_outcome: string;
    /** RFC 3339, UTC, milliseconds. */
    created_at: string;
  }>;
}

/** The first condition that failed, with the actual value. */
export interface FilterExplanation {
  matched: boolean;
  scope?: string;
  path?: string;
  operator?: string;
  expected?: unknown;
  actual?: unknown;
  reason?: string;
}

export interface InstanceSetting {
  /** The environment variable. */
  name: string;
  /** The value in use, as it is given in the environment. Null for secrets. */
  value: string | null;
  /** Whether the environment sets it. */
  is_set: boolean;
  default: string;
  description: string;
}

export interface Node {
  uid: string;
  roles: string[];
  /** Whether it was seen in the last 10 s. */
  is_alive: boolean;
  /** RFC 3339, UTC, milliseconds. */
  started_at: string;
  /** RFC 3339, UTC, milliseconds. */
  last_seen_at: string;
  /** The number of the newest migration that it knows. */
  schema: string;
  /** The cell that it works for. Empty: there are no cells. */
  cell: string;
}

export interface OnboardCheck {
  total_rows: number;
  valid_count: number;
  errors: Array<{
    /** The number of the item, from 1. */
    row: number;
    /** Its line in the CSV file. */
    line?: number;
    field: string;
    message: string;
  }>;
}

export interface OnboardJob extends Job {
  batch_count: number;
  total_items: number;
  message: string;
}

export interface PeriodFailureRate {
  uid: string;
  /** Percentage of ended deliveries that failed; null if none has ended. */
  period_failure_rate: number | null;
  success_count: number;
  failure_count: number;
  /** Deliveries that failed and wait for their next attempt. */
  retry_count: number;
}

export interface RetryResult {
  delivered: number;
  /** They have no tries left, or were discarded. */
  failed: number;
  /** The try failed again, and another follows. */
  retrying: number;
  /** They were not tried yet. */
  waiting: number;
}

export interface SavedView {
  uid: string;
  /** The page of the dashboard, such as `deliveries`. */
  page: string;
  name: string;
  /** The filters of the page, as in the query of its address. */
  query: string;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  /** RFC 3339, UTC, milliseconds. */
  updated_at: string;
}

export interface SourceSummary {
  uid: string;
  project_id: string;
  name: string;
  type: 'http' | 'rest_api' | 'pub_sub' | 'db_change_stream' | 'schedule';
  provider: string;
  is_disabled: boolean;
  idempotency_keys: string[];
}

export interface FilterMatch {
  is_match: boolean;
}

export interface CustomerHealth {
  /** Empty: endpoints without a customer. */
  owner_id: string;
  endpoints: number;
  /** Endpoints that are failing or disabled. */
  failing_endpoints: number;
  worst_endpoint_id: string;
  worst_endpoint_name: string;
  /** How it does, over the last hour. `disabled`: it is inactive. `held`: it is paused or pending. `failing`: nothing has succeeded since the last failure, or the circuit breaker is not closed. `recovered`: attempts failed, and since the last failure ten have succeeded, or one, a minute has passed and no delivery waits for a retry; not if at least half of the attempts failed before and others succeeded between. `degraded`: other attempts that fail. `ok`: none failed. */
  state: 'failing' | 'disabled' | 'degraded' | 'held' | 'recovered' | 'ok';
  /** While it is `failing`: the minute since which every attempt failed. While it is `degraded`: the first minute of the last hour in which one failed. */
  failing_since: string | null;
  /** The minute of the first success since its last failure, while it is `recovered`. */
  recovered_at: string | null;
  /** Successful attempts since `recovered_at`. */
  sent_since: number;
  /** The gate that holds all of its deliveries. Empty: none. */
  held_by: '' | 'circuit_breaker' | 'paused' | 'pending';
  /** When the open circuit breaker sends a probe. Else null. */
  held_until: string | null;
  /** Attempts in the window. */
  attempts: number;
  failed_attempts: number;
  /** Percent of the attempts in the window that failed. Null without attempts. */
  failed_share: number | null;
  /** Deliveries that ended as Success in the window. */
  delivered: number;
  failed: number;
  discarded: number;
  /** Deliveries that have not ended. */
  open: number;
  waiting_for: WaitingTotals;
  oldest_at: string | null;
  last_success_at: string | null;
  last_failure: LastFailure | null;
}

export interface EndpointHealth {
  endpoint_id: string;
  name: string;
  /** Its URL, or the address of its broker. */
  url: string;
  owner_id: string;
  status: 'active' | 'inactive' | 'paused' | 'pending';
  cb_state: string;
  /** Whether a call of `sendnow` can make its open deliveries due: it is active and does not pull. */
  may_send_now: boolean;
  /** How it does, over the last hour. `disabled`: it is inactive. `held`: it is paused or pending. `failing`: nothing has succeeded since the last failure, or the circuit breaker is not closed. `recovered`: attempts failed, and since the last failure ten have succeeded, or one, a minute has passed and no delivery waits for a retry; not if at least half of the attempts failed before and others succeeded between. `degraded`: other attempts that fail. `ok`: none failed. */
  state: 'failing' | 'disabled' | 'degraded' | 'held' | 'recovered' | 'ok';
  /** While it is `failing`: the minute since which every attempt failed. While it is `degraded`: the first minute of the last hour in which one failed. */
  failing_since: string | null;
  /** The minute of the first success since its last failure, while it is `recovered`. */
  recovered_at: string | null;
  /** Successful attempts since `recovered_at`. */
  sent_since: number;
  /** The gate that holds all of its deliveries. Empty: none. */
  held_by: '' | 'circuit_breaker' | 'paused' | 'pending';
  /** When the open circuit breaker sends a probe. Else null. */
  held_until: string | null;
  /** Attempts in the window. */
  attempts: number;
  failed_attempts: number;
  /** Percent of the attempts in the window that failed. Null without attempts. */
  failed_share: number | null;
  /** Deliveries that ended as Success in the window. */
  delivered: number;
  failed: number;
  discarded: number;
  /** Deliveries that have not ended. */
  open: number;
  waiting_for: WaitingTotals;
  oldest_at: string | null;
  last_success_at: string | null;
  last_failure: LastFailure | null;
}

export interface LastFailure {
  event_delivery_id: string;
  /** RFC 3339, UTC, milliseconds. */
  at: string;
  outcome: string;
  /** The last answer in words. */
  description: string;
}

export interface WaitingTotals {
  moving: number;
  pending: number;
  paused: number;
  circuit_breaker: number;
  rate_limit: number;
  delayed: number;
  retry: number;
  order: number;
  batch: number;
  sending: number;
  pull: number;
  node: number;
}

export interface BreakerOpening {
  endpoint_id: string;
  endpoint_name: string;
  owner_id: string;
  /** RFC 3339, UTC, milliseconds. */
  opened_at: string;
  /** Null: it is still open. */
  closed_at: string | null;
}

export interface TimeSeriesPoint extends TimeSeriesTotals {
  /** RFC 3339, UTC, milliseconds. */
  start: string;
}

export interface TimeSeriesTotals {
  /** Events of the project or source. For endpoints: deliveries made. */
  accepted: number;
  /** Deliveries that ended as Success. */
  delivered: number;
  /** Deliveries that ended as Failure. */
  failed: number;
  /** Deliveries that ended as Discarded. */
  discarded: number;
  /** Requests to endpoints, tests not included. */
  attempts: number;
  /** Attempts that failed, also where the delivery is retried. */
  failed_attempts: number;
  /** Attempts of deliveries after a retry by hand or in bulk. */
  resent_attempts: number;
  /** Milliseconds from acceptance to the successful response, retries included, resends not. Estimated from a histogram. Null without deliveries. */
  latency: {
    p50: number;
    p90: number;
    p99: number;
  } | null;
}

export interface CreateEndpoint extends UpdateEndpoint {
  /** Name for people. */
  name: string;
  /** Second name of the endpoint for events, on create only. Default: its id. */
  app_id?: string | null;
  /** Subscriptions of the new endpoint. If one is refused, nothing is created. */
  subscriptions?: SubscriptionOfEndpoint[] | null;
}

export interface SubscriptionOfEndpoint {
  /** Name for people. Default: that of the endpoint. */
  name?: string | null;
  /** Only events of this source. Empty: events of any origin. */
  source_id?: string | null;
  /** JavaScript that returns the payload to send. */
  function?: string | null;
  /** `at_most_once` never repeats a request that may have arrived. */
  delivery_mode?: 'at_least_once' | 'at_most_once' | '' | null;
  /** Failed attempts that raise an alert. Needs both members. `{}` removes it. */
  alert_config?: AlertConfigInput | null;
  /** Limit of sends. Needs both members. `{}` removes it. */
  rate_limit_config?: RateLimitConfigInput | null;
  /** Retries. `{}`: as the project. */
  retry_config?: RetryConfigInput | null;
  /** Order by key. `on_failure` is `hold` unless given. `{}` removes it. */
  ordering?: {
    /** Where an event has its key: `$.body.account.id`, `$.headers.X-Account`, or `endpoint` for one order of all deliveries to the endpoint. `ordering_key` of an event overrides it. */
    key?: string | null;
    /** `hold`: after a failure the key waits until the delivery is resent or skipped. `skip`: the next one goes. */
    on_failure?: 'hold' | 'skip' | null;
  } | null;
  /** Batches: many deliveries in one request. `{}` removes it. */
  batch?: {
    /** Most deliveries of a batch, up to 1000. 100 unless given. */
    max?: number | null;
    /** Most bytes of their payloads, up to 10000000. 1000000 unless given. What stands around each payload in the request is not counted. */
    max_bytes?: number | null;
    /** Longest wait of a delivery for others, up to 300. 5 unless given. 0: none. */
    max_wait_seconds?: number | null;
  } | null;
  /** Deliveries expire so many seconds after their event. 0: never. */
  ttl_seconds?: number | null;
  /** Name in the file of a project, unique per kind. */
  key?: string | null;
  filter_config?: FilterConfigInput | null;
}

export interface ExpireSecret {
  /** Seconds until the old secret stops signing; 0 = at once. */
  expiration?: number | null;
  /** The new secret; generated if absent. */
  secret?: string | null;
}

export interface UpdateEndpoint {
  /** Name for people. */
  name?: string | null;
  /** URL that deliveries go to. Required if `delivery` is `push`. */
  url?: string | null;
  /** `push`: the `url` is called. `pull`: consumers fetch the deliveries. `broker`: they go to the broker of `broker`. */
  delivery?: 'push' | 'pull' | 'broker' | '' | null;
  /** Description for people. */
  description?: string | null;
  /** Owner, for fan-outs and portal links. */
  owner_id?: string | null;
  /** The Convoy signature includes a timestamp. */
  advanced_signatures?: boolean | null;
  /** Body of the deliveries: JSON or form fields. */
  content_type?: 'application/json' | 'application/x-www-form-urlencoded' | '' | null;
  /** Sends each event as a CloudEvent: `binary` or `structured`. Empty: as it came. */
  cloudevents?: '' | 'binary' | 'structured' | null;
  /** Timeout of a whole exchange in seconds. 0: that of the project. */
  http_timeout?: number | null;
  /** As `final_status_codes` of the project, for this endpoint. Empty: those of the project. */
  final_status_codes?: number[] | null;
  /** Sends in any interval of `rate_limit_duration`. 0: no limit. */
  rate_limit?: number | null;
  /** Length of that interval in seconds. */
  rate_limit_duration?: number | null;
  /** Gets the alerts of the endpoint by mail. */
  support_email?: string | null;
  /** From this time on the endpoint is inactive. Null: it does not expire. */
  expires_at?: string | Date | null;
  /** `challenge`: the URL has to echo a signed challenge before the first delivery, and again after it changes. */
  verification?: 'none' | 'challenge' | '' | null;
  /** At most 20 texts of your own by name, such as `{"plan": "gold"}`. Lists find them. */
  metadata?: Record<string, string> | null;
  /** `standard`: JSON bodies are `{"type", "timestamp", "data"}` around the payload, unless they are CloudEvents. `none`: the payload. `project`: as the project. */
  envelope?: 'project' | 'none' | 'standard' | '' | null;
  /** An envelope with names of its own in place of `envelope`: each member holds the `id` (that of `webhook-id`), `type`, `time` or `data` of the event, or `null`. */
  envelope_fields?: Record<string, 'id' | 'type' | 'time' | 'data' | 'null'> | null;
  /** Largest body of a request. A delivery with a larger one is not sent and ends as `Failure`. 0: any size. */
  max_body_bytes?: number | null;
  /** `webhook-id` of the requests: the id of the delivery, or `event`: that of the event. Then no two subscriptions of the endpoint may match the same event. */
  webhook_id?: 'delivery' | 'event' | '' | null;
  /** `User-Agent` of the deliveries. Empty: that of the project. */
  user_agent?: string | null;
  /** Name in the file of a project, unique per kind. */
  key?: string | null;
  authentication?: AuthenticationInput | null;
  mtls_client_cert?: ClientCertificateInput | null;
  signing_key?: {
    /** Creates a key pair that adds a signature. Empty or absent: removes it. */
    type?: 'ed25519' | '' | null;
  } | null;
  /** Gets the alerts of the endpoint in Slack. */
  slack_webhook_url?: string | null;
  /** Gets the alerts of the endpoint in Teams. */
  teams_webhook_url?: string | null;
  /** Headers of every delivery, at most 32. Stored sealed. They replace those of the event, and none of ours. */
  headers?: Record<string, string> | null;
  /** See Destinations. */
  broker?: BrokerInput | null;
  /** True makes the endpoint inactive: its deliveries are discarded. False changes nothing. Use activate to activate it. */
  is_disabled?: boolean | null;
  /** Signs deliveries. Default: random. An update replaces all secrets at once. Use expire_secret to keep the old one signing for a while. */
  secret?: string | null;
}

export interface BatchEvents {
  /** They are stored in this order. */
  events: BatchEvent[];
  /** Store nothing if an event is refused. False by default. */
  all_or_nothing?: boolean | null;
}

export interface BatchEvent extends BroadcastEvent {
  /** The call that sends such an event alone. It takes the fields of that call. */
  kind: 'direct' | 'fanout' | 'dynamic' | 'broadcast';
  endpoint_id?: string | null;
  /** Deprecated: use endpoint_id. */
  app_id?: string | null;
  owner_id?: string | null;
  /** URL of the endpoint. It is created if there is none. */
  url?: string | null;
  /** The signing secret of a created endpoint. */
  secret?: string | null;
  /** The event types of the endpoint’s subscription. */
  event_types?: string[] | null;
}

export interface BroadcastEvent {
  event_type: string;
  /** The payload: any JSON. */
  data: unknown;
  /** Headers sent with the event. */
  custom_headers?: Record<string, string> | null;
  /** A second event with the same key is stored as a duplicate and not sent. */
  idempotency_key?: string | null;
  acknowledged_at?: string | Date | null;
  /** The source of the event, of type rest_api. */
  source_id?: string | null;
  /** Free text stored with the event. */
  metadata?: string | null;
  /** The key of its deliveries to ordered subscriptions, instead of what `ordering.key` finds. */
  ordering_key?: string | null;
  /** It is not delivered before. At most the retention ahead. Not together with `delay_seconds`. */
  deliver_at?: string | Date | null;
  /** Time of delivery as seconds from now. */
  delay_seconds?: number | null;
  /** Deliveries that were not made by then are discarded. Not together with `ttl_seconds`. */
  expires_at?: string | Date | null;
  /** Expiry as seconds after its acceptance or `deliver_at`. */
  ttl_seconds?: number | null;
}

export interface CreateEvent extends BroadcastEvent {
  endpoint_id?: string | null;
  /** Deprecated: use endpoint_id. */
  app_id?: string | null;
}

export interface DynamicEvent extends BroadcastEvent {
  /** URL of the endpoint. It is created if there is none. */
  url: string;
  /** The signing secret of a created endpoint. */
  secret?: string | null;
  /** The event types of the endpoint’s subscription. */
  event_types?: string[] | null;
}

export interface FanoutEvent extends BroadcastEvent {
  owner_id: string;
}

export interface CreateEventType extends UpdateEventType {
  /** Name of the type. Filters can use it. */
  name: string;
}

export interface ImportEventTypes {
  /** An OpenAPI document, JSON or YAML. */
  spec: string;
}

export interface UpdateEventType {
  /** Group for people. */
  category?: string | null;
  /** Description for people. */
  description?: string | null;
  /** JSON Schema for readers, and for checks where the project has `schema_check`. */
  json_schema?: Record<string, unknown> | null;
}

export interface CreateFilter {
  /** Event type of the filter. */
  event_type: string;
  /** When the filter was enabled. Null disables it. Also `{set, time}`. */
  enabled_at?:
    | string
    | null
    | {
        set?: boolean;
        time?: string | null;
      }
    | Date;
  /** Conditions on the payload. */
  body?: Record<string, unknown> | null;
  /** Conditions on the headers. */
  headers?: Record<string, unknown> | null;
  /** Conditions on the query string. */
  query?: Record<string, unknown> | null;
  /** Conditions on the path. */
  path?: Record<string, unknown> | null;
}

export interface UpdateFilter {
  event_type?: string | null;
  /** For older callers. Both forms are read. */
  is_flattened?: boolean | null;
  /** When the filter was enabled. Null disables it. Also `{set, time}`. */
  enabled_at?:
    | string
    | null
    | {
        set?: boolean;
        time?: string | null;
      }
    | Date;
  /** Conditions on the payload. */
  body?: Record<string, unknown> | null;
  /** Conditions on the headers. */
  headers?: Record<string, unknown> | null;
  /** Conditions on the query string. */
  query?: Record<string, unknown> | null;
  /** Conditions on the path. */
  path?: Record<string, unknown> | null;
}

export interface CreatePortalLink extends UpdatePortalLink {
  /** Name for people. */
  name: string;
  /** Owner whose endpoints the link shows. */
  owner_id: string;
}

export interface UpdatePortalLink {
  /** Name for people. */
  name?: string | null;
  owner_id?: string | null;
  /** Whether the holder may change endpoints, subscriptions and filters. */
  can_manage_endpoint?: boolean | null;
  /** Whether the holder may send new events to the endpoints. */
  can_create_events?: boolean | null;
  /** Whether the holder may send earlier events again, and test events. */
  can_retry?: boolean | null;
  /** Whether the holder sees the secrets and credentials of endpoints, and the code of functions. Null: as `can_manage_endpoint`. */
  can_see_secrets?: boolean | null;
  /** Whether the holder may change functions, together with `can_manage_endpoint`. Null: as `can_manage_endpoint`. */
  can_edit_functions?: boolean | null;
  /** Whether the holder may send to brokers, together with `can_manage_endpoint`, if `portal_brokers` of the project is set. */
  can_use_brokers?: boolean | null;
  /** Event types that the holder may see: names, or prefixes such as `invoice.*`. Empty: all. */
  event_types?: string[] | null;
  /** Kind of token. */
  auth_type?: 'static_token' | 'refresh_token' | '' | null;
  /** Time at which the link expires. Null: never. */
  expires_at?: string | Date | null;
  /** Endpoints without an owner to assign to this owner. */
  endpoints?: string | string[] | null;
}

export interface PartialProjectConfig {
  /** Largest payload in bytes; a larger one is 413. */
  max_payload_read_size?: number | null;
  /** The Convoy signature of every endpoint includes a timestamp. */
  replay_attacks_prevention_enabled?: boolean | null;
  /** Deliveries carry `X-Convoy-Event-ID` and `X-Convoy-EventDelivery-ID`. */
  add_event_id_trace_headers?: boolean | null;
  /** An endpoint that keeps failing becomes inactive. */
  disable_endpoint?: boolean | null;
  /** An endpoint at which no attempt succeeded for this time, such as `120h`, becomes inactive, after an alert. Empty: never. */
  disable_after?: string | null;
  /** Viewers see no payloads, responses and query strings, and cannot search payloads. */
  hide_payload_from_viewers?: boolean | null;
  /** People need a session with a second factor. Keys do not. */
  require_second_factor?: boolean | null;
  /** False: one subscription per endpoint. */
  multiple_endpoint_subscriptions?: boolean | null;
  /** A dynamic event to a forbidden URL is refused. False: it is stored as failed. */
  verify_dynamic_events?: boolean | null;
  /** A dynamic event to a new URL creates an endpoint. False: it is stored as failed. */
  allow_unmatched_dynamic_urls?: boolean | null;
  /** Answer to an event that does not fit the [schema](how-to/event-types.md#checks) of its type. */
  schema_check?: 'off' | 'warn' | 'refuse' | null;
  /** How far back a search without dates reaches, such as `720h`. Empty: everything. */
  search_policy?: string | null;
  /** Timeout in seconds of endpoints that set none. */
  http_timeout?: number | null;
  /** Answers after which a delivery is not retried, such as `413`. After `410` the endpoint becomes inactive too. */
  final_status_codes?: number[] | null;
  /** Host name under which new endpoints are asked for their consent with OPTIONS. Empty: none is asked. */
  webhook_origin?: string | null;
  /** Header of a delivery with the idempotency key of its event. */
  request_id_header?: string | null;
  /** Form of the JSON bodies of endpoints with `envelope` `project`. */
  envelope?: 'none' | 'standard' | null;
  /** `User-Agent` of the deliveries. Empty: `Posthorn/` and the version, or that of the event. */
  user_agent?: string | null;
  /** Headers whose names look like credentials but are not. */
  visible_headers?: string[] | null;
  /** Portal links with `can_use_brokers` may create endpoints that send to brokers. */
  portal_brokers?: boolean | null;
  strategy?: {
    /** `linear`: the same wait before each retry. `exponential`: the wait doubles. */
    type?: 'linear' | 'exponential' | null;
    /** Seconds between attempts, or before the first retry. */
    duration?: number | null;
    /** Number of attempts, the first included. */
    retry_count?: number | null;
    /** The wait before each retry, such as `["5s", "5m", "2h"]`, up to 20 % longer at random. Replaces the other fields, which then describe it. */
    schedule?: string[] | null;
  } | null;
  ratelimit?: {
    /** Events accepted in any interval of `ratelimit.duration`. 0: no limit. */
    count?: number | null;
    /** Length of that interval in seconds. */
    duration?: number | null;
  } | null;
  ssl?: {
    /** Endpoints must use https. */
    enforce_secure_endpoints?: boolean | null;
  } | null;
  signature?: {
    header?: string | null;
    versions?: Array<{
      uid?: string | null;
      hash:
        | 'MD5'
        | 'SHA1'
        | 'SHA224'
        | 'SHA256'
        | 'SHA384'
        | 'SHA512'
        | 'SHA3_224'
        | 'SHA3_256'
        | 'SHA3_384'
        | 'SHA3_512'
        | 'SHA512_224'
        | 'SHA512_256';
      encoding: 'hex' | 'base64';
      created_at?: string | null;
    }> | null;
    /** Signature headers of deliveries. */
    schemes?: Array<'convoy' | 'standard'> | null;
  } | null;
  meta_event?: {
    /** Meta events are sent. */
    is_enabled?: boolean | null;
    /** The transport. There is only `http`. */
    type?: 'http' | '' | null;
    /** Meta events to send. Empty: none. */
    event_type?: string[] | null;
    /** URL that meta events are sent to. */
    url?: string | null;
    /** Secret that signs meta events. */
    secret?: string | null;
    /** Has no effect: meta events are sent by http. */
    pub_sub?: unknown;
  } | null;
  circuit_breaker?: {
    /** Seconds between two checks of a failing endpoint. */
    sample_rate?: number | null;
    /** Seconds that deliveries wait before one is sent as a probe. */
    error_timeout?: number | null;
    /** Percentage of failures that opens the breaker. */
    failure_threshold?: number | null;
    /** Probes that must succeed to close it, as a percentage of `minimum_request_count`. */
    success_threshold?: number | null;
    /** With fewer attempts the breaker does not open. */
    minimum_request_count?: number | null;
    /** Minutes of attempts that count. */
    observability_window?: number | null;
    /** How often in a row the breaker opens before `disable_endpoint` applies. */
    consecutive_failure_threshold?: number | null;
  } | null;
  retention_policy?: {
    /** Retention of the project, such as `720h`. Empty: that of the instance. */
    policy?: string | null;
    /** The policy is in force. Omitted with a policy: true. */
    retention_policy_enabled?: boolean | null;
  } | null;
  portal?: {
    /** Name at the top of the portal page. Empty: Webhooks. */
    title?: string | null;
    /** Image next to the name, an https URL. */
    logo_url?: string | null;
    /** Image on a dark ground. Empty: `portal.logo_url`. */
    logo_url_dark?: string | null;
    /** Local fonts, such as `Georgia, serif`. Empty: Inter, which the page brings. */
    font?: string | null;
    /** Colour of buttons and links, such as `#3b5bdb`. */
    accent?: string | null;
    /** Radius of corners in pixels. */
    radius?: number | null;
    /** `auto` follows the system of the reader. */
    color_scheme?: 'auto' | 'light' | 'dark' | null;
    /** `en`, `de`, `fr` or `es`. Empty: as the browser asks. */
    language?: string | null;
    /** Origins whose pages may embed the portal. Empty: none. */
    frame_origins?: string[] | null;
  } | null;
}

/** See Brokers. */
export interface PubSubInput {
  type?: 'sqs' | 'google' | 'kafka' | 'amqp' | '' | null;
  /** Consumers per node; 1 by default. */
  workers?: number | null;
  sqs?: SqsSettingsInput | null;
  google?: {
    project_id?: string | null;
    subscription_id?: string | null;
    /** workload: those of the machine that Posthorn runs on, if its operator allows it, instead of a key. */
    credentials?: 'workload' | '' | null;
    /** The key file as base64. Not with credentials. */
    service_account?: string | null;
    /** Another server with the same protocol, as an http or https URL. */
    endpoint?: string | null;
  } | null;
  kafka?: {
    /** Each as host:port. */
    brokers?: string[] | null;
    topic_name?: string | null;
    consumer_group_id?: string | null;
    auth?: KafkaSignInInput | null;
  } | null;
  amqp?: {
    /** Default: amqp. */
    schema?: 'amqp' | 'amqps' | '' | null;
    host?: string | null;
    /** Default: 5672 with amqp, 5671 with amqps. */
    port?: string | null;
    queue?: string | null;
    /** Default: /. */
    vhost?: string | null;
    deadLetterExchange?: string | null;
    auth?: {
      /** Default: guest, with the password guest. */
      user?: string | null;
      password?: string | null;
    } | null;
    bindExchange?: {
      exchange?: string | null;
      routingKey?: string | null;
    } | null;
  } | null;
}

/** See Destinations. */
export interface BrokerInput {
  type?: 'kafka' | 'amqp' | 'sqs' | 'google' | 's3' | '' | null;
  kafka?: {
    /** Each as host:port. */
    brokers?: string[] | null;
    topic?: string | null;
    topic_name?: string | null;
    auth?: KafkaSignInInput | null;
  } | null;
  amqp?: {
    /** Default: amqp. */
    schema?: 'amqp' | 'amqps' | '' | null;
    host?: string | null;
    /** Default: 5672 with amqp, 5671 with amqps. */
    port?: string | null;
    /** Default: /. */
    vhost?: string | null;
    auth?: {
      /** Default: guest, with the password guest. */
      user?: string | null;
      password?: string | null;
    } | null;
    /** Empty: the default exchange. The routing key is the name of the queue then. */
    exchange?: string | null;
    /** With an exchange, empty means the event type. */
    routing_key?: string | null;
  } | null;
  sqs?: SqsSettingsInput | null;
  google?: {
    project_id?: string | null;
    topic_id?: string | null;
    /** workload: those of the machine that Posthorn runs on, if its operator allows it, instead of a key. */
    credentials?: 'workload' | '' | null;
    /** The key file as base64. Not with credentials. */
    service_account?: string | null;
    /** Another server with the same protocol, as an http or https URL. */
    endpoint?: string | null;
  } | null;
  s3?: {
    bucket?: string | null;
    /** The names of all objects begin with it, such as events/. */
    prefix?: string | null;
    /** workload: those of the machine that Posthorn runs on, if its operator allows it, instead of a key. */
    credentials?: 'workload' | '' | null;
    /** Not with credentials. */
    access_key_id?: string | null;
    /** Not with credentials. */
    secret_key?: string | null;
    default_region?: string | null;
    /** Another server with the same protocol, as an http or https URL. */
    endpoint?: string | null;
  } | null;
}

export interface KafkaSignInInput {
  type?: 'plain' | 'scram' | '' | null;
  /** Only with auth.type plain or scram. */
  username?: string | null;
  /** Only with auth.type plain or scram. */
  password?: string | null;
  /** Only with auth.type scram. Default: SHA512. */
  hash?: 'SHA256' | 'SHA512' | '' | null;
  tls?: boolean | null;
}

export interface SqsSettingsInput {
  queue_name?: string | null;
  /** workload: those of the machine that Posthorn runs on, if its operator allows it, instead of a key. */
  credentials?: 'workload' | '' | null;
  /** Not with credentials. */
  access_key_id?: string | null;
  /** Not with credentials. */
  secret_key?: string | null;
  default_region?: string | null;
  /** Another server with the same protocol, as an http or https URL. */
  endpoint?: string | null;
}

export interface CreateSource extends UpdateSource {
  /** Name for people. */
  name: string;
  /** Type of the source. */
  type: 'http' | 'rest_api' | 'pub_sub' | 'db_change_stream' | 'schedule';
  /** Preset of a known sender. Needs only `verifier.hmac.secret`. Cannot be changed. */
  provider?:
    | 'github'
    | 'shopify'
    | 'twitter'
    | 'stripe'
    | 'slack'
    | 'standard_webhooks'
    | 'svix'
    | 'gitlab'
    | 'twilio'
    | 'paddle'
    | 'zoom'
    | 'discord'
    | 'linear'
    | 'typeform'
    | 'hubspot'
    | 'mailgun'
    | 'square'
    | 'intercom'
    | 'pagerduty'
    | 'calendly'
    | ''
    | null;
}

export interface UpdateSource {
  /** Name for people. */
  name?: string | null;
  /** Type of the source. */
  type?: 'http' | 'rest_api' | 'pub_sub' | 'db_change_stream' | 'schedule' | null;
  /** The source refuses every request with 403. */
  is_disabled?: boolean | null;
  /** JavaScript that changes the incoming payload. */
  body_function?: string | null;
  /** JavaScript that changes the incoming headers. */
  header_function?: string | null;
  /** Locations that identify an event, such as `request.body.id`. */
  idempotency_keys?: string[] | null;
  /** Location of the event type, such as `request.body.type`. With a signature, in the body or a header. Empty: the `mask_id`. */
  event_type_location?: string | null;
  /** Headers forwarded with each delivery. */
  forward_headers?: string[] | null;
  /** Reads requests with CloudEvents, and answers the handshakes of their senders. Off in sources of version 0.1.0. */
  cloudevents?: boolean | null;
  /** Reads CloudEvents in `ce-` headers although a signature covers the body alone. */
  unsigned_cloudevents?: boolean | null;
  /** Response to the sender. */
  custom_response?: CustomResponseInput | null;
  /** Events accepted in any interval of `rate_limit_duration`. 0: no limit. */
  rate_limit?: number | null;
  /** Length of that interval in seconds. */
  rate_limit_duration?: number | null;
  /** Name in the file of a project, unique per kind. */
  key?: string | null;
  /** See Brokers. */
  pub_sub?: PubSubInput | null;
  /** See Change streams. */
  db_change_stream?: ChangeStreamInput | null;
  /** Only a source of the type `schedule` has it. See Schedules. */
  schedule?: ScheduleInput | null;
  verifier?: VerifierInput | null;
}

export interface VerifierInput {
  /** How a sender authenticates itself. Default: `noop`. */
  type?: 'noop' | 'hmac' | 'basic_auth' | 'api_key' | '' | null;
  hmac?: {
    /** Header with the signature. */
    header?: string | null;
    /** Hash of the signature. */
    hash?:
      | 'MD5'
      | 'SHA1'
      | 'SHA224'
      | 'SHA256'
      | 'SHA384'
      | 'SHA512'
      | 'SHA3_224'
      | 'SHA3_256'
      | 'SHA3_384'
      | 'SHA3_512'
      | 'SHA512_224'
      | 'SHA512_256'
      | ''
      | null;
    /** Secret of the signature. */
    secret?: string | null;
    /** Encoding of the signature. */
    encoding?: 'hex' | 'base64' | '' | null;
  } | null;
  basic_auth?: {
    /** Required user name. */
    username?: string | null;
    /** Required password. */
    password?: string | null;
  } | null;
  api_key?: {
    /** Required header. Empty: `Authorization`. */
    header_name?: string | null;
    /** Required value of that header. */
    header_value?: string | null;
  } | null;
}

export interface CreateSubscription extends UpdateSubscription {
  /** Name for people. */
  name: string;
}

export interface UpdateSubscription {
  name?: string | null;
  /** Endpoint that the deliveries go to. Required. */
  endpoint_id?: string | null;
  /** Only events of this source. Empty: events of any origin. */
  source_id?: string | null;
  /** JavaScript that returns the payload to send. */
  function?: string | null;
  /** `at_most_once` never repeats a request that may have arrived. */
  delivery_mode?: 'at_least_once' | 'at_most_once' | '' | null;
  /** Failed attempts that raise an alert. Needs both members. `{}` removes it. */
  alert_config?: AlertConfigInput | null;
  /** Limit of sends. Needs both members. `{}` removes it. */
  rate_limit_config?: RateLimitConfigInput | null;
  /** Retries. `{}`: as the project. */
  retry_config?: RetryConfigInput | null;
  /** Order by key. `on_failure` is `hold` unless given. `{}` removes it. */
  ordering?: {
    /** Where an event has its key: `$.body.account.id`, `$.headers.X-Account`, or `endpoint` for one order of all deliveries to the endpoint. `ordering_key` of an event overrides it. */
    key?: string | null;
    /** `hold`: after a failure the key waits until the delivery is resent or skipped. `skip`: the next one goes. */
    on_failure?: 'hold' | 'skip' | null;
  } | null;
  /** Batches: many deliveries in one request. `{}` removes it. */
  batch?: {
    /** Most deliveries of a batch, up to 1000. 100 unless given. */
    max?: number | null;
    /** Most bytes of their payloads, up to 10000000. 1000000 unless given. What stands around each payload in the request is not counted. */
    max_bytes?: number | null;
    /** Longest wait of a delivery for others, up to 300. 5 unless given. 0: none. */
    max_wait_seconds?: number | null;
  } | null;
  /** Deliveries expire so many seconds after their event. 0: never. */
  ttl_seconds?: number | null;
  /** Name in the file of a project, unique per kind. */
  key?: string | null;
  /** Deprecated: use `endpoint_id`. */
  app_id?: string | null;
  filter_config?: FilterConfigInput | null;
}

/** Client credentials with a secret or with an assertion signed by a key. */
export interface OAuth2Input {
  /** URL of the token server. */
  url: string;
  /** Client id. */
  client_id: string;
  /** The client authenticates by a secret or by a signed assertion. */
  authentication_type: 'shared_secret' | 'client_assertion';
  /** Needed for `shared_secret`. */
  client_secret?: string | null;
  /** Requested grant. Default: `client_credentials`. */
  grant_type?: string | null;
  /** Requested scope. */
  scope?: string | null;
  /** Requested audience. */
  audience?: string | null;
  /** Private key as JWK: `kty`, `crv`, `x`, `y`, `d` of EC, or `kty`, `n`, `e`, `d`, `p`, `q`, `dp`, `dq`, `qi` of RSA. Needed for `client_assertion`. */
  signing_key?: Record<string, unknown> | null;
  /** Algorithm of the assertion. Default: `ES256`. */
  signing_algorithm?:
    | 'ES256'
    | 'ES384'
    | 'ES512'
    | 'RS256'
    | 'RS384'
    | 'RS512'
    | 'PS256'
    | 'PS384'
    | 'PS512'
    | ''
    | null;
  /** Issuer of the assertion. Default: `client_id`. */
  issuer?: string | null;
  /** Subject of the assertion. Default: `client_id`. */
  subject?: string | null;
  field_mapping?: {
    /** Name of this field in the token response. */
    access_token?: string | null;
    /** Name of the field with the type of the token. */
    token_type?: string | null;
    /** Name of the field with its lifetime. */
    expires_in?: string | null;
  } | null;
  /** Unit of `expires_in`. Default: `seconds`. */
  expiry_time_unit?: 'seconds' | 'milliseconds' | 'minutes' | 'hours' | '' | null;
}

export interface AuthenticationInput {
  /** The authentication method. */
  type?: 'api_key' | 'basic_auth' | 'oauth2' | '' | null;
  api_key?: {
    /** Header of each delivery. */
    header_name: string;
    /** Value of that header. */
    header_value: string;
  } | null;
  basic_auth?: {
    /** User name. */
    username: string;
    /** Password. */
    password: string;
  } | null;
  /** Client credentials with a secret or with an assertion signed by a key. */
  oauth2?: OAuth2Input | null;
}

export interface ClientCertificateInput {
  /** Client certificate in PEM. Both parts empty: none. */
  client_cert?: string | null;
  /** Its private key in PEM. `***` keeps the stored key. */
  client_key?: string | null;
}

/** See Change streams. */
export interface ChangeStreamInput {
  /** postgres://user:password@host:5432/database, with ?sslmode=verify-full for TLS. */
  connection_url?: string | null;
  /** Made if it does not exist. Empty: a name is made up. */
  slot_name?: string | null;
  /** Made for the tables if it does not exist. Empty: a name is made up. */
  publication_name?: string | null;
  /** Each as schema.table. Empty: those of the publication. */
  tables?: string[] | null;
  /** The rows that are there become events too. */
  snapshot?: boolean | null;
}

/** Only a source of the type `schedule` has it. See Schedules. */
export interface ScheduleInput {
  /** Minute, hour, day of the month, month and day of the week, such as `0 9 * * mon-fri`. */
  cron?: string | null;
  /** Name in the IANA database, such as `Europe/Berlin`. Default: `UTC`. */
  time_zone?: string | null;
  /** Type of the events. */
  event_type?: string | null;
  /** Their payload, 65,536 bytes at most. Null: `{"scheduled_at": TIME}`. */
  data?: unknown;
}

/** Response to the sender. */
export interface CustomResponseInput {
  /** Body of the response to the sender, 51,200 bytes at most. */
  body?: string | null;
  /** JSON, plain text, XML or form. Empty: plain text. */
  content_type?: string | null;
}

/** Failed attempts that raise an alert. Needs both members. `{}` removes it. */
export interface AlertConfigInput {
  /** Failed attempts that raise an alert. */
  count?: number | null;
  /** Time within which they must occur, such as `1h`. */
  threshold?: string | null;
}

export interface FilterConfigInput {
  /** Event types: exact names, `*`, or trailing globs such as `invoice.*`. None: `*`. */
  event_types?: string[] | null;
  filter?: {
    /** Conditions on the payload. */
    body?: Record<string, unknown> | null;
    /** Conditions on the headers. */
    headers?: Record<string, unknown> | null;
    /** Conditions on the query string. */
    query?: Record<string, unknown> | null;
    /** Conditions on the path. */
    path?: Record<string, unknown> | null;
  } | null;
}

/** Limit of sends. Needs both members. `{}` removes it. */
export interface RateLimitConfigInput {
  /** Sends of this subscription in any interval of `rate_limit_config.duration`. 0: no limit. */
  count?: number | null;
  /** Length of that interval in seconds. */
  duration?: number | null;
}

/** Retries. `{}`: as the project. */
export interface RetryConfigInput {
  /** As `strategy.type` of the project. */
  type?: 'linear' | 'exponential' | '' | null;
  /** Wait as a duration such as `10s`. Overrides `interval_seconds`. */
  duration?: string | null;
  /** Wait between attempts in seconds. */
  interval_seconds?: number | null;
  /** Retries after the first attempt. 0: one attempt. */
  retry_count?: number | null;
  /** The wait before each retry, such as `["5s", "5m", "2h"]`, up to 20 % longer at random. Replaces the other fields, which then describe it. */
  schedule?: string[] | null;
}

export interface SampleRequest {
  body?: unknown;
  header?: Record<string, unknown> | null;
  headers?: Record<string, unknown> | null;
  /** An object, or a query string. */
  query?: unknown;
  /** The path, or an object with it under `path`. */
  path?: unknown;
}

export interface UpdateFilterById extends UpdateFilter {
  uid: string;
}

export interface CreateProjectBody {
  name: string;
  /** A label without effect: both kinds can do everything. */
  type: 'outgoing' | 'incoming';
  logo_url?: string | null;
  config?: PartialProjectConfig | null;
  /** Values for functions, by name. At most 100. They are stored sealed and shown as `***`; written back, that keeps the value. */
  variables?: Record<string, string> | null;
  /** The cell that it is made in, by name. Default: the one with the fewest projects. */
  cell?: string | null;
}

export interface CreateProjectResult {
  project: Project;
  api_key: NewApiKey;
}

export interface UpdateProjectBody {
  name?: string | null;
  logo_url?: string | null;
  config?: PartialProjectConfig | null;
  /** Values for functions, by name. At most 100. They are stored sealed and shown as `***`; written back, that keeps the value. */
  variables?: Record<string, string> | null;
}

export interface CreateKeyBody {
  name: string;
  /** The role of the key; `admin` by default. */
  role?: 'viewer' | 'developer' | 'admin' | null;
  expires_at?: string | Date | null;
}

export interface RollSigningKeyBody {
  /** Seconds for which the key before signs along; a day by default. */
  expiration?: number | null;
}

export interface RollSigningKeyResult {
  /** Its name in the JSON Web Key Set. */
  kid: string;
  /** `whpk_` and the base64 of the Ed25519 key. */
  public_key: string;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  expires_at: string | null;
}

export interface TestSourceConnectionResult {
  ok: boolean;
  /** Why it is not; empty where it is. */
  reason: string;
}

export interface TestFilterBody {
  request?: SampleRequest | null;
  schema?: {
    body?: Record<string, unknown> | null;
    header?: Record<string, unknown> | null;
    headers?: Record<string, unknown> | null;
    query?: Record<string, unknown> | null;
    path?: Record<string, unknown> | null;
  } | null;
}

export interface PreviewSubscriptionBody {
  filter_config?: FilterConfigInput | null;
  /** JavaScript that returns the payload to send. */
  function?: string | null;
  /** How many of the latest events of the types subscribed to; 20 by default. */
  limit?: number | null;
}

export interface PreviewSubscriptionResult {
  /** How many of the events would be delivered. */
  matched: number;
  /** Set if older events were omitted: after 5 s, or 8388608 bytes of payloads. */
  cut: 'time' | 'bytes' | null;
  /** Newest first. */
  events: Array<{
    event_id: string;
    event_type: string;
    acknowledged_at: string;
    matched: boolean;
    cause:
      | 'duplicate'
      | 'target'
      | 'inactive'
      | 'source'
      | 'type'
      | 'filter'
      | 'moving'
      | 'pending'
      | 'paused'
      | null;
    reason: string;
    filter_id: string | null;
    clause: FilterExplanation | null;
    /** The payload, if it matched and there is a function; else null. */
    before: unknown;
    /** The result of the function; null if it fails or there is none. */
    after: unknown;
    function_error: string | null;
    /** Set by a function with `export const version = 2`; else null. */
    request: FunctionRequest | null;
    /** Why the function cancels the delivery; null if it does not. */
    cancelled: string | null;
  }>;
}

export interface TryFiltersBody {
  /** The body alone. Alternatively send a whole request. */
  payload?: unknown;
  request?: SampleRequest | null;
}

export interface CountBatchReplayEventsResult {
  num: number;
}

export interface RescheduleEventBody {
  /** It is not delivered before. At most the retention ahead. Not together with `delay_seconds`. */
  deliver_at?: string | Date | null;
  /** Time of delivery as seconds from now. */
  delay_seconds?: number | null;
}

export interface ExplainEventResult {
  event_id: string;
  event_type: string;
  /** New deliveries that a replay would make now. */
  replay_deliveries: number;
  /** How many endpoints they are for. */
  replay_endpoints: number;
  subscriptions: SubscriptionExplanation[];
}

export interface GetWaitingTotalsResult {
  moving: number;
  pending: number;
  paused: number;
  circuit_breaker: number;
  rate_limit: number;
  delayed: number;
  retry: number;
  order: number;
  batch: number;
  sending: number;
  pull: number;
  node: number;
  /** Whether all open deliveries were counted. If not, a part of each endpoint was, and the counts are lower bounds. */
  complete: boolean;
}

export interface ForceResendEventDeliveriesBody {
  ids: string | string[];
  /** Send without regard to order by key. A held key stays held. */
  order?: 'ignore' | null;
}

export interface ForceResendEventDeliveriesResult {
  successful: number;
  failed: number;
}

export interface ListFailuresResult {
  /** The largest first. */
  groups: Array<{
    endpoint_id: string;
    endpoint_name: string;
    endpoint_deleted: boolean;
    owner_id: string;
    /** The result of the last attempt, as in the filter of deliveries; `not_sent` without one. */
    outcome: string;
    /** The reason of one of these deliveries. */
    description: string;
    count: number;
    /** Open deliveries that are tried again. */
    retrying: number;
    /** Deliveries that ended as Failure. */
    failed: number;
    /** Whether a call of `sendnow` can make its open deliveries due: the endpoint is active and does not pull. */
    may_send_now: boolean;
    /** True: more deliveries of the endpoint wait than were read, so `count` and `retrying` are lower bounds, and `first_at` and `oldest_at` are of those that were read. */
    at_least: boolean;
    /** RFC 3339, UTC, milliseconds. */
    first_at: string;
    /** RFC 3339, UTC, milliseconds. */
    last_at: string;
    /** RFC 3339, UTC, milliseconds. */
    oldest_at: string;
    /** The mute of the group: by whom, and until when. Null if it is not muted, and for portal links. */
    muted: {
      uid: string;
      /** RFC 3339, UTC, milliseconds. */
      until: string;
      /** The actor who muted it. */
      by: {
        type: 'person' | 'api_key' | 'portal_link' | 'instance_key' | 'cli' | 'instance';
        uid: string | null;
        /** The name of the person or key; empty if there is none. */
        name: string;
      };
    } | null;
  }>;
  /** False: not all that fails is counted. So many deliveries wait that a part of them was read of each endpoint (`at_least` marks these groups), the time was up before every failing endpoint was read, or there are more than 500 groups. */
  complete: boolean;
}

export interface MuteFailuresBody {
  endpoint_id: string;
  /** The cause, as `outcome` of the group. */
  outcome: string;
  /** When the mute ends: in 24 hours by default, in 90 days at the latest. */
  until?: string | Date | null;
}

export interface MuteFailuresResult {
  uid: string;
  endpoint_id: string;
  outcome: string;
  /** RFC 3339, UTC, milliseconds. */
  until: string;
}

export interface SkipOrderingKeysBody {
  ids: string | string[];
}

export interface SkipOrderingKeysResult {
  /** Deliveries that are due now. */
  released: number;
}

export interface TryEndpointBody {
  /** A saved endpoint. Fields of `endpoint` are tried in place of its own. */
  endpoint_id?: string | null;
  endpoint?: UpdateEndpoint | null;
  /** For links that may see some event types only. */
  event_type?: string | null;
  /** The body to send; a sample by default. */
  data?: unknown;
}

export interface GetReceiverResult {
  /** An endpoint with this URL is the built-in receiver. */
  url: string;
  /** The latest 20, newest first. */
  requests: Array<{
    event_delivery_id: string;
    event_id: string;
    event_type: string;
    endpoint_id: string;
    headers: Record<string, string>;
    body: string;
    /** RFC 3339, UTC, milliseconds. */
    received_at: string;
  }>;
}

/** At most 1,000 items; also as multipart/form-data with a CSV file in the field `file`. */
export interface OnboardBody {
  items: Array<{
    name?: string | null;
    url?: string | null;
    event_type?: string | null;
    auth_username?: string | null;
    auth_password?: string | null;
    /** Its line in a file, for error messages. */
    line?: number | null;
  }>;
}

export interface GetSourceAddressesResult {
  /** Addresses and CIDR ranges. Empty: the operator names none. */
  addresses: string[];
}

export interface TestOAuth2Body {
  oauth2: OAuth2Input;
}

export interface TestOAuth2Result {
  success: boolean;
  access_token?: string;
  token_type?: string;
  expires_at: string | null;
  error?: string;
  message?: string;
}

export interface PullEndpointBody {
  /** Deliveries at most; 10 by default. */
  max?: number | null;
  /** How long to wait for the first; 0 by default. */
  wait_seconds?: number | null;
  /** Time for the results; 30 by default. */
  lease_seconds?: number | null;
}

export interface PullEndpointResult {
  deliveries: Array<{
    uid: string;
    /** Send it back with the result. */
    lease: string;
    event_id: string;
    event_type: string;
    /** From 1. */
    attempt: number;
    /** RFC 3339, UTC, milliseconds. */
    leased_until: string;
    /** The query string that a push has in its URL. */
    url_query_params: string;
    /** The headers that a push would have had, with its signatures. */
    headers: Record<string, string>;
    /** The exact bytes, in base64. */
    body: string;
  }>;
}

export interface ReportResultsBody {
  results: Array<{
    uid: string;
    lease: string;
    ok: boolean;
    /** Why it failed. */
    reason?: string | null;
  }>;
}

export interface ReportResultsResult {
  results: Array<{
    uid: string;
    state: 'recorded' | 'late' | 'conflict' | 'unknown';
  }>;
}

export interface GetDashboardSummaryResult {
  /** Deliveries that were attempted. */
  events_sent: number;
  /** Endpoints. */
  apps: number;
  period: string;
  event_data: Array<{
    data: {
      index: number;
      /** RFC 3339, UTC, milliseconds. */
      date: string;
    };
    count: number;
    /** Attempts that succeeded. */
    successes: number;
    /** Attempts that failed. */
    failures: number;
  }>;
}

export interface GetStatusTotalsResult {
  Scheduled: number;
  Processing: number;
  Discarded: number;
  Failure: number;
  Success: number;
  Retry: number;
}

export interface GetTimeSeriesResult {
  step: 'minute' | 'hour' | 'day';
  /** One for each step, oldest first, also where nothing happened. */
  points: TimeSeriesPoint[];
  totals: TimeSeriesTotals;
  /** When circuit breakers of these endpoints were open in the range, oldest first: the last 500, and 50 of each endpoint. None for sources. */
  breaker_openings: BreakerOpening[];
}

export interface GetHealthResult {
  /** RFC 3339, UTC, milliseconds. */
  as_of: string;
  window: {
    /** RFC 3339, UTC, milliseconds. */
    start: string;
    /** RFC 3339, UTC, milliseconds. */
    end: string;
  };
  /** Whether all open deliveries were counted. If not, `open` and `waiting_for` are lower bounds. */
  complete: boolean;
  by_state: {
    failing: number;
    disabled: number;
    degraded: number;
    held: number;
    recovered: number;
    ok: number;
  };
  /** The worst first. */
  endpoints: EndpointHealth[];
  /** The worst first. Empty unless asked for. */
  customers: CustomerHealth[];
}

export interface SearchResult {
  hits: Array<{
    kind:
      | 'event'
      | 'event_delivery'
      | 'endpoint'
      | 'subscription'
      | 'source'
      | 'event_type'
      | 'customer'
      | 'job'
      | 'meta_event';
    /** The id, or the name of an event type or customer. */
    uid: string;
    title: string;
    /** Where the text was found: `name`, `idempotency_key`, `data.invoice.id`. */
    field: string;
    /** The value with the text in it; the part around the text if it is long. */
    value: string;
    /** The customer of an endpoint, subscription or delivery, or the only one whom an event went to. Else empty. */
    owner_id: string;
    created_at: string | null;
  }>;
  /** Events whose contents were looked at. */
  searched_events: number;
  /** Contents of events since this time were looked at; null: of all events. */
  searched_from: string | null;
  /** False: the time was up, or enough events were found, before `searched_from` could be earlier. */
  complete: boolean;
  /** With it the same search goes on to older events. Empty: nothing is left, or no event was looked at. */
  next_page_cursor: string;
}

export interface SaveViewBody {
  /** The page of the dashboard, such as `deliveries`. */
  page: string;
  name: string;
  /** The filters of the page, as in the query of its address. */
  query: string;
}

export interface TestSubscriptionFunctionBody {
  /** The argument of the function. */
  payload?: unknown;
  /** Source text that defines `transform`. */
  function: string;
  /** For sources: which of the two functions it is. */
  type?: 'body' | 'header' | '' | null;
  /** For subscriptions: the type that the function gets; `posthorn.test` by default. */
  event_type?: string | null;
}

export interface TestSubscriptionFunctionResult {
  /** The result of the function. */
  payload: unknown;
  /** Lines written to the console. */
  log: string[];
  /** CPU time used. */
  duration_ms: number;
  limits: FunctionLimits;
  /** Set by a function with `export const version = 2`; else null. */
  request: FunctionRequest | null;
  /** Why the function cancels the delivery; null if it does not. */
  cancelled: string | null;
}

export interface TestSourceFunctionResult {
  /** The result of the function. */
  payload: unknown;
  /** Lines written to the console. */
  log: string[];
  /** CPU time used. */
  duration_ms: number;
  limits: FunctionLimits;
}

export interface UpdateMeBody {
  name?: string | null;
}

export interface ChangePasswordBody {
  /** Not needed if the account has none yet. */
  current_password?: string | null;
  new_password: string;
}

export interface BeginSecondFactorResult {
  /** For typing into the app. */
  secret: string;
  /** For a QR code. */
  url: string;
}

export interface ConfirmSecondFactorBody {
  /** A code of the app. Where a second factor is set up, also a recovery code. */
  code: string;
}

export interface ConfirmSecondFactorResult {
  /** Each works once. They are shown this once. */
  recovery_codes: string[];
  me: Me;
}

export interface InviteToProjectBody {
  email: string;
  name?: string | null;
  role: 'viewer' | 'developer' | 'admin';
}

export interface InviteToProjectResult {
  person: Person;
  /** The invitation, a link that works once. Null: the person has an account and can use it, or the link was mailed. */
  link: string | null;
}

export interface ChangeRoleBody {
  role?: 'viewer' | 'developer' | 'admin' | null;
}

export interface InviteToInstanceBody {
  email: string;
  name?: string | null;
}

export interface UpdateAccountBody {
  /** A new address of another person removes the password, second factor and sessions of the account. Its owner gets an invitation. */
  email?: string | null;
  name?: string | null;
  instance_admin?: boolean | null;
  /** False: the person cannot sign in. */
  is_active?: boolean | null;
}

export interface UpdateAccountResult extends Person {
  /** A new invitation, if the change removed the password of the account: it has another address, or it became an administrator of the instance and its address was never confirmed. Otherwise null. */
  link: string | null;
}

export interface CreateSignInLinkBody {
  /** The first administrator of the instance by default. */
  email?: string | null;
  /** `sign_in` by default. */
  purpose?: 'sign_in' | 'invitation' | 'reset' | null;
  /** Whether the use of the link removes the second factor. */
  remove_second_factor?: boolean | null;
}

export interface CreateSignInLinkResult {
  person: Person;
  link: string;
}

export interface SignInBody {
  email: string;
  password: string;
  /** A code of the second factor, or a recovery code. */
  code?: string | null;
}

export interface RequestResetBody {
  email: string;
}

export interface ListProvidersResult {
  /** Whether people may sign in with a password. */
  password: boolean;
  /** Whether a forgotten password can be reset by mail. */
  reset_by_mail: boolean;
  providers: Array<{
    name: string;
    title: string;
    /** Where the browser goes to sign in. */
    url: string;
  }>;
}

export interface CheckLinkBody {
  /** The part of the link after `#link=`. */
  token: string;
}

export interface CheckLinkResult {
  purpose: 'sign_in' | 'invitation' | 'reset';
  email: string;
  name: string;
  /** Whether its use sets a password. */
  needs_password: boolean;
  /** Whether its use needs a code of the second factor. */
  needs_code: boolean;
}

export interface UseLinkBody {
  /** The part of the link after `#link=`. */
  token: string;
  /** The new password, for an invitation or a reset. */
  password?: string | null;
  name?: string | null;
  /** A code of the second factor, or a recovery code. */
  code?: string | null;
}

/** RFC 3339, UTC, milliseconds. */
export type Timestamp = string;

export interface DeliveryFilterQuery extends DateQuery {
  /** Only these deliveries. */
  deliveryId?: string | string[];
  /** Only deliveries to these endpoints. */
  endpointId?: string | string[];
  eventId?: string;
  subscriptionId?: string;
  /** `event_type` is another spelling. */
  eventType?: string;
  /** Only deliveries in these states. */
  status?: Array<'Scheduled' | 'Processing' | 'Discarded' | 'Failure' | 'Success' | 'Retry'>;
  /** Only deliveries that ended at or after this time, in the form of startDate. */
  endedSince?: string;
  /** Whether they were cancelled. */
  cancelled?: boolean;
  /** Only deliveries to endpoints of this owner. */
  ownerId?: string;
  /** Only deliveries whose last attempt had one of these results: `http_503`, `http_5xx`, `timeout` and the like, or `not_sent` for deliveries without an attempt. */
  outcome?: string[];
  /** Only open deliveries that wait for one of these. */
  waitingFor?: Array<
    | 'moving'
    | 'pending'
    | 'paused'
    | 'circuit_breaker'
    | 'rate_limit'
    | 'delayed'
    | 'retry'
    | 'order'
    | 'batch'
    | 'sending'
    | 'pull'
    | 'node'
  >;
  /** Part of the event type, the description, or the name, URL or owner of the endpoint, or the beginning of the id; or a complete id of a delivery or event. */
  query?: string;
  idempotencyKey?: string;
  brokerMessageId?: string;
}

export interface EventFilterQuery extends DateQuery {
  /** Only events for these endpoints. */
  endpointId?: string | string[];
  /** Only events of these sources. */
  sourceId?: string | string[];
  /** Only events for endpoints of this owner. */
  ownerId?: string;
  /** Only events that matched no subscription, duplicates aside. With `ownerId` these are the events that were sent to the owner. */
  unmatched?: boolean;
  /** Whether repeats of an idempotency key count too. True by default; a replay skips them. */
  duplicates?: boolean;
  /** Only events that are delivered at a later time. */
  delayed?: boolean;
  idempotencyKey?: string;
  brokerMessageId?: string;
  /** Part of the event type, the idempotency key or the name of the source, or the beginning of the id. A JSON object in it counts as `body`. */
  query?: string;
  /** A JSON object that the payload must contain. */
  body?: string;
}

export interface JobQuery {
  /** Count what the job would do, and show some of it. Nothing is started or sent. */
  dry_run?: boolean;
  /** Rows per second at most. By default there is no limit. */
  rate?: number;
}

export interface PageQuery {
  /** Items per page; 20 by default. */
  perPage?: number;
  /** `next` by default. */
  direction?: 'next' | 'prev';
  next_page_cursor?: string;
  prev_page_cursor?: string;
  /** `DESC` by default: newest first. */
  sort?: 'ASC' | 'DESC';
}

export interface DateQuery {
  /** Start time: 2026-01-31T15:04:05, UTC, or RFC 3339. */
  startDate?: string | Date;
  /** End time, in the same form. */
  endDate?: string | Date;
}

export interface ListEndpointsQuery extends PageQuery {
  /** Part of the name. */
  q?: string;
  ownerId?: string;
  /** A text of the metadata, as `name:value`. */
  metadata?: string[];
}

export interface ListSourcesQuery extends PageQuery {
  /** Part of the name. */
  q?: string;
  type?: 'http' | 'rest_api' | 'pub_sub' | 'db_change_stream' | 'schedule';
  provider?: string;
}

export interface ListSubscriptionsQuery extends PageQuery {
  /** Only subscriptions of these endpoints. */
  endpointId?: string | string[];
  /** Part of the name. */
  name?: string;
}

export interface TestFilterResult {
  /** Whether the filter matches the request. */
  data: boolean;
  explain?: FilterExplanation;
}

export interface TryFiltersResult {
  data: FilterMatch;
  explain?: FilterExplanation;
}

export type GetEventTypesAsOpenApiResult = Record<string, unknown>;

export type GetEventTypesAsAsyncApiResult = Record<string, unknown>;

export type ListEventsQuery = EventFilterQuery & PageQuery;

export interface ReplayEventQuery {
  /** Send only to the endpoints of this owner. */
  to_owner?: string;
  /** Send only to these endpoints. */
  to_endpoint?: string[];
  /** Send without regard to order by key. A held key stays held. */
  order?: 'ignore';
}

export interface BatchReplayEventsQuery extends EventFilterQuery, JobQuery {
  /** Has no effect on this call. */
  perPage?: number;
  /** Has no effect on this call. */
  direction?: 'next' | 'prev';
  /** Has no effect on this call. */
  next_page_cursor?: string;
  /** Has no effect on this call. */
  prev_page_cursor?: string;
  /** Has no effect on this call. */
  sort?: 'ASC' | 'DESC';
  /** Send without regard to order by key. A held key stays held. */
  order?: 'ignore';
  /** Send only to the endpoints of this owner. */
  to_owner?: string;
  /** Send only to these endpoints. */
  to_endpoint?: string[];
  /** Send only to the endpoints that `endpointId` and `ownerId` name. */
  only_endpoint?: boolean;
}

export interface CountBatchReplayEventsQuery extends EventFilterQuery {
  /** Has no effect on this call. */
  perPage?: number;
  /** Has no effect on this call. */
  direction?: 'next' | 'prev';
  /** Has no effect on this call. */
  next_page_cursor?: string;
  /** Has no effect on this call. */
  prev_page_cursor?: string;
  /** Has no effect on this call. */
  sort?: 'ASC' | 'DESC';
}

export interface ExplainEventQuery {
  /** Send only to the endpoints of this owner. */
  to_owner?: string;
  /** Send only to these endpoints. */
  to_endpoint?: string[];
}

export type ListEventDeliveriesQuery = DeliveryFilterQuery & PageQuery;

export type GetWaitingTotalsQuery = DeliveryFilterQuery;

export interface ResendEventDeliveryQuery {
  /** Send without regard to order by key. A held key stays held. */
  order?: 'ignore';
}

export interface BatchRetryEventDeliveriesQuery extends DeliveryFilterQuery, JobQuery {
  /** Has no effect on this call. */
  perPage?: number;
  /** Has no effect on this call. */
  direction?: 'next' | 'prev';
  /** Has no effect on this call. */
  next_page_cursor?: string;
  /** Has no effect on this call. */
  prev_page_cursor?: string;
  /** Has no effect on this call. */
  sort?: 'ASC' | 'DESC';
  /** Send without regard to order by key. A held key stays held. */
  order?: 'ignore';
}

export interface CountBatchRetryEventDeliveriesQuery extends DeliveryFilterQuery {
  /** Has no effect on this call. */
  perPage?: number;
  /** Has no effect on this call. */
  direction?: 'next' | 'prev';
  /** Has no effect on this call. */
  next_page_cursor?: string;
  /** Has no effect on this call. */
  prev_page_cursor?: string;
  /** Has no effect on this call. */
  sort?: 'ASC' | 'DESC';
}

export type CancelEventDeliveriesQuery = DeliveryFilterQuery & JobQuery;

export interface SendNowEventDeliveriesQuery extends DeliveryFilterQuery, JobQuery {
  /** Has no effect on this call. */
  perPage?: number;
  /** Has no effect on this call. */
  direction?: 'next' | 'prev';
  /** Has no effect on this call. */
  next_page_cursor?: string;
  /** Has no effect on this call. */
  prev_page_cursor?: string;
  /** Has no effect on this call. */
  sort?: 'ASC' | 'DESC';
}

export interface ListFailuresQuery extends DateQuery {
  /** Only deliveries to these endpoints. */
  endpointId?: string | string[];
  /** Only deliveries to endpoints of this owner. */
  ownerId?: string;
  /** `event_type` is another spelling. */
  eventType?: string;
}

export interface ListOrderingKeysQuery extends PageQuery {
  /** Only keys that a failed delivery holds. */
  held?: boolean;
  subscriptionId?: string;
}

export type ListJobsQuery = PageQuery;

export interface OnboardQuery {
  /** Only check the items. */
  dry_run?: boolean;
}

export type OnboardResult = OnboardCheck | OnboardJob;

export interface GetPeriodFailureRatesQuery extends DateQuery {
  /** The endpoints. */
  endpointId?: string | string[];
}

export type ListDevicesQuery = PageQuery;

export interface GetDashboardSummaryQuery extends DateQuery {
  /** `daily` by default. */
  type?: 'daily' | 'weekly' | 'monthly' | 'yearly';
}

export interface GetStatusTotalsQuery extends DateQuery {
  /** Only deliveries to these endpoints. */
  endpointId?: string | string[];
}

export interface GetTimeSeriesQuery extends DateQuery {
  /** By default a minute up to 6 hours, an hour up to 14 days, else a day. */
  step?: 'minute' | 'hour' | 'day';
  /** The sum of these endpoints. */
  endpointId?: string | string[];
  /** The sum of these sources. */
  sourceId?: string | string[];
}

export interface GetHealthQuery extends DateQuery {
  /** `endpoint` by default. */
  by?: 'endpoint' | 'customer';
  /** Only these endpoints. */
  endpointId?: string | string[];
  /** Only endpoints of these customers. */
  ownerId?: string | string[];
  /** How many; 20 by default. */
  limit?: number;
}

export interface SearchQuery extends DateQuery {
  /** The text. */
  q: string;
  /** Go on after an earlier answer, in contents of older events alone. */
  next_page_cursor?: string;
}

export interface ListPortalLinksQuery extends PageQuery {
  ownerId?: string;
  /** Part of the name. */
  name?: string;
  /** Another spelling of `name`. */
  q?: string;
  /** Only links that open one of these endpoints. */
  endpointId?: string | string[];
}

export type GetPortalConfigurationResult = Record<string, boolean | string>;

export type GetPortalAuthConfigurationResult = Record<string, boolean | string>;

export type GetLicenseFeaturesResult = Record<string, boolean | string>;

export type ListMetaEventsQuery = PageQuery & DateQuery;

export interface ListAuditQuery extends PageQuery, DateQuery {
  /** One of person, api_key, portal_link, instance_key, cli, instance. */
  actorType?: string;
  /** The person, key or portal link. */
  actorId?: string;
  /** Such as `endpoint.updated`. */
  action?: string;
  resourceId?: string;
}

export interface ListInstanceAuditQuery extends ListAuditQuery {
  projectId?: string;
}

export type ListAccountsQuery = PageQuery;
