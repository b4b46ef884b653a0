-- The schema after every migration. Made by `npm run generate`; change it by adding a migration.
-- Partitions of the partitioned tables are made by the program (src/store/upkeep/partitions.ts) and not shown.

create table alert_failures (
  subscription_id text collate "C" not null,
  at timestamp with time zone not null,
  project_id text collate "C" not null,
  failures integer not null,
  constraint alert_failures_pkey PRIMARY KEY (subscription_id, at)
);
CREATE INDEX alert_failures_at ON public.alert_failures USING btree (at);

create table alerts (
  subject_id text collate "C" not null,
  kind text not null,
  project_id text collate "C" not null,
  version bigint not null,
  raised_at timestamp with time zone not null,
  cleared_at timestamp with time zone,
  constraint alerts_pkey PRIMARY KEY (subject_id, kind)
);
CREATE INDEX alerts_version ON public.alerts USING btree (project_id, version);

create table api_keys (
  id text collate "C" not null,
  project_id text collate "C",
  name text not null,
  mask text not null,
  role text not null default 'admin'::text,
  hash bytea not null,
  expires_at timestamp with time zone,
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  constraint api_keys_pkey PRIMARY KEY (id),
  constraint api_keys_hash_key UNIQUE (hash)
);
CREATE INDEX api_keys_project ON public.api_keys USING btree (project_id, id);

create table audit_entries (
  id text collate "C" not null,
  project_id text collate "C",
  actor_type text not null,
  actor_id text collate "C",
  credential_id text collate "C",
  address text,
  action text not null,
  resource_type text not null,
  resource_id text collate "C",
  before json,
  after json,
  constraint audit_entries_pkey PRIMARY KEY (id)
);
CREATE INDEX audit_entries_list ON public.audit_entries USING btree (project_id, id);
CREATE INDEX audit_entries_resource ON public.audit_entries USING btree (resource_id, id);

create table broker_messages (
  source_id text collate "C" not null,
  stream text collate "C" not null,
  message_id text collate "C" not null,
  project_id text collate "C" not null,
  expires_at timestamp with time zone not null,
  constraint broker_messages_pkey PRIMARY KEY (source_id, stream, message_id)
);
CREATE INDEX broker_messages_expires ON public.broker_messages USING btree (expires_at);

create table broker_positions (
  source_id text collate "C" not null,
  stream text collate "C" not null,
  project_id text collate "C" not null,
  "position" text collate "C" not null,
  updated_at timestamp with time zone not null default now(),
  constraint broker_positions_pkey PRIMARY KEY (source_id, stream)
) with (fillfactor=50);

create table broker_status (
  source_id text collate "C" not null,
  node_id text collate "C" not null,
  project_id text collate "C" not null,
  state text not null,
  reason text not null,
  last_message_at timestamp with time zone,
  last_error text not null,
  last_error_at timestamp with time zone,
  lag bigint,
  updated_at timestamp with time zone not null default now(),
  constraint broker_status_pkey PRIMARY KEY (source_id, node_id)
) with (fillfactor=50);

create table change_stream_slots (
  id text collate "C" not null,
  source_id text collate "C" not null,
  project_id text collate "C" not null,
  is_slot_made boolean not null,
  is_publication_made boolean not null,
  generation text not null,
  epoch integer not null,
  is_former boolean not null default false,
  sealed bytea not null,
  tries integer not null default 0,
  retry_at timestamp with time zone not null default now(),
  constraint change_stream_slots_pkey PRIMARY KEY (id)
);
CREATE INDEX change_stream_slots_source ON public.change_stream_slots USING btree (source_id);

create table delivery_attempts (
  id text collate "C" not null,
  delivery_id text collate "C" not null,
  project_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  url text not null,
  ip_address text,
  http_status text,
  error text,
  succeeded boolean not null,
  is_stale boolean not null,
  request_headers text not null,
  response_headers text,
  response_body bytea,
  timings text not null,
  requested_at timestamp with time zone not null,
  responded_at timestamp with time zone,
  constraint delivery_attempts_pkey PRIMARY KEY (project_id, delivery_id, id)
) partition by RANGE (delivery_id);

