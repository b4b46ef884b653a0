/**
 * The test that sees the effect of each setting on the real thing, by its file and its title. `label`: it is for people
 * or for older callers and changes nothing. `not yet`: it is stored and shown and has no effect.
 */
export type Proof = 'label' | 'not yet' | { file: string; title: string };

const seen = (file: string, title: string): Proof => ({ file, title });

export const settingProofs: Record<string, Record<string, Proof>> = {
  Projects: {
    max_payload_read_size: seen('test/api/events/events.test.ts', 'larger than the project allows is 413'),
    replay_attacks_prevention_enabled: seen(
      'test/engine/settings.test.ts',
      'have a timestamp if project ($project) or endpoint ($endpoint) say so',
    ),
    add_event_id_trace_headers: seen(
      'test/engine/settings.test.ts',
      'with the ids of event and delivery are sent if configured',
    ),
    disable_endpoint: seen(
      'test/engine/settings.test.ts',
      'with disable_endpoint an endpoint whose delivery used up its attempts becomes inactive, without it not',
    ),
    require_second_factor: seen(
      'test/people/second-factor.test.ts',
      'a project that requires it is closed to sessions without it',
    ),
    hide_payload_from_viewers: seen(
      'test/people/roles.test.ts',
      'sees no payload where the project hides it, and cannot search it',
    ),
    multiple_endpoint_subscriptions: seen(
      'test/api/config/subscriptions.test.ts',
      'a project that allows one subscription per endpoint refuses a second, even at once',
    ),
    verify_dynamic_events: seen(
      'test/api/events/event-calls.test.ts',
      'with verify_dynamic_events a URL that cannot be delivered to is refused and nothing is stored',
    ),
    allow_unmatched_dynamic_urls: seen(
      'test/api/events/event-calls.test.ts',
      'if new URLs are not allowed a dynamic event is stored as failed',
    ),
    search_policy: seen(
      'test/api/events/event-calls.test.ts',
      'a payload search is paged both ways and reaches back as far as the search policy',
    ),
    'retention_policy.policy': seen(
      'test/api/settings.test.ts',
      'than the retention_policy of its project is removed, and nothing of other projects',
    ),
    'retention_policy.retention_policy_enabled': seen(
      'test/store/retention.test.ts',
      'a disabled policy removes nothing',
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
      'the strategy of the project decides number and spacing of attempts',
    ),
    'strategy.duration': seen(
      'test/engine/settings.test.ts',
      'the strategy of the project decides number and spacing of attempts',
    ),
    'strategy.retry_count': seen(
      'test/engine/settings.test.ts',
      'the strategy of the project decides number and spacing of attempts',
    ),
    'ssl.enforce_secure_endpoints': seen(
      'test/api/config/endpoints.test.ts',
      'must use https if the project requires it',
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
      'test/api/config/credential-headers.test.ts',
      'visible_headers: a header that the project lists is stored and shown in clear',
    ),
    request_id_header: seen(
      'test/engine/settings.test.ts',
      'have the idempotency key under the name that the project sets',
    ),
    'meta_event.is_enabled': seen(
      'test/engine/meta-events.test.ts',
      'create meta events only while meta events are on',
    ),
    'meta_event.type': 'label',
    'meta_event.event_type': seen(
      'test/engine/meta-events.test.ts',
      'create meta events of the configured types: %j',
    ),
    'meta_event.url': seen(
      'test/engine/meta-events.test.ts',
      'create one meta event each, in order, without secrets',
    ),
    'meta_event.secret': seen(
      'test/engine/meta-events.test.ts',
      'a meta event is signed by both schemes with the project’s meta event secret',
    ),
    'circuit_breaker.sample_rate': seen(
      'test/engine/limits/breaker-settings.test.ts',
      'sample_rate: the interval of breaker checks',
    ),
    'circuit_breaker.error_timeout': seen(
      'test/engine/limits/breaker-settings.test.ts',
      'error_timeout: an open breaker sends a probe only after it',
    ),
    'circuit_breaker.failure_threshold': seen(
      'test/engine/limits/breaker-settings.test.ts',
      'failure_threshold: a smaller share of failures opens no breaker',
    ),
    'circuit_breaker.success_threshold': seen(
      'test/engine/limits/breaker-settings.test.ts',
      'success_threshold: the share of probes that must succeed before the breaker closes',
    ),
    'circuit_breaker.minimum_request_count': seen(
      'test/engine/limits/breaker-settings.test.ts',
      'minimum_request_count: fewer attempts open no breaker',
    ),
    'circuit_breaker.observability_window': seen(
      'test/engine/limits/breaker-settings.test.ts',
      'observability_window: older attempts do not count',
    ),
    'circuit_breaker.consecutive_failure_threshold': seen(
      'test/engine/limits/breaker-settings.test.ts',
      'consecutive_failure_threshold: with disable_endpoint the breaker disables its endpoint',
    ),
    'portal.title': seen(
      'test/web/portal-pages.ts',
      'have the title, logo, font, colours, corners and language of the project of the address',
    ),
    'portal.logo_url': seen(
      'test/web/portal-pages.ts',
      'have the title, logo, font, colours, corners and language of the project of the address',
    ),
    'portal.logo_url_dark': seen(
      'test/web/portal-pages.ts',
      'have the title, logo, font, colours, corners and language of the project of the address',
    ),
    'portal.font': seen(
      'test/web/portal-pages.ts',
      'have the title, logo, font, colours, corners and language of the project of the address',
    ),
    'portal.accent': seen(
      'test/web/portal-pages.ts',
      'have the title, logo, font, colours, corners and language of the project of the address',
    ),
    'portal.radius': seen(
      'test/web/portal-pages.ts',
      'have the title, logo, font, colours, corners and language of the project of the address',
    ),
    'portal.color_scheme': seen(
      'test/web/portal-pages.ts',
      'have the title, logo, font, colours, corners and language of the project of the address',
    ),
    'portal.language': seen(
      'test/web/portal-pages.ts',
      'have the title, logo, font, colours, corners and language of the project of the address',
    ),
    'portal.frame_origins': seen(
      'test/api/portal/portal-page.test.ts',
      'may be embedded by the frame_origins of the project of the address, and by default by none',
    ),
  },
  Endpoints: {
    name: 'label',
    description: 'label',
    url: seen('test/engine/settings.test.ts', 'the next event goes to an endpoint’s new URL'),
    app_id: seen('test/api/events/events.test.ts', 'may name its endpoint by app_id, and must name one'),
    owner_id: seen(
      'test/api/events/event-calls.test.ts',
      'a fan-out goes to the endpoints of its owner only',
    ),
    advanced_signatures: seen(
      'test/engine/settings.test.ts',
      'have a timestamp if project ($project) or endpoint ($endpoint) say so',
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
      'the token request has the configured secret, grant, scope and audience',
    ),
    'authentication.oauth2.client_id': seen(
      'test/engine/oauth2-settings.test.ts',
      'the token request has the configured secret, grant, scope and audience',
    ),
    'authentication.oauth2.client_secret': seen(
      'test/engine/oauth2-settings.test.ts',
      'the token request has the configured secret, grant, scope and audience',
    ),
    'authentication.oauth2.scope': seen(
      'test/engine/oauth2-settings.test.ts',
      'the token request has the configured secret, grant, scope and audience',
    ),
    'authentication.oauth2.audience': seen(
      'test/engine/oauth2-settings.test.ts',
      'the token request has the configured secret, grant, scope and audience',
    ),
    'authentication.oauth2.grant_type': seen(
      'test/engine/oauth2-settings.test.ts',
      'the token request has the configured secret, grant, scope and audience',
    ),
    'authentication.oauth2.authentication_type': seen(
      'test/engine/oauth2-settings.test.ts',
      'an assertion is signed by the configured key and algorithm, and names issuer and subject',
    ),
    'authentication.oauth2.signing_key': seen(
      'test/engine/oauth2-settings.test.ts',
      'an assertion is signed by the configured key and algorithm, and names issuer and subject',
    ),
    'authentication.oauth2.signing_algorithm': seen(
      'test/engine/oauth2-settings.test.ts',
      'an assertion is signed by the configured key and algorithm, and names issuer and subject',
    ),
    'authentication.oauth2.issuer': seen(
      'test/engine/oauth2-settings.test.ts',
      'an assertion is signed by the configured key and algorithm, and names issuer and subject',
    ),
    'authentication.oauth2.subject': seen(
      'test/engine/oauth2-settings.test.ts',
      'an assertion is signed by the configured key and algorithm, and names issuer and subject',
    ),
    'authentication.oauth2.field_mapping.access_token': seen(
      'test/engine/oauth2-settings.test.ts',
      'the token response is read by the configured fields and time unit',
    ),
    'authentication.oauth2.field_mapping.token_type': seen(
      'test/engine/oauth2-settings.test.ts',
      'the token response is read by the configured fields and time unit',
    ),
    'authentication.oauth2.field_mapping.expires_in': seen(
      'test/engine/oauth2-settings.test.ts',
      'the token response is read by the configured fields and time unit',
    ),
    'authentication.oauth2.expiry_time_unit': seen(
      'test/engine/oauth2-settings.test.ts',
      'the token response is read by the configured fields and time unit',
    ),
    'mtls_client_cert.client_cert': seen(
      'test/engine/node-settings.test.ts',
      'authorities of POSTHORN_CA_FILE are trusted, and an endpoint gets its client certificate',
    ),
    'mtls_client_cert.client_key': seen(
      'test/engine/node-settings.test.ts',
      'authorities of POSTHORN_CA_FILE are trusted, and an endpoint gets its client certificate',
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
      'test/api/deliveries/retries.test.ts',
      'to an endpoint that answers too late is aborted at its timeout',
    ),
    rate_limit: seen(
      'test/engine/limits/gates.test.ts',
      'an endpoint rate limit holds in any interval, over two nodes, and uses no retry',
    ),
    rate_limit_duration: seen(
      'test/engine/settings.test.ts',
      'rate_limit_duration is the interval of a limit',
    ),
    delivery: seen('test/pull/pull.test.ts', 'a change of delivery moves what waits, both ways'),
    key: seen(
      'test/cli/project-file.test.ts',
      'export, apply into an empty project, export again: the same file',
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
      'an endpoint created or changed with is_disabled gets nothing until it is activated',
    ),
    secret: seen(
      'test/engine/sending.test.ts',
      'a function changes the body, and that body is signed, sent, shown and kept for retries',
    ),
  },
  Subscriptions: {
    name: 'label',
    key: seen(
      'test/cli/project-file.test.ts',
      'export, apply into an empty project, export again: the same file',
    ),
    endpoint_id: seen('test/api/events/matching.test.ts', 'globs and exact names match as subscribed'),
    app_id: seen(
      'test/engine/settings.test.ts',
      'a subscription that names its endpoint by app_id sends there',
    ),
    source_id: seen(
      'test/ingest/incoming-webhooks.test.ts',
      'a subscription with a source gets only events of that source',
    ),
    function: seen(
      'test/engine/sending.test.ts',
      'a function changes the body, and that body is signed, sent, shown and kept for retries',
    ),
    delivery_mode: seen(
      'test/engine/sending.test.ts',
      'at most once: any response ends it, a refused connection is retried',
    ),
    'alert_config.*': seen(
      'test/engine/alerts.test.ts',
      'is raised by the configured number of failures, not by fewer, older ones, or without a config',
    ),
    'rate_limit_config.count': seen(
      'test/engine/settings.test.ts',
      'rate_limit_config limits the sends of its subscription per interval',
    ),
    'rate_limit_config.duration': seen(
      'test/engine/settings.test.ts',
      'rate_limit_config limits the sends of its subscription per interval',
    ),
    'retry_config.type': seen(
      'test/engine/settings.test.ts',
      'the retry_config of a subscription overrides the project’s strategy',
    ),
    'retry_config.duration': seen(
      'test/engine/settings.test.ts',
      'the retry_config of a subscription overrides the project’s strategy',
    ),
    'retry_config.interval_seconds': seen(
      'test/engine/settings.test.ts',
      'the retry_config of a subscription overrides the project’s strategy',
    ),
    'retry_config.retry_count': seen(
      'test/engine/settings.test.ts',
      'the retry_config of a subscription overrides the project’s strategy',
    ),
    'filter_config.event_types': seen(
      'test/api/events/matching.test.ts',
      'globs and exact names match as subscribed',
    ),
    'filter_config.filter.body': seen(
      'test/api/events/matching.test.ts',
      'only subscriptions whose body filter holds get an event',
    ),
    'filter_config.filter.headers': seen(
      'test/api/events/matching.test.ts',
      'only subscriptions whose header filter holds get an event, in any case of the name',
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
      'test/api/events/matching.test.ts',
      'the most specific enabled record for a type decides',
    ),
    enabled_at: seen(
      'test/api/events/matching.test.ts',
      'the most specific enabled record for a type decides',
    ),
    body: seen(
      'test/ingest/incoming-webhooks.test.ts',
      'a filter applies its own conditions on body, headers, query and path to webhooks',
    ),
    headers: seen(
      'test/ingest/incoming-webhooks.test.ts',
      'a filter applies its own conditions on body, headers, query and path to webhooks',
    ),
    query: seen(
      'test/ingest/incoming-webhooks.test.ts',
      'a filter applies its own conditions on body, headers, query and path to webhooks',
    ),
    path: seen(
      'test/ingest/incoming-webhooks.test.ts',
      'a filter applies its own conditions on body, headers, query and path to webhooks',
    ),
    is_flattened: 'label',
  },
  'Event types': {
    name: seen('test/api/config/filters.test.ts', 'a filter can be created for a type once the type exists'),
    category: 'label',
    description: 'label',
    json_schema: seen('test/api/events/event-types.test.ts', 'a type with %s is refused'),
  },
  'Portal links': {
    name: 'label',
    owner_id: seen(
      'test/api/portal/portal-api.test.ts',
      'show only data of the owner, even if the query asks for more',
    ),
    endpoints: seen(
      'test/api/portal/portal-links.test.ts',
      'assigns endpoints without an owner to its owner and shows all endpoints of the owner',
    ),
    can_manage_endpoint: seen(
      'test/api/portal/portal-api.test.ts',
      'of endpoints need a link that may manage them',
    ),
    event_types: seen(
      'test/api/portal/portal-event-types.test.ts',
      'event_types: a link sees events, deliveries and attempts of its types alone',
    ),
    can_retry: seen(
      'test/api/portal/portal-look-only.test.ts',
      'a link with can_retry false is refused every send, and takes what waits',
    ),
    can_see_secrets: seen(
      'test/api/portal/portal-look-only.test.ts',
      'secrets show by can_see_secrets, which is as can_manage_endpoint unless it is set',
    ),
    can_edit_functions: seen(
      'test/api/portal/portal-look-only.test.ts',
      'functions are changed by can_edit_functions, which is as can_manage_endpoint unless it is set',
    ),
    can_create_events: seen(
      'test/api/portal/portal-look-only.test.ts',
      'new events need can_create_events, changes need can_manage_endpoint, and neither implies the other',
    ),
    auth_type: seen(
      'test/api/portal/portal-links.test.ts',
      'each read of a refresh link creates a new token; all are valid, the static one is not',
    ),
    expires_at: seen('test/api/portal/portal-links.test.ts', 'a link stops working at its expires_at'),
  },
  Sources: {
    name: 'label',
    key: seen(
      'test/cli/project-file.test.ts',
      'export, apply into an empty project, export again: the same file',
    ),
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
      'functions of a source change headers and payload before matching; if one fails, the event is stored with the reason',
    ),
    header_function: seen(
      'test/ingest/incoming-webhooks.test.ts',
      'functions of a source change headers and payload before matching; if one fails, the event is stored with the reason',
    ),
    idempotency_keys: seen(
      'test/ingest/incoming-webhooks.test.ts',
      'one of several equal requests is delivered; the others are stored as duplicates',
    ),
    event_type_location: seen(
      'test/ingest/incoming-webhooks.test.ts',
      'the event type comes from the location in the source settings',
    ),
    forward_headers: seen(
      'test/ingest/incoming-webhooks.test.ts',
      'a webhook is stored and delivered with its query string, the listed headers and no others',
    ),
    'custom_response.body': seen(
      'test/ingest/incoming-webhooks.test.ts',
      'a custom response is sent verbatim, to duplicates too',
    ),
    'custom_response.content_type': seen(
      'test/ingest/incoming-webhooks.test.ts',
      'a custom response is sent verbatim, to duplicates too',
    ),
    'pub_sub.*': seen(
      'test/brokers/conformance.ts',
      'messages are stored once, delivered, and acknowledged after that',
    ),
    'db_change_stream.*': seen(
      'test/brokers/postgres.test.ts',
      'rows that are inserted, updated and deleted become events that are delivered',
    ),
    'verifier.type': seen(
      'test/api/settings.test.ts',
      'the verifier of a source accepts requests with its password or key',
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
      'the verifier of a source accepts requests with its password or key',
    ),
    'verifier.basic_auth.password': seen(
      'test/api/settings.test.ts',
      'the verifier of a source accepts requests with its password or key',
    ),
    'verifier.api_key.header_name': seen(
      'test/api/settings.test.ts',
      'the verifier of a source accepts requests with its password or key',
    ),
    'verifier.api_key.header_value': seen(
      'test/api/settings.test.ts',
      'the verifier of a source accepts requests with its password or key',
    ),
    rate_limit: seen(
      'test/ingest/source-limits.test.ts',
      'a source takes as many events as its limit, over all nodes together, and the refusal has the time to retry',
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
      'writes the credentials, readable by the owner only, before it reports ready',
    ),
    POSTHORN_PROCESSES: seen(
      'test/processes/processes.test.ts',
      'two processes serve on one port, both deliver, and a stop ends both cleanly',
    ),
    POSTHORN_PUBLIC_URL: seen('test/api/settings.test.ts', 'links start with POSTHORN_PUBLIC_URL'),
    POSTHORN_TRUSTED_PROXIES: seen(
      'test/api/settings.test.ts',
      'names a forwarded caller only if POSTHORN_TRUSTED_PROXIES contains the proxy',
    ),
    POSTHORN_DATA_DIR: seen(
      'test/start/first-start.test.ts',
      'keeps database, credentials and key in POSTHORN_DATA_DIR',
    ),
    DATABASE_URL: seen(
      'test/crash/two-nodes.test.ts',
      'two nodes started together on an empty database create one project, and either takes over from the other',
    ),
    POSTHORN_DATABASE_CONNECTIONS: seen(
      'test/api/settings.test.ts',
      'a node opens no more connections than POSTHORN_DATABASE_CONNECTIONS',
    ),
    POSTHORN_SEARCH_SECONDS: seen(
      'test/api/settings.test.ts',
      'a list that takes longer than POSTHORN_SEARCH_SECONDS is answered with 504',
    ),
    POSTHORN_SECRET_KEY: seen(
      'test/secrets/rotation.test.ts',
      'a start is refused with a key that running nodes lack, or without a key that the data needs',
    ),
    POSTHORN_OTHER_SECRET_KEY: seen(
      'test/secrets/rotation.test.ts',
      'the key is changed while two nodes deliver: nothing is lost, sent wrongly or left behind',
    ),
    POSTHORN_ROLES: seen(
      'test/engine/node-settings.test.ts',
      'a node has only the roles of POSTHORN_ROLES, and others do the rest',
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
      'authorities of POSTHORN_CA_FILE are trusted, and an endpoint gets its client certificate',
    ),
    POSTHORN_MAX_BODY_BYTES: seen(
      'test/api/requests.test.ts',
      'over the limit is 413, announced or in chunks',
    ),
    POSTHORN_SESSION_HOURS: seen(
      'test/people/sign-in.test.ts',
      'a node may have shorter sessions, or no passwords',
    ),
    POSTHORN_SESSION_IDLE_MINUTES: seen(
      'test/people/sign-in.test.ts',
      'a node may have shorter sessions, or no passwords',
    ),
    POSTHORN_PASSWORD_SIGN_IN: seen(
      'test/people/sign-in.test.ts',
      'a node may have shorter sessions, or no passwords',
    ),
    POSTHORN_OIDC_PROVIDERS: seen(
      'test/people/providers.test.ts',
      'a person signs in at a provider, and the first sign-in makes an account',
    ),
    POSTHORN_SECOND_FACTOR: seen(
      'test/people/second-factor.test.ts',
      'an instance that requires it opens nothing but the own account without it',
    ),
    POSTHORN_API_RATE: seen(
      'test/api/limits.test.ts',
      'calls per key and second are limited; another key is not affected',
    ),
    POSTHORN_PORTAL_RATE: seen(
      'test/api/limits.test.ts',
      'calls per portal link and second are limited; another link and the key are not affected',
    ),
    POSTHORN_MAX_RETRY_SECONDS: seen(
      'test/engine/node-settings.test.ts',
      'an exponential wait is at most POSTHORN_MAX_RETRY_SECONDS, and 20 % more at random',
    ),
    POSTHORN_RETENTION_HOURS: seen('test/api/settings.test.ts', 'than POSTHORN_RETENTION_HOURS is removed'),
    POSTHORN_EXPORT_DIR: seen('test/engine/retention.test.ts', 'gets the data before it is removed'),
    POSTHORN_GRACE: seen(
      'test/chaos/stop.test.ts',
      'a node with a short grace ends while one with a long grace still waits for its delivery',
    ),
    POSTHORN_WINDOW: seen(
      'test/engine/node-settings.test.ts',
      'a node has no more deliveries in flight than POSTHORN_WINDOW, and the rest follow',
    ),
    POSTHORN_ENDPOINT_CONCURRENCY: seen(
      'test/engine/node-settings.test.ts',
      'an endpoint gets no more requests at once than POSTHORN_ENDPOINT_CONCURRENCY',
    ),
    POSTHORN_LOG_LEVEL: seen('test/api/settings.test.ts', 'has the level of POSTHORN_LOG_LEVEL'),
    OTEL_EXPORTER_OTLP_ENDPOINT: seen(
      'test/tracing/tracing.test.ts',
      'an event is one trace from the request through its acceptance to the attempt and the endpoint',
    ),
    OTEL_EXPORTER_OTLP_HEADERS: seen(
      'test/tracing/tracing.test.ts',
      'the collector gets the configured service name and headers',
    ),
    OTEL_SERVICE_NAME: seen(
      'test/tracing/tracing.test.ts',
      'the collector gets the configured service name and headers',
    ),
    OTEL_TRACES_SAMPLER_ARG: seen(
      'test/tracing/tracing.test.ts',
      'an event without a trace begins one, for the share in OTEL_TRACES_SAMPLER_ARG',
    ),
    POSTHORN_CERTIFICATE_DAYS: seen(
      'test/engine/certificate-alerts.test.ts',
      'each endpoint of a server has its alert, also on a shared connection; a certificate outside the window has none',
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
