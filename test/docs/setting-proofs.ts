/**
 * The test that sees the effect of each setting on the real thing, by its file and its title. `label`: it is for people
 * or for older callers and changes nothing. `not yet`: it is stored and shown and has no effect.
 */
export type Proof = 'label' | 'not yet' | { file: string; title: string };

const seen = (file: string, title: string): Proof => ({ file, title });

export const settingProofs: Record<string, Record<string, Proof>> = {
  Projects: {
    max_payload_read_size: seen('test/api/events.test.ts', 'larger than the project allows is 413'),
    replay_attacks_prevention_enabled: seen(
      'test/engine/settings.test.ts',
      'carry a time where project ($project) or endpoint ($endpoint) say so',
    ),
    add_event_id_trace_headers: seen(
      'test/engine/settings.test.ts',
      'with the ids of event and delivery are sent where asked for',
    ),
    disable_endpoint: seen(
      'test/engine/settings.test.ts',
      'with disable_endpoint an endpoint whose delivery used up its tries becomes inactive, without it not',
    ),
    multiple_endpoint_subscriptions: seen(
      'test/api/subscriptions.test.ts',
      'a project that allows one subscription per endpoint refuses a second, even at once',
    ),
    verify_dynamic_events: seen(
      'test/api/event-calls.test.ts',
      'with verify_dynamic_events a URL that cannot be delivered to is refused and nothing is stored',
    ),
    allow_unmatched_dynamic_urls: seen(
      'test/api/event-calls.test.ts',
      'where new URLs are not allowed a dynamic event is kept as failed',
    ),
    search_policy: seen(
      'test/api/event-calls.test.ts',
      'a payload search is paged both ways and reaches back as far as the search policy',
    ),
    'retention_policy.policy': seen(
      'test/api/settings.test.ts',
      'than the retention_policy of its project is removed, and nothing of other projects',
    ),
    'retention_policy.retention_policy_enabled': seen(
      'test/store/retention.test.ts',
      'a policy that is switched off removes nothing',
    ),
    'ratelimit.count': seen(
      'test/api/limits.test.ts',
      'a project accepts as many events as its limit, over all nodes together',
    ),
    'ratelimit.duration': seen(
      'test/api/limits.test.ts',
      'the limit opens again once its duration has passed, and other projects have their own',
    ),
    'strategy.type': seen(
      'test/engine/settings.test.ts',
      'the strategy of the project decides how often, how far apart and how deliveries are tried',
    ),
    'strategy.duration': seen(
      'test/engine/settings.test.ts',
      'the strategy of the project decides how often, how far apart and how deliveries are tried',
    ),
    'strategy.retry_count': seen(
      'test/engine/settings.test.ts',
      'the strategy of the project decides how often, how far apart and how deliveries are tried',
    ),
    'ssl.enforce_secure_endpoints': seen(
      'test/api/endpoints.test.ts',
      'must use https where the project says so',
    ),
    'signature.header': seen(
      'test/engine/settings.test.ts',
      'are in the header the project names, one per version with its hash and encoding',
    ),
    'signature.versions.uid': 'label',
    'signature.versions.created_at': 'label',
    'signature.versions.hash': seen(
      'test/engine/settings.test.ts',
      'are in the header the project names, one per version with its hash and encoding',
    ),
    'signature.versions.encoding': seen(
      'test/engine/settings.test.ts',
      'are in the header the project names, one per version with its hash and encoding',
    ),
    'signature.schemes': seen('test/engine/settings.test.ts', 'follow the schemes of the project: $schemes'),
    visible_headers: seen(
      'test/api/credential-headers.test.ts',
      'visible_headers: a header that the project lists is stored and shown in clear',
    ),
    request_id_header: seen(
      'test/engine/settings.test.ts',
      'carry the idempotency key under the name the project gives',
    ),
    'meta_event.is_enabled': seen(
      'test/engine/meta-events.test.ts',
      'are told while meta events are on, and not while they are off',
    ),
    'meta_event.type': 'label',
    'meta_event.event_type': seen('test/engine/meta-events.test.ts', 'are told by the types asked for: %j'),
    'meta_event.url': seen(
      'test/engine/meta-events.test.ts',
      'are told once each, in order of their happening, without secrets',
    ),
    'meta_event.secret': seen(
      'test/engine/meta-events.test.ts',
      'a meta event is signed by both schemes with the project’s meta event secret',
    ),
    'circuit_breaker.sample_rate': seen(
      'test/engine/breaker-settings.test.ts',
      'sample_rate: the breaker is looked at that often',
    ),
    'circuit_breaker.error_timeout': seen(
      'test/engine/breaker-settings.test.ts',
      'error_timeout: an open breaker lets a probe out only after it',
    ),
    'circuit_breaker.failure_threshold': seen(
      'test/engine/breaker-settings.test.ts',
      'failure_threshold: a smaller part of failures opens nothing',
    ),
    'circuit_breaker.success_threshold': seen(
      'test/engine/breaker-settings.test.ts',
      'success_threshold: so many of the probes must succeed before the breaker closes',
    ),
    'circuit_breaker.minimum_request_count': seen(
      'test/engine/breaker-settings.test.ts',
      'minimum_request_count: fewer attempts open nothing',
    ),
    'circuit_breaker.observability_window': seen(
      'test/engine/breaker-settings.test.ts',
      'observability_window: what lies further back does not count',
    ),
    'circuit_breaker.consecutive_failure_threshold': seen(
      'test/engine/breaker-settings.test.ts',
      'consecutive_failure_threshold: with disable_endpoint the breaker disables its endpoint',
    ),
  },
  Endpoints: {
    name: 'label',
    description: 'label',
    url: seen('test/engine/settings.test.ts', 'an endpoint’s new URL is where the next event goes'),
    app_id: seen('test/api/events.test.ts', 'may name its endpoint by app_id, and must name one'),
    owner_id: seen('test/api/event-calls.test.ts', 'a fan-out goes to the endpoints of its owner only'),
    advanced_signatures: seen(
      'test/engine/settings.test.ts',
      'carry a time where project ($project) or endpoint ($endpoint) say so',
    ),
    'authentication.type': seen(
      'test/engine/sending.test.ts',
      'basic and key authentication are sent and stored masked',
    ),
    'authentication.api_key.header_name': seen(
      'test/engine/sending.test.ts',
      'basic and key authentication are sent and stored masked',
    ),
    'authentication.api_key.header_value': seen(
      'test/engine/sending.test.ts',
      'basic and key authentication are sent and stored masked',
    ),
    'authentication.basic_auth.username': seen(
      'test/engine/sending.test.ts',
      'basic and key authentication are sent and stored masked',
    ),
    'authentication.basic_auth.password': seen(
      'test/engine/sending.test.ts',
      'basic and key authentication are sent and stored masked',
    ),
    'authentication.oauth2.url': seen(
      'test/engine/oauth2-settings.test.ts',
      'the token server is asked with the secret, grant, scope and audience that are set',
    ),
    'authentication.oauth2.client_id': seen(
      'test/engine/oauth2-settings.test.ts',
      'the token server is asked with the secret, grant, scope and audience that are set',
    ),
    'authentication.oauth2.client_secret': seen(
      'test/engine/oauth2-settings.test.ts',
      'the token server is asked with the secret, grant, scope and audience that are set',
    ),
    'authentication.oauth2.scope': seen(
      'test/engine/oauth2-settings.test.ts',
      'the token server is asked with the secret, grant, scope and audience that are set',
    ),
    'authentication.oauth2.audience': seen(
      'test/engine/oauth2-settings.test.ts',
      'the token server is asked with the secret, grant, scope and audience that are set',
    ),
    'authentication.oauth2.grant_type': seen(
      'test/engine/oauth2-settings.test.ts',
      'the token server is asked with the secret, grant, scope and audience that are set',
    ),
    'authentication.oauth2.authentication_type': seen(
      'test/engine/oauth2-settings.test.ts',
      'an assertion is signed by the key and algorithm that are set, and names issuer and subject',
    ),
    'authentication.oauth2.signing_key': seen(
      'test/engine/oauth2-settings.test.ts',
      'an assertion is signed by the key and algorithm that are set, and names issuer and subject',
    ),
    'authentication.oauth2.signing_algorithm': seen(
      'test/engine/oauth2-settings.test.ts',
      'an assertion is signed by the key and algorithm that are set, and names issuer and subject',
    ),
    'authentication.oauth2.issuer': seen(
      'test/engine/oauth2-settings.test.ts',
      'an assertion is signed by the key and algorithm that are set, and names issuer and subject',
    ),
    'authentication.oauth2.subject': seen(
      'test/engine/oauth2-settings.test.ts',
      'an assertion is signed by the key and algorithm that are set, and names issuer and subject',
    ),
    'authentication.oauth2.field_mapping.access_token': seen(
      'test/engine/oauth2-settings.test.ts',
      'the answer is read by the names of its fields and the unit of its time',
    ),
    'authentication.oauth2.field_mapping.token_type': seen(
      'test/engine/oauth2-settings.test.ts',
      'the answer is read by the names of its fields and the unit of its time',
    ),
    'authentication.oauth2.field_mapping.expires_in': seen(
      'test/engine/oauth2-settings.test.ts',
      'the answer is read by the names of its fields and the unit of its time',
    ),
    'authentication.oauth2.expiry_time_unit': seen(
      'test/engine/oauth2-settings.test.ts',
      'the answer is read by the names of its fields and the unit of its time',
    ),
    'mtls_client_cert.client_cert': seen(
      'test/engine/node-settings.test.ts',
      'authorities of POSTHORN_CA_FILE are trusted, and an endpoint is shown its client certificate',
    ),
    'mtls_client_cert.client_key': seen(
      'test/engine/node-settings.test.ts',
      'authorities of POSTHORN_CA_FILE are trusted, and an endpoint is shown its client certificate',
    ),
    'signing_key.type': seen(
      'test/engine/settings.test.ts',
      'by the key pair of an endpoint verify with its public half',
    ),
    content_type: seen(
      'test/engine/sending.test.ts',
      'a form endpoint gets form fields, and the signature covers those bytes',
    ),
    http_timeout: seen(
      'test/api/retries.test.ts',
      'to an endpoint that answers too late is cut off after its time',
    ),
    rate_limit: seen(
      'test/engine/gates.test.ts',
      'an endpoint rate limit holds in any interval, over two nodes, and uses no retry',
    ),
    rate_limit_duration: seen(
      'test/engine/settings.test.ts',
      'rate_limit_duration is how long a limit lasts',
    ),
    support_email: seen(
      'test/engine/alerts.test.ts',
      'is raised once for many failures over two nodes, everywhere, and cleared after a success',
    ),
    slack_webhook_url: seen(
      'test/engine/alerts.test.ts',
      'is raised once for many failures over two nodes, everywhere, and cleared after a success',
    ),
    teams_webhook_url: seen(
      'test/engine/alerts.test.ts',
      'is raised once for many failures over two nodes, everywhere, and cleared after a success',
    ),
    is_disabled: seen(
      'test/engine/settings.test.ts',
      'an endpoint made or changed with is_disabled gets nothing until it is activated',
    ),
    secret: seen(
      'test/engine/sending.test.ts',
      'a function changes the body, which is what is signed, sent, shown and kept for retries',
    ),
  },
  Subscriptions: {
    name: 'label',
    endpoint_id: seen('test/api/matching.test.ts', 'globs and exact names match as subscribed'),
    app_id: seen(
      'test/engine/settings.test.ts',
      'a subscription that names its endpoint by app_id sends there',
    ),
    source_id: seen(
      'test/ingest/incoming-webhooks.test.ts',
      'a subscription with a source takes only that source’s events',
    ),
    function: seen(
      'test/engine/sending.test.ts',
      'a function changes the body, which is what is signed, sent, shown and kept for retries',
    ),
    delivery_mode: seen(
      'test/engine/sending.test.ts',
      'at most once: an answer of any kind ends it, a refused connection is tried again',
    ),
    'alert_config.*': seen(
      'test/engine/alerts.test.ts',
      'is raised by as many failures as are set, not by fewer, by those outside the threshold, nor without a config',
    ),
    'rate_limit_config.count': seen(
      'test/engine/settings.test.ts',
      'rate_limit_config lets so many sends of its subscription through, for as long as it says',
    ),
    'rate_limit_config.duration': seen(
      'test/engine/settings.test.ts',
      'rate_limit_config lets so many sends of its subscription through, for as long as it says',
    ),
    'retry_config.type': seen(
      'test/engine/settings.test.ts',
      'the retry_config of a subscription decides that instead of the project’s strategy',
    ),
    'retry_config.duration': seen(
      'test/engine/settings.test.ts',
      'the retry_config of a subscription decides that instead of the project’s strategy',
    ),
    'retry_config.interval_seconds': seen(
      'test/engine/settings.test.ts',
      'the retry_config of a subscription decides that instead of the project’s strategy',
    ),
    'retry_config.retry_count': seen(
      'test/engine/settings.test.ts',
      'the retry_config of a subscription decides that instead of the project’s strategy',
    ),
    'filter_config.event_types': seen(
      'test/api/matching.test.ts',
      'globs and exact names match as subscribed',
    ),
    'filter_config.filter.body': seen(
      'test/api/matching.test.ts',
      'only subscriptions whose body filter holds get an event',
    ),
    'filter_config.filter.headers': seen(
      'test/api/matching.test.ts',
      'only subscriptions whose header filter holds get an event, whatever the case of the name',
    ),
    'filter_config.filter.query': seen(
      'test/ingest/incoming-webhooks.test.ts',
      'subscriptions with conditions on query and path get the webhooks that meet them',
    ),
    'filter_config.filter.path': seen(
      'test/ingest/incoming-webhooks.test.ts',
      'subscriptions with conditions on query and path get the webhooks that meet them',
    ),
  },
  Filters: {
    event_type: seen(
      'test/api/matching.test.ts',
      'of the records for a type the most specific that is switched on decides',
    ),
    enabled_at: seen(
      'test/api/matching.test.ts',
      'of the records for a type the most specific that is switched on decides',
    ),
    body: seen(
      'test/ingest/incoming-webhooks.test.ts',
      'a filter holds webhooks to its own conditions on body, headers, query and path',
    ),
    headers: seen(
      'test/ingest/incoming-webhooks.test.ts',
      'a filter holds webhooks to its own conditions on body, headers, query and path',
    ),
    query: seen(
      'test/ingest/incoming-webhooks.test.ts',
      'a filter holds webhooks to its own conditions on body, headers, query and path',
    ),
    path: seen(
      'test/ingest/incoming-webhooks.test.ts',
      'a filter holds webhooks to its own conditions on body, headers, query and path',
    ),
    is_flattened: 'label',
  },
  'Event types': {
    name: seen('test/api/filters.test.ts', 'a filter can be made for a type once there is one of that name'),
    category: 'label',
    description: 'label',
    json_schema: seen('test/api/event-types.test.ts', 'a type with %s is refused'),
  },
  'Portal links': {
    name: 'label',
    owner_id: seen(
      'test/api/portal-api.test.ts',
      'show only what belongs to the owner, with and without asking for more',
    ),
    endpoints: seen(
      'test/api/portal-links.test.ts',
      'gives endpoints without an owner to its owner and shows all of the owner’s',
    ),
    can_manage_endpoint: seen('test/api/portal-api.test.ts', 'of endpoints need a link that may manage them'),
    event_types: seen(
      'test/api/portal-event-types.test.ts',
      'event_types: a link sees events, deliveries and attempts of its types alone',
    ),
    can_create_events: seen(
      'test/api/portal-look-only.test.ts',
      'new events need can_create_events, changes need can_manage_endpoint, and neither gives the other',
    ),
    auth_type: seen(
      'test/api/portal-links.test.ts',
      'each read of a refresh link makes a fresh token; all are good, the static one is not',
    ),
    expires_at: seen('test/api/portal-links.test.ts', 'a link stops when its expires_at has come'),
  },
  Sources: {
    name: 'label',
    type: seen(
      'test/ingest/incoming-webhooks.test.ts',
      'a disabled source is 403, an unknown mask 404, another type 400; nothing is stored',
    ),
    provider: seen('test/ingest/incoming-webhooks.test.ts', 'a GitHub push is verified by its preset'),
    is_disabled: seen(
      'test/ingest/incoming-webhooks.test.ts',
      'a disabled source is 403, an unknown mask 404, another type 400; nothing is stored',
    ),
    body_function: seen(
      'test/ingest/incoming-webhooks.test.ts',
      'functions of a source change headers and payload before matching; a failing one keeps the event with the reason',
    ),
    header_function: seen(
      'test/ingest/incoming-webhooks.test.ts',
      'functions of a source change headers and payload before matching; a failing one keeps the event with the reason',
    ),
    idempotency_keys: seen(
      'test/ingest/incoming-webhooks.test.ts',
      'of equal requests one event is delivered; the others are kept as duplicates',
    ),
    event_type_location: seen(
      'test/ingest/incoming-webhooks.test.ts',
      'the event type comes from where the source says',
    ),
    forward_headers: seen(
      'test/ingest/incoming-webhooks.test.ts',
      'a webhook is stored and delivered with its query string, the listed headers and no others',
    ),
    'custom_response.body': seen(
      'test/ingest/incoming-webhooks.test.ts',
      'a custom response is given verbatim, to duplicates too',
    ),
    'custom_response.content_type': seen(
      'test/ingest/incoming-webhooks.test.ts',
      'a custom response is given verbatim, to duplicates too',
    ),
    'pub_sub.*': 'not yet',
    'verifier.type': seen(
      'test/api/settings.test.ts',
      'the verifier of a source lets in who knows its password or key',
    ),
    'verifier.hmac.header': seen(
      'test/ingest/incoming-webhooks.test.ts',
      'a signature over the raw bytes is accepted; with one bit changed nothing is stored',
    ),
    'verifier.hmac.secret': seen(
      'test/ingest/incoming-webhooks.test.ts',
      'a signature over the raw bytes is accepted; with one bit changed nothing is stored',
    ),
    'verifier.hmac.hash': seen(
      'test/ingest/incoming-webhooks.test.ts',
      'a signature over the raw bytes is accepted; with one bit changed nothing is stored',
    ),
    'verifier.hmac.encoding': seen(
      'test/ingest/incoming-webhooks.test.ts',
      'a signature over the raw bytes is accepted; with one bit changed nothing is stored',
    ),
    'verifier.basic_auth.username': seen(
      'test/api/settings.test.ts',
      'the verifier of a source lets in who knows its password or key',
    ),
    'verifier.basic_auth.password': seen(
      'test/api/settings.test.ts',
      'the verifier of a source lets in who knows its password or key',
    ),
    'verifier.api_key.header_name': seen(
      'test/api/settings.test.ts',
      'the verifier of a source lets in who knows its password or key',
    ),
    'verifier.api_key.header_value': seen(
      'test/api/settings.test.ts',
      'the verifier of a source lets in who knows its password or key',
    ),
    rate_limit: seen(
      'test/ingest/source-limits.test.ts',
      'a source takes as many events as its limit, over all nodes together, and says when it takes more',
    ),
    rate_limit_duration: seen(
      'test/ingest/source-limits.test.ts',
      'the limit of a source opens again once its duration has passed',
    ),
  },
  Instance: {
    POSTHORN_HOST: seen('test/api/settings.test.ts', 'a node listens at POSTHORN_HOST and nowhere else'),
    POSTHORN_PORT: seen(
      'test/start/first-start.test.ts',
      'writes the credentials, for the owner only, before it says it is ready',
    ),
    POSTHORN_PROCESSES: seen(
      'test/processes/processes.test.ts',
      'two processes serve on one port, both deliver, and a stop ends all of it cleanly',
    ),
    POSTHORN_PUBLIC_URL: seen('test/api/settings.test.ts', 'links start with POSTHORN_PUBLIC_URL'),
    POSTHORN_TRUSTED_PROXIES: seen(
      'test/api/settings.test.ts',
      'names a forwarded caller only where POSTHORN_TRUSTED_PROXIES holds the proxy',
    ),
    POSTHORN_DATA_DIR: seen(
      'test/start/first-start.test.ts',
      'keeps database, credentials and key in POSTHORN_DATA_DIR',
    ),
    DATABASE_URL: seen(
      'test/crash/two-nodes.test.ts',
      'two nodes started together on an empty database make one project, and either takes over from the other',
    ),
    POSTHORN_DATABASE_CONNECTIONS: seen(
      'test/api/settings.test.ts',
      'a node opens no more connections than POSTHORN_DATABASE_CONNECTIONS',
    ),
    POSTHORN_SECRET_KEY: seen(
      'test/secrets/rotation.test.ts',
      'a key that nodes at work do not have is refused at the start, and so is one that the data needs and is not there',
    ),
    POSTHORN_OTHER_SECRET_KEY: seen(
      'test/secrets/rotation.test.ts',
      'the key is changed while two nodes deliver: nothing is lost, sent wrongly or left behind',
    ),
    POSTHORN_ROLES: seen(
      'test/engine/node-settings.test.ts',
      'a node does only what POSTHORN_ROLES say, and others do the rest',
    ),
    POSTHORN_EGRESS: seen(
      'test/engine/node-settings.test.ts',
      'a delivery to a private address ends as $status with $env',
    ),
    POSTHORN_EGRESS_ALLOW: seen(
      'test/engine/node-settings.test.ts',
      'a delivery to a private address ends as $status with $env',
    ),
    POSTHORN_EGRESS_DENY: seen(
      'test/engine/node-settings.test.ts',
      'a delivery to a private address ends as $status with $env',
    ),
    POSTHORN_HTTP_PROXY: seen(
      'test/engine/node-settings.test.ts',
      'deliveries go through POSTHORN_HTTP_PROXY',
    ),
    POSTHORN_CA_FILE: seen(
      'test/engine/node-settings.test.ts',
      'authorities of POSTHORN_CA_FILE are trusted, and an endpoint is shown its client certificate',
    ),
    POSTHORN_MAX_BODY_BYTES: seen(
      'test/api/requests.test.ts',
      'over the limit is 413, announced or in chunks',
    ),
    POSTHORN_API_RATE: seen(
      'test/api/limits.test.ts',
      'a key may make only so many calls a second; another key is not held up',
    ),
    POSTHORN_MAX_RETRY_SECONDS: seen(
      'test/engine/node-settings.test.ts',
      'no wait grows longer than POSTHORN_MAX_RETRY_SECONDS',
    ),
    POSTHORN_RETENTION_HOURS: seen('test/api/settings.test.ts', 'than POSTHORN_RETENTION_HOURS is removed'),
    POSTHORN_EXPORT_DIR: seen('test/engine/retention.test.ts', 'gets what is removed before it is'),
    POSTHORN_GRACE: seen(
      'test/chaos/stop.test.ts',
      'a node with a short grace ends while one with a long grace still waits for its delivery',
    ),
    POSTHORN_WINDOW: seen(
      'test/engine/node-settings.test.ts',
      'a node has no more deliveries under way than POSTHORN_WINDOW, and the rest follow',
    ),
    POSTHORN_ENDPOINT_CONCURRENCY: seen(
      'test/engine/node-settings.test.ts',
      'an endpoint gets no more requests at once than POSTHORN_ENDPOINT_CONCURRENCY',
    ),
    POSTHORN_LOG_LEVEL: seen('test/api/settings.test.ts', 'says as much as POSTHORN_LOG_LEVEL asks for'),
    OTEL_EXPORTER_OTLP_ENDPOINT: seen(
      'test/tracing/tracing.test.ts',
      'an event is one trace from the request through its acceptance to the attempt, and the endpoint is told',
    ),
    OTEL_EXPORTER_OTLP_HEADERS: seen(
      'test/tracing/tracing.test.ts',
      'the collector is told the service’s name and given the headers that are configured',
    ),
    OTEL_SERVICE_NAME: seen(
      'test/tracing/tracing.test.ts',
      'the collector is told the service’s name and given the headers that are configured',
    ),
    OTEL_TRACES_SAMPLER_ARG: seen(
      'test/tracing/tracing.test.ts',
      'an event without a trace begins one, and OTEL_TRACES_SAMPLER_ARG says for which share',
    ),
    POSTHORN_CERTIFICATE_DAYS: seen(
      'test/engine/certificate-alerts.test.ts',
      'each endpoint of a server is told, also where they share its connection; a certificate outside the window is not',
    ),
    POSTHORN_METRICS: seen('test/metrics/metrics.test.ts', 'is answered $status with $env'),
    POSTHORN_SMTP_URL: seen(
      'test/engine/alerts.test.ts',
      'is raised once for many failures over two nodes, everywhere, and cleared after a success',
    ),
    POSTHORN_SMTP_FROM: seen(
      'test/engine/alerts.test.ts',
      'is raised once for many failures over two nodes, everywhere, and cleared after a success',
    ),
  },
};