create table delivery_queue (
  delivery_id text collate "C" not null,
  event_id text collate "C" not null,
  project_id text collate "C" not null,
  key text collate "C" not null,
  lane smallint not null,
  kind smallint not null default 0,
  due_at timestamp with time zone not null,
  node_id text collate "C",
  fence integer not null default 1,
  is_started boolean not null default false,
  is_second_request boolean not null default false,
  pulled_at timestamp with time zone,
  pulled_headers text,
  constraint delivery_queue_pkey PRIMARY KEY (project_id, delivery_id)
) with (fillfactor=70, autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0);
CREATE INDEX delivery_queue_claim ON public.delivery_queue USING btree (key, lane, due_at) WHERE (node_id IS NULL);

create table devices (
  id text collate "C" not null,
  project_id text collate "C" not null,
  host_name text not null,
  caller_id text collate "C" not null,
  subscription_id text collate "C" not null,
  last_seen_at timestamp with time zone not null default now(),
  constraint devices_pkey PRIMARY KEY (id),
  constraint devices_project_id_host_name_caller_id_key UNIQUE (project_id, host_name, caller_id)
);
CREATE INDEX devices_seen ON public.devices USING btree (last_seen_at);

create table endpoint_breakers (
  endpoint_id text collate "C" not null,
  project_id text collate "C" not null,
  version bigint not null,
  state text not null,
  trips integer not null,
  probes integer not null default 0,
  changed_at timestamp with time zone not null,
  probe_until timestamp with time zone,
  constraint endpoint_breakers_pkey PRIMARY KEY (endpoint_id)
);
CREATE INDEX endpoint_breakers_version ON public.endpoint_breakers USING btree (project_id, version);

create table endpoint_counters (
  endpoint_id text collate "C" not null,
  minute timestamp with time zone not null,
  node_id text collate "C" not null,
  deliveries integer not null,
  successes integer not null,
  failures integer not null,
  constraint endpoint_counters_pkey PRIMARY KEY (endpoint_id, minute, node_id)
) with (fillfactor=70);

create table endpoint_totals (
  endpoint_id text collate "C" not null,
  deliveries bigint not null,
  until timestamp with time zone not null,
  constraint endpoint_totals_pkey PRIMARY KEY (endpoint_id)
) with (fillfactor=70);

