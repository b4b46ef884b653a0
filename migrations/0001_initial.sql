-- Everything a node needs. Config tables first, then the hot tables.
--
-- Ids are ULIDs as text in collation "C": id order is time order, and a row's creation time is its id's time.
-- Config rows carry the version of their project that last changed them; deleted rows stay as tombstones, so a
-- node refreshes its compiled config by reading only what is newer than what it has.

create table projects (
  id text collate "C" primary key,
  name text not null,
  type text not null,
  logo_url text not null default '',
  config jsonb not null,
  sealed bytea,
  version bigint not null default 1,
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
);
create unique index projects_name on projects (name) where deleted_at is null;

create table api_keys (
  id text collate "C" primary key,
  -- null: the instance key, which may do anything in any project
  project_id text collate "C",
  name text not null,
  mask text not null,
  hash bytea not null unique,
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz
);
create index api_keys_project on api_keys (project_id, id);

create table endpoints (
  id text collate "C" primary key,
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
  slack_webhook_url text not null,
  teams_webhook_url text not null,
  -- secrets, authentication and client certificate, sealed together
  sealed bytea not null,
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
);
create index endpoints_list on endpoints (project_id, id) where deleted_at is null;
create index endpoints_version on endpoints (project_id, version);
create index endpoints_owner on endpoints (project_id, owner_id, id) where deleted_at is null;
create index endpoints_url on endpoints (project_id, md5(url)) where deleted_at is null;

create table subscriptions (
  id text collate "C" primary key,
  project_id text collate "C" not null,
  version bigint not null,
  name text not null,
  type text not null,
  status text not null,
  endpoint_id text collate "C" not null,
  source_id text collate "C" not null,
  event_types text[] not null,
  filter jsonb not null,
  function text not null,
  delivery_mode text not null,
  alert_config jsonb,
  rate_limit_config jsonb,
  retry_config jsonb,
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
);
create index subscriptions_list on subscriptions (project_id, id) where deleted_at is null;
create index subscriptions_version on subscriptions (project_id, version);
create index subscriptions_endpoint on subscriptions (endpoint_id, id) where deleted_at is null;

-- Nodes beat here; the rows of one that fell silent are taken over.
create table nodes (
  id text collate "C" primary key,
  roles text not null,
  started_at timestamptz not null default now(),
  beat_at timestamptz not null default now()
);

-- Hot tables: partitioned by id (attempts by their delivery's), no foreign keys, no index on anything that
-- finishing changes. Partitions are made by the program (store/partitions.ts), which also sets their storage.

create table events (
  id text collate "C" not null primary key,
  project_id text collate "C" not null,
  event_type text not null,
  source_id text collate "C",
  app_id text,
  status text not null,
  failure_reason text,
  is_duplicate boolean not null,
  idempotency_key text,
  endpoints text[] not null,
  headers text,
  payload bytea not null,
  -- null: JSON; else the payload's own type, kept byte for byte
  content_type text,
  url_query_params text,
  url_path text,
  metadata text,
  acknowledged_at timestamptz not null
) partition by range (id);
create index events_list on events (project_id, id);

create table event_deliveries (
  id text collate "C" not null primary key,
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
  -- num_trials when the present retry budget began: a resend starts a fresh one
  budget_from integer not null default 0,
  next_send_at timestamptz,
  latency_ms double precision,
  -- the body sent, where a function made it differ from the event's
  body bytea,
  updated_at timestamptz not null
) partition by range (id);
create index event_deliveries_list on event_deliveries (project_id, id);
create index event_deliveries_event on event_deliveries (event_id, id);
create index event_deliveries_endpoint on event_deliveries (endpoint_id, id);

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
  -- recorded by a node that had lost its lease: changed no state
  is_stale boolean not null,
  request_headers text not null,
  response_headers text,
  response_body bytea,
  timings text not null,
  requested_at timestamptz not null,
  responded_at timestamptz,
  primary key (delivery_id, id)
) partition by range (delivery_id);

-- One row per open delivery, none for a finished one. A row with a node is held by it under the fence; a row
-- without is waiting to be claimed once due. `key` is what claims choose by: the endpoint, or the subscription
-- where that has a rate limit of its own, so that it cannot hold up its siblings.
create table delivery_queue (
  delivery_id text collate "C" primary key,
  event_id text collate "C" not null,
  project_id text collate "C" not null,
  key text collate "C" not null,
  lane smallint not null,
  kind smallint not null default 0,
  due_at timestamptz not null,
  node_id text collate "C",
  fence integer not null default 1
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
create index delivery_queue_claim on delivery_queue (key, lane, due_at) where node_id is null;

create table event_keys (
  project_id text collate "C" not null,
  key text collate "C" not null,
  event_id text collate "C" not null,
  primary key (project_id, key)
);

-- Attempts counted per endpoint, node and minute: nodes never wait for each other; readers sum.
create table endpoint_counters (
  endpoint_id text collate "C" not null,
  minute timestamptz not null,
  node_id text collate "C" not null,
  -- deliveries that had their first attempt in this minute
  deliveries integer not null,
  successes integer not null,
  failures integer not null,
  primary key (endpoint_id, minute, node_id)
) with (fillfactor = 70);