create table endpoints (
  id text collate "C" not null,
  project_id text collate "C" not null,
  version bigint not null,
  name text not null,
  url text not null,
  description text not null,
  owner_id text not null,
  app_id text not null,
  status text not null,
  advanced_signatures boolean not null,
  content_type text not null,
  http_timeout integer not null,
  rate_limit integer not null,
  rate_limit_duration integer not null,
  support_email text not null,
  delivery text not null default 'push'::text,
  key text not null default ''::text,
  sealed bytea not null,
  updated_at timestamp with time zone not null default now(),
  deleted_at timestamp with time zone,
  constraint endpoints_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX endpoints_by_key ON public.endpoints USING btree (project_id, key) WHERE ((key <> ''::text) AND (deleted_at IS NULL));
CREATE INDEX endpoints_list ON public.endpoints USING btree (project_id, id) WHERE (deleted_at IS NULL);
CREATE INDEX endpoints_owner ON public.endpoints USING btree (project_id, owner_id, id) WHERE (deleted_at IS NULL);
CREATE INDEX endpoints_url ON public.endpoints USING btree (project_id, md5(url)) WHERE (deleted_at IS NULL);
CREATE INDEX endpoints_version ON public.endpoints USING btree (project_id, version);

create table event_deliveries (
  id text collate "C" not null,
  project_id text collate "C" not null,
  event_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  subscription_id text collate "C",
  event_type text not null,
  status text not null,
  description text,
  delivery_mode text not null,
  strategy text not null,
  interval_seconds integer not null,
  max_retry_seconds integer not null,
  retry_limit integer not null,
  num_trials integer not null default 0,
  budget_from integer not null default 0,
  next_send_at timestamp with time zone,
  latency_ms double precision,
  last_outcome text,
  body bytea,
  updated_at timestamp with time zone not null,
  cancelled_at timestamp with time zone,
  constraint event_deliveries_pkey PRIMARY KEY (project_id, id)
) partition by RANGE (id);
CREATE INDEX event_deliveries_endpoint ON public.event_deliveries USING btree (endpoint_id, id) WHERE (endpoint_id IS NOT NULL);
CREATE INDEX event_deliveries_event ON public.event_deliveries USING btree (event_id, id) WHERE (event_id IS NOT NULL);

create table event_keys (
  project_id text collate "C" not null,
  key text collate "C" not null,
  event_id text collate "C" not null,
  constraint event_keys_pkey PRIMARY KEY (project_id, key)
);

create table event_types (
  id text collate "C" not null,
  project_id text collate "C" not null,
  name text collate "C" not null,
  category text not null default ''::text,
  description text not null default ''::text,
  json_schema json,
  deprecated_at timestamp with time zone,
  updated_at timestamp with time zone not null default now(),
  constraint event_types_pkey PRIMARY KEY (id),
  constraint event_types_project_id_name_key UNIQUE (project_id, name)
);

create table events (
  id text collate "C" not null,
  project_id text collate "C" not null,
  event_type text not null,
  source_id text collate "C",
  app_id text,
  status text not null,
  failure_reason text,
  source_function_failed boolean not null default false,
  is_duplicate boolean not null,
  idempotency_key text,
  endpoints text[] not null,
  headers text,
  payload bytea not null,
  content_type text,
  url_query_params text,
  url_path text,
  metadata text,
  acknowledged_at timestamp with time zone not null,
  target text,
  forwarded_headers text,
  constraint events_pkey PRIMARY KEY (project_id, id)
) partition by RANGE (id);
CREATE INDEX events_idempotency ON public.events USING btree (project_id, idempotency_key, id) WHERE (idempotency_key IS NOT NULL);

create table expansions (
  id text collate "C" not null,
  event_id text collate "C" not null,
  project_id text collate "C" not null,
  subscription_ids text[] not null,
  lane smallint not null,
  done integer not null default 0,
  constraint expansions_pkey PRIMARY KEY (id)
);

create table failure_mutes (
  id text collate "C" not null,
  project_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  outcome text not null,
  until timestamp with time zone not null,
  actor_type text not null,
  actor_id text,
  constraint failure_mutes_pkey PRIMARY KEY (id),
  constraint failure_mutes_project_id_endpoint_id_outcome_key UNIQUE (project_id, endpoint_id, outcome)
);

create table identities (
  issuer text collate "C" not null,
  subject text collate "C" not null,
  person_id text collate "C" not null,
  constraint identities_pkey PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_person ON public.identities USING btree (person_id);

create table instance_secrets (
  name text not null,
  sealed bytea not null,
  constraint instance_secrets_pkey PRIMARY KEY (name)
);

create table intake_windows (
  key text collate "C" not null,
  max_events bigint not null,
  seconds integer not null,
  granted bigint not null,
  times double precision[] not null default '{}'::double precision[],
  counts bigint[] not null default '{}'::bigint[],
  constraint intake_windows_pkey PRIMARY KEY (key)
) with (fillfactor=50);

create table jobs (
  id text collate "C" not null,
  project_id text collate "C" not null,
  type text not null,
  status text not null,
  input text not null,
  sealed bytea,
  cursor text collate "C" not null default ''::text,
  total bigint,
  done bigint not null default 0,
  failed bigint not null default 0,
  rate integer,
  error text,
  due_at timestamp with time zone not null default now(),
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  updated_at timestamp with time zone not null default now(),
  actor_type text not null,
  actor_id text collate "C",
  actor_credential_id text collate "C",
  actor_address text,
  constraint jobs_pkey PRIMARY KEY (id)
);
CREATE INDEX jobs_list ON public.jobs USING btree (project_id, id);
CREATE INDEX jobs_open ON public.jobs USING btree (due_at) WHERE (status = ANY (ARRAY['queued'::text, 'running'::text]));

create table memberships (
  project_id text collate "C" not null,
  person_id text collate "C" not null,
  role text not null,
  constraint memberships_pkey PRIMARY KEY (project_id, person_id)
);
CREATE INDEX memberships_person ON public.memberships USING btree (person_id);

create table meta_events (
  id text collate "C" not null,
  project_id text collate "C" not null,
  event_type text not null,
  status text not null,
  description text,
  payload bytea not null,
  strategy text not null,
  interval_seconds integer not null,
  max_retry_seconds integer not null,
  retry_limit integer not null,
  num_trials integer not null default 0,
  budget_from integer not null default 0,
  next_send_at timestamp with time zone,
  http_status text,
  error text,
  request_headers text,
  response_headers text,
  response_body bytea,
  updated_at timestamp with time zone not null,
  constraint meta_events_pkey PRIMARY KEY (id)
) partition by RANGE (id);
CREATE INDEX meta_events_list ON public.meta_events USING btree (project_id, id);

create table nodes (
  id text collate "C" not null,
  roles text not null,
  started_at timestamp with time zone not null default now(),
  beat_at timestamp with time zone not null default now(),
  seal_keys text[] not null,
  knows text not null,
  constraint nodes_pkey PRIMARY KEY (id)
);

create table people (
  id text collate "C" not null,
  email text collate "C" not null,
  is_email_verified boolean not null,
  name text not null,
  is_instance_admin boolean not null,
  password_hash text,
  sealed_totp bytea,
  totp_confirmed_at timestamp with time zone,
  totp_step bigint not null default 0,
  recovery_hashes bytea[] not null default '{}'::bytea[],
  last_sign_in_at timestamp with time zone,
  updated_at timestamp with time zone not null default now(),
  deactivated_at timestamp with time zone,
  constraint people_pkey PRIMARY KEY (id),
  constraint people_email_key UNIQUE (email)
);

create table portal_links (
  id text collate "C" not null,
  project_id text collate "C" not null,
  name text not null,
  owner_id text not null,
  can_manage_endpoint boolean not null,
  auth_type text not null,
  token_hash bytea not null,
  sealed_token bytea not null,
  expires_at timestamp with time zone,
  updated_at timestamp with time zone not null default now(),
  deleted_at timestamp with time zone,
  can_create_events boolean not null default false,
  event_types text[] not null default '{}'::text[],
  can_retry boolean not null default true,
  can_see_secrets boolean,
  can_edit_functions boolean,
  constraint portal_links_pkey PRIMARY KEY (id),
  constraint portal_links_token_hash_key UNIQUE (token_hash)
);
CREATE INDEX portal_links_list ON public.portal_links USING btree (project_id, id) WHERE (deleted_at IS NULL);

create table portal_tokens (
  hash bytea not null,
  portal_link_id text collate "C" not null,
  expires_at timestamp with time zone not null,
  constraint portal_tokens_pkey PRIMARY KEY (hash)
);
CREATE INDEX portal_tokens_link ON public.portal_tokens USING btree (portal_link_id, expires_at);

create table projects (
  id text collate "C" not null,
  name text not null,
  type text not null,
  logo_url text not null default ''::text,
  config jsonb not null,
  sealed bytea,
  version bigint not null default 1,
  config_version bigint not null default 1,
  updated_at timestamp with time zone not null default now(),
  deleted_at timestamp with time zone,
  constraint projects_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX projects_name ON public.projects USING btree (name) WHERE (deleted_at IS NULL);

create table rate_leases (
  endpoint_id text collate "C" not null,
  node_id text collate "C",
  epoch bigint not null default 1,
  quiet_since timestamp with time zone not null default '1970-01-01 00:00:00+00'::timestamp with time zone,
  sends text,
  constraint rate_leases_pkey PRIMARY KEY (endpoint_id)
) with (fillfactor=50);
CREATE INDEX rate_leases_node ON public.rate_leases USING btree (node_id) WHERE (node_id IS NOT NULL);

create table schema_migrations (
  name text not null,
  applied_at timestamp with time zone not null default now(),
  needs text,
  constraint schema_migrations_pkey PRIMARY KEY (name)
);

create table secret_keys (
  id text collate "C" not null,
  added_at timestamp with time zone not null default now(),
  constraint secret_keys_pkey PRIMARY KEY (id)
);

create table sessions (
  id text collate "C" not null,
  person_id text collate "C" not null,
  hash bytea not null,
  method text not null,
  has_second_factor boolean not null,
  address text not null,
  user_agent text not null,
  last_used_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  constraint sessions_pkey PRIMARY KEY (id),
  constraint sessions_hash_key UNIQUE (hash)
);
CREATE INDEX sessions_person ON public.sessions USING btree (person_id, id);

create table sign_in_failures (
  key bytea not null,
  failures integer not null,
  failed_at timestamp with time zone not null,
  succeeded_at timestamp with time zone,
  constraint sign_in_failures_pkey PRIMARY KEY (key)
);
CREATE INDEX sign_in_failures_at ON public.sign_in_failures USING btree (failed_at);

create table sign_in_links (
  hash bytea not null,
  person_id text collate "C" not null,
  purpose text not null,
  was_mailed boolean not null,
  ends_second_factor boolean not null,
  expires_at timestamp with time zone not null,
  constraint sign_in_links_pkey PRIMARY KEY (hash)
);
CREATE INDEX sign_in_links_person ON public.sign_in_links USING btree (person_id);

create table source_leases (
  source_id text collate "C" not null,
  project_id text collate "C" not null,
  node_id text collate "C" not null,
  leased_until timestamp with time zone not null,
  constraint source_leases_pkey PRIMARY KEY (source_id)
) with (fillfactor=50);

create table sources (
  id text collate "C" not null,
  project_id text collate "C" not null,
  version bigint not null,
  name text not null,
  type text not null,
  provider text not null,
  mask_id text collate "C" not null,
  is_disabled boolean not null,
  body_function text not null,
  header_function text not null,
  idempotency_keys text[] not null,
  event_type_location text not null,
  forward_headers text[] not null,
  custom_response jsonb not null,
  provider_config jsonb,
  rate_limit integer not null,
  rate_limit_duration integer not null,
  key text not null default ''::text,
  sealed bytea not null,
  updated_at timestamp with time zone not null default now(),
  deleted_at timestamp with time zone,
  constraint sources_pkey PRIMARY KEY (id),
  constraint sources_mask_id_key UNIQUE (mask_id)
);
CREATE INDEX sources_brokers ON public.sources USING btree (id) WHERE ((type = ANY (ARRAY['pub_sub'::text, 'db_change_stream'::text])) AND (deleted_at IS NULL));
CREATE UNIQUE INDEX sources_by_key ON public.sources USING btree (project_id, key) WHERE ((key <> ''::text) AND (deleted_at IS NULL));
CREATE INDEX sources_list ON public.sources USING btree (project_id, id) WHERE (deleted_at IS NULL);
CREATE INDEX sources_version ON public.sources USING btree (project_id, version);

create table subscriptions (
  id text collate "C" not null,
  project_id text collate "C" not null,
  version bigint not null,
  name text not null,
  type text not null,
  status text not null,
  endpoint_id text collate "C" not null,
  source_id text collate "C" not null,
  event_types text[] not null,
  filter json not null,
  function text not null,
  delivery_mode text not null,
  alert_config jsonb,
  rate_limit_config jsonb,
  retry_config jsonb,
  key text not null default ''::text,
  updated_at timestamp with time zone not null default now(),
  deleted_at timestamp with time zone,
  filters json not null default '[]'::json,
  constraint subscriptions_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX subscriptions_by_key ON public.subscriptions USING btree (project_id, key) WHERE ((key <> ''::text) AND (deleted_at IS NULL));
CREATE INDEX subscriptions_endpoint ON public.subscriptions USING btree (endpoint_id, id) WHERE (deleted_at IS NULL);
CREATE INDEX subscriptions_list ON public.subscriptions USING btree (project_id, id) WHERE (deleted_at IS NULL);
CREATE INDEX subscriptions_source ON public.subscriptions USING btree (project_id, source_id) WHERE ((deleted_at IS NULL) AND (source_id <> ''::text));
CREATE INDEX subscriptions_version ON public.subscriptions USING btree (project_id, version);

create table traffic (
  project_id text collate "C" not null,
  subject_id text collate "C" not null,
  step smallint not null,
  start timestamp with time zone not null,
  node_id text collate "C" not null,
  accepted integer not null,
  delivered integer not null,
  failed integer not null,
  attempts integer not null,
  failed_attempts integer not null,
  buckets smallint[] not null,
  bucket_counts integer[] not null,
  constraint traffic_pkey PRIMARY KEY (project_id, subject_id, step, start, node_id)
) with (fillfactor=50);
CREATE INDEX traffic_start ON public.traffic USING btree (step, start);

create table views (
  id text collate "C" not null,
  project_id text collate "C" not null,
  page text not null,
  name text not null,
  query text not null,
  updated_at timestamp with time zone not null default now(),
  constraint views_pkey PRIMARY KEY (id),
  constraint views_project_id_page_name_key UNIQUE (project_id, page, name)
);
