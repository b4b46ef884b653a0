-- The whole schema: config, credentials, nodes, the hot path, limits and alerts, jobs and the audit log.
--
-- These rules hold for every table:
--
-- * Ids are ULIDs, stored as text in collation "C". The order of ids is the order of time, and the time within an id is
--   the creation time of its row, so there is no created_at column.
-- * Config rows have the project version that last changed them. A deleted row stays as a tombstone for a while. So a
--   node refreshes its config by reading only the rows with a newer version than its own.
-- * Columns named `sealed` or `sealed_...` hold secrets under the secret key (docs/secrets.md). No secret is stored in
--   clear.
-- * There are no foreign keys. On the hot tables they would cost 40 % of the throughput (ADR 0003).
--   src/store/upkeep/remove-leftovers.ts removes the rows of deleted projects.


-- Config: people change it, nodes hold it in memory.

create table projects (
  id text collate "C" primary key,
  name text not null,
  type text not null,
  logo_url text not null default '',
  -- every setting but the secret of meta events, which is in `sealed`
  config jsonb not null,
  -- null: the project has no secret
  sealed bytea,
  -- goes up with every change that nodes have to learn
  version bigint not null default 1,
  -- goes up with every change that people make, event types included, and not with breakers, alerts or devices
  config_version bigint not null default 1,
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
);
create unique index projects_name on projects (name) where deleted_at is null;

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
  -- push: its URL is called; pull: a consumer fetches its deliveries; device: a listening program gets them
  delivery text not null default 'push',
  -- its name in the file of a project (docs/cli.md); empty: none
  key text not null default '',
  -- signing secrets, authentication, client certificate and addresses of chat channels, sealed together
  sealed bytea not null,
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
);
create index endpoints_list on endpoints (project_id, id) where deleted_at is null;
create unique index endpoints_by_key on endpoints (project_id, key) where key <> '' and deleted_at is null;
create index endpoints_version on endpoints (project_id, version);
create index endpoints_owner on endpoints (project_id, owner_id, id) where deleted_at is null;
-- A hash, because a URL may be longer than an index entry can be.
create index endpoints_url on endpoints (project_id, md5(url)) where deleted_at is null;

create table subscriptions (
  id text collate "C" primary key,
  project_id text collate "C" not null,
  version bigint not null,
  name text not null,
  type text not null,
  status text not null,
  endpoint_id text collate "C" not null,
  -- empty: none
  source_id text collate "C" not null,
  event_types text[] not null,
  -- json, not jsonb: conditions are shown in the order in which they were written
  filter json not null,
  function text not null,
  delivery_mode text not null,
  alert_config jsonb,
  rate_limit_config jsonb,
  retry_config jsonb,
  key text not null default '',
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  -- one record per event type; see src/domain/config/subscription.ts
  filters json not null default '[]'
);
create index subscriptions_list on subscriptions (project_id, id) where deleted_at is null;
create unique index subscriptions_by_key on subscriptions (project_id, key) where key <> '' and deleted_at is null;
create index subscriptions_version on subscriptions (project_id, version);
create index subscriptions_endpoint on subscriptions (endpoint_id, id) where deleted_at is null;
create index subscriptions_source on subscriptions (project_id, source_id) where deleted_at is null and source_id <> '';

-- Programs that listen to a project. The endpoint with the same id has the secrets and the state: inactive when the
-- device was not seen for ten minutes.
create table devices (
  id text collate "C" primary key,
  project_id text collate "C" not null,
  host_name text not null,
  -- the key or person that it connects as
  caller_id text collate "C" not null,
  subscription_id text collate "C" not null,
  last_seen_at timestamptz not null default now(),
  unique (project_id, host_name, caller_id)
);
create index devices_seen on devices (last_seen_at);

create table sources (
  id text collate "C" primary key,
  project_id text collate "C" not null,
  version bigint not null,
  name text not null,
  type text not null,
  provider text not null,
  -- the name of the source in its ingest URL
  mask_id text collate "C" not null unique,
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
  key text not null default '',
  -- verifier and broker settings, sealed together
  sealed bytea not null,
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
);
create index sources_list on sources (project_id, id) where deleted_at is null;
create unique index sources_by_key on sources (project_id, key) where key <> '' and deleted_at is null;
create index sources_version on sources (project_id, version);
-- nodes look for these in all projects
create index sources_brokers on sources (id) where type in ('pub_sub', 'db_change_stream') and deleted_at is null;

-- The catalogue of event types. Delivery does not read it.
create table event_types (
  id text collate "C" primary key,
  project_id text collate "C" not null,
  name text collate "C" not null,
  category text not null default '',
  description text not null default '',
  -- json, not jsonb: a schema is shown as it was written
  json_schema json,
  deprecated_at timestamptz,
  updated_at timestamptz not null default now(),
  unique (project_id, name)
);


-- Filters of a page of the dashboard, saved under a name.
create table views (
  id text collate "C" primary key,
  project_id text collate "C" not null,
  page text not null,
  name text not null,
  -- as in the query of the page's address
  query text not null,
  updated_at timestamptz not null default now(),
  unique (project_id, page, name)
);

-- Calls that created config and may be repeated within a day.
create table idempotency_keys (
  -- a keyed hash of credential, project, operation and key
  id text collate "C" primary key,
  -- a keyed hash of the request
  request text not null,
  -- of what the call created
  ids text[] not null default '{}',
  -- what the response shows only once
  sealed bytea,
  made_at timestamptz not null default now()
);
create index idempotency_keys_by_time on idempotency_keys (made_at);

-- Groups of failures that people do not want to see among the others for a while.
create table failure_mutes (
  id text collate "C" primary key,
  project_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  -- the cause: the result of the last attempt
  outcome text not null,
  until timestamptz not null,
  -- who muted it
  actor_type text not null,
  actor_id text,
  unique (project_id, endpoint_id, outcome)
);


-- Credentials of callers, people, and the keys that seal secrets.

create table api_keys (
  id text collate "C" primary key,
  -- null: the instance key, which may do anything in any project
  project_id text collate "C",
  name text not null,
  mask text not null,
  -- what the key may do in its project: viewer, developer or admin
  role text not null default 'admin',
  -- a keyed hash: the table alone proves nothing
  hash bytea not null unique,
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz
);
create index api_keys_project on api_keys (project_id, id);

create table portal_links (
  id text collate "C" primary key,
  project_id text collate "C" not null,
  name text not null,
  owner_id text not null,
  can_manage_endpoint boolean not null,
  auth_type text not null,
  -- the static token: its keyed hash finds the link, and the sealed token can be shown again
  token_hash bytea not null unique,
  sealed_token bytea not null,
  expires_at timestamptz,
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  can_create_events boolean not null default false,
  -- the event types that the holder may see; empty: all
  event_types text[] not null default '{}',
  can_retry boolean not null default true,
  -- null: as can_manage_endpoint
  can_see_secrets boolean,
  can_edit_functions boolean
);
create index portal_links_list on portal_links (project_id, id) where deleted_at is null;

-- Tokens of one hour, of links of type refresh_token. A link may have several at a time.
create table portal_tokens (
  hash bytea primary key,
  portal_link_id text collate "C" not null,
  expires_at timestamptz not null
);
create index portal_tokens_link on portal_tokens (portal_link_id, expires_at);

-- People. They sign in; keys are for programs.

create table people (
  id text collate "C" primary key,
  -- in lower case: one account per address
  email text collate "C" not null unique,
  -- whether the owner of the address or an administrator of the instance has confirmed it
  is_email_verified boolean not null,
  name text not null,
  is_instance_admin boolean not null,
  -- argon2id with its parameters, over a keyed hash; null: no password
  password_hash text,
  -- the seed of the second factor; null: none
  sealed_totp bytea,
  -- null: the second factor was begun and never used
  totp_confirmed_at timestamptz,
  -- the newest time step whose code was used: no code works twice
  totp_step bigint not null default 0,
  -- keyed hashes of the recovery codes that are left
  recovery_hashes bytea[] not null default '{}',
  -- null: never
  last_sign_in_at timestamptz,
  updated_at timestamptz not null default now(),
  -- null: active
  deactivated_at timestamptz
);

-- The role of a person in a project. Administrators of the instance need none.
create table memberships (
  project_id text collate "C" not null,
  person_id text collate "C" not null,
  role text not null,
  primary key (project_id, person_id)
);
create index memberships_person on memberships (person_id);

-- A session ends when its row is removed, at expires_at, or when it was not used for a while.
create table sessions (
  -- shown to its owner; the cookie has another, secret value
  id text collate "C" primary key,
  person_id text collate "C" not null,
  -- a keyed hash of the cookie's value
  hash bytea not null unique,
  -- password, link, or the name of a provider
  method text not null,
  has_second_factor boolean not null,
  address text not null,
  user_agent text not null,
  last_used_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index sessions_person on sessions (person_id, id);

-- Links that work once: invitations, resets of a password, and sign-ins of an administrator.
create table sign_in_links (
  -- a keyed hash of the token in the link
  hash bytea primary key,
  person_id text collate "C" not null,
  purpose text not null,
  -- the link was sent to the address of the account, so its use confirms the address
  was_mailed boolean not null,
  -- a reset that also removes the second factor
  ends_second_factor boolean not null,
  expires_at timestamptz not null
);
create index sign_in_links_person on sign_in_links (person_id);

-- Failed sign-ins by account, by address, and by both. The key is a keyed hash.
create table sign_in_failures (
  key bytea primary key,
  failures integer not null,
  failed_at timestamptz not null,
  -- when a sign-in from here last succeeded
  succeeded_at timestamptz
);
create index sign_in_failures_at on sign_in_failures (failed_at);

-- Accounts at OpenID Connect providers.
create table identities (
  issuer text collate "C" not null,
  subject text collate "C" not null,
  person_id text collate "C" not null,
  primary key (issuer, subject)
);
create index identities_person on identities (person_id);

-- The ids of the secret keys that sealed something here. A node that lacks one of them does not start.
create table secret_keys (
  id text collate "C" primary key,
  added_at timestamptz not null default now()
);

-- Secrets that belong to no project. `lookup key` makes the hashes of API keys, portal tokens, sessions and links.
create table instance_secrets (
  name text primary key,
  sealed bytea not null
);


-- Nodes. Each one updates its row every 2 s. After 10 s of silence others take its rows (ADR 0005).

create table nodes (
  id text collate "C" primary key,
  roles text not null,
  started_at timestamptz not null default now(),
  beat_at timestamptz not null default now(),
  -- ids of the secret keys that the node has; the first one is the key that it seals with
  seal_keys text[] not null,
  -- the number of the newest migration that the node knows (docs/upgrades.md)
  knows text not null,
  -- the node commits no event with an id below this one; '' says nothing
  in_flight_from text collate "C" not null default ''
);


-- The hot path: events, deliveries, attempts, meta events and the queue.
--
-- The first four are partitioned by id, attempts by the id of their delivery. The program makes the partitions and sets
-- their storage (src/store/upkeep/partitions.ts). Tenants' rows are keyed by project and id (ADR 0010): one index is
-- the primary key and the list of the project. No index has a column that a finish changes, so a finish is a HOT update
-- (ADR 0003). JSON is stored as text: jsonb refuses \u0000, and one such value would fail a whole batch.

create table events (
  id text collate "C" not null,
  project_id text collate "C" not null,
  event_type text not null,
  source_id text collate "C",
  app_id text,
  status text not null,
  failure_reason text,
  -- a function of its source failed on it: a replay runs the functions again
  source_function_failed boolean not null default false,
  is_duplicate boolean not null,
  idempotency_key text,
  endpoints text[] not null,
  -- JSON; values of credential headers are sealed
  headers text,
  payload bytea not null,
  -- null: JSON; else the type of the payload, which is stored byte for byte
  content_type text,
  url_query_params text,
  url_path text,
  metadata text,
  acknowledged_at timestamptz not null,
  -- where the event was meant to go, as JSON, for replays; null: to every subscription that matches
  target text,
  -- headers that deliveries carry where these are not all of the event's own: an incoming webhook is stored with its
  -- headers for filters, and only those that its source lists are forwarded
  forwarded_headers text,
  primary key (project_id, id)
) partition by range (id);
create index events_idempotency on events (project_id, idempotency_key, id) where idempotency_key is not null;

-- Idempotency keys. Apart from `events`, because a unique index there would have to contain the partition key.
create table event_keys (
  project_id text collate "C" not null,
  key text collate "C" not null,
  event_id text collate "C" not null,
  primary key (project_id, key)
);

-- The order of columns is that of least padding, which would be stored twice: a finish makes a second version of a row.
-- Columns that every row has come first, so that the server finds them without a look at the others.
create table event_deliveries (
  next_send_at timestamptz,
  updated_at timestamptz not null,
  interval_seconds integer not null,
  max_retry_seconds integer not null,
  retry_limit integer not null,
  num_trials integer not null default 0,
  -- num_trials when the present retry budget began: a resend starts a new one
  budget_from integer not null default 0,
  is_exponential boolean not null,
  is_at_most_once boolean not null,
  id text collate "C" not null,
  project_id text collate "C" not null,
  event_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  event_type text not null,
  status text not null,
  subscription_id text collate "C",
  description text,
  -- the result of the last attempt: http_503, timeout and the like (src/domain/delivery.ts); null: no attempt
  last_outcome text,
  -- when it was cancelled; a resend takes it away
  cancelled_at timestamptz,
  -- The attempt that ended it, if it is small: an end is then one update, and no row more. Every other attempt has a row
  -- in delivery_attempts. `attempts` shows both.
  attempt_at timestamptz,
  attempt_template_id bigint,
  latency_ms real,
  attempt_succeeded boolean,
  attempt_id text collate "C",
  attempt_record text,
  attempt_body bytea,
  -- the body that was sent, where a function changed it
  body bytea,
  primary key (project_id, id)
) partition by range (id);
-- Both are partial although they contain every row: only a statement with a condition on the event or the endpoint can
-- use them, so the planner never walks them for a lookup by id (ADR 0010).
create index event_deliveries_event on event_deliveries (event_id, id) where event_id is not null;
create index event_deliveries_endpoint on event_deliveries (endpoint_id, id) where endpoint_id is not null;

create table delivery_attempts (
  requested_at timestamptz not null,
  -- null: the record is whole
  template_id bigint,
  succeeded boolean not null,
  -- recorded by a node that had lost its lease: it changed no state
  is_stale boolean not null,
  id text collate "C" not null,
  delivery_id text collate "C" not null,
  project_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  -- JSON: times, error, and the values that its template leaves open (src/store/attempts)
  record text not null,
  response_body bytea,
  primary key (project_id, delivery_id, id)
) partition by range (delivery_id);

-- What the attempts at an endpoint have in common: URL, address, headers. Written with the attempts that use them, and
-- removed two days after the last of these.
create table attempt_templates (
  project_id text collate "C" not null,
  id bigint not null,
  made_at timestamptz not null default now(),
  -- JSON: the slots, those that attempts fill in as true
  slots text not null,
  primary key (project_id, id)
);

-- All attempts, wherever they are.
create view attempts as
select id, delivery_id, project_id, endpoint_id, succeeded, is_stale, requested_at, template_id, record, response_body
from delivery_attempts
union all
select attempt_id, id, project_id, endpoint_id, attempt_succeeded, false, attempt_at, attempt_template_id, attempt_record,
  attempt_body
from event_deliveries where attempt_id is not null;

-- Meta events: messages of the service about itself. They go through the queue like deliveries (kind 1), to the
-- project's own URL. A row holds the last attempt, so there is no table of their attempts.
create table meta_events (
  id text collate "C" not null primary key,
  project_id text collate "C" not null,
  event_type text not null,
  status text not null,
  description text,
  payload bytea not null,
  is_exponential boolean not null,
  interval_seconds integer not null,
  max_retry_seconds integer not null,
  retry_limit integer not null,
  num_trials integer not null default 0,
  -- as in event_deliveries
  budget_from integer not null default 0,
  next_send_at timestamptz,
  http_status text,
  error text,
  request_headers text,
  response_headers text,
  response_body bytea,
  updated_at timestamptz not null
) partition by range (id);
create index meta_events_list on meta_events (project_id, id);

-- One row per open delivery, none for a finished one. A row with a node is leased by that node under the fence (ADR 0005).
-- A row without a node waits for its due time and is then claimed. A row of a pull endpoint that a consumer has taken is in
-- a lane of its own and becomes due when the lease ends, so no node is needed to keep the lease. Claims, releases and retries update rows that are
-- deleted soon after. So a third of each page is free for the updates, and autovacuum starts early and does not pause.
create table delivery_queue (
  delivery_id text collate "C" not null,
  event_id text collate "C" not null,
  project_id text collate "C" not null,
  -- claims choose by it: the endpoint, or the subscription if that has its own rate limit, so that a limited
  -- subscription does not hold up the others of its endpoint
  key text collate "C" not null,
  lane smallint not null,
  -- 0: a delivery, 1: a meta event
  kind smallint not null default 0,
  due_at timestamptz not null,
  node_id text collate "C",
  fence integer not null default 1,
  -- set before an at-most-once delivery is sent: if its node dies then, it is not sent again
  is_started boolean not null default false,
  -- the endpoint dropped the connection of the first request of this try; the second one is free, a third is not
  is_second_request boolean not null default false,
  -- A consumer of a pull endpoint has it until due_at, in the lane `leased`. Null: no consumer has it.
  pulled_at timestamptz,
  -- the headers that the consumer got, as they are recorded with the attempt
  pulled_headers text,
  primary key (project_id, delivery_id)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
create index delivery_queue_claim on delivery_queue (key, lane, due_at) where node_id is null;

-- Fan-outs too large for one commit: the subscriptions that matched. Nodes make their deliveries in chunks.
create table expansions (
  -- the event's own id, or a new one for a replay
  id text collate "C" primary key,
  event_id text collate "C" not null,
  project_id text collate "C" not null,
  subscription_ids text[] not null,
  -- the lane of the queue rows
  lane smallint not null,
  done integer not null default 0
);


-- Limits, health and alerts: state that all nodes share. Rows of the tables with a fill factor of 50 or 70 are updated
-- again and again. The free part of a page takes the new version, and no index has to change.

-- Counts of events, deliveries and attempts: one row per project, endpoint and source of a batch, inserted by the commit
-- that stores the outcomes. Rows are never updated, so no batch waits for another. A node adds them up into `traffic` and
-- `endpoint_totals` every 30 s and deletes them in the same commit: a count is in one place at any time.
create table recent_counts (
  project_id text collate "C" not null,
  -- null: the row counts events
  endpoint_id text collate "C",
  source_id text collate "C",
  minute timestamptz not null,
  -- events that were stored
  events integer not null default 0,
  -- deliveries that were made
  deliveries integer not null default 0,
  first_attempts integer not null default 0,
  attempts integer not null default 0,
  failed_attempts integer not null default 0,
  -- attempts of deliveries after a retry by hand or in bulk
  resent_attempts integer not null default 0,
  -- deliveries that ended
  delivered integer not null default 0,
  failed integer not null default 0,
  discarded integer not null default 0,
  -- the bucket of each successful delivery (src/store/counts/latency.ts)
  latencies smallint[] not null default '{}'
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
create index recent_counts_endpoint on recent_counts (project_id, endpoint_id);

-- Deliveries of each endpoint that were attempted, without those in `recent_counts`.
create table endpoint_totals (
  endpoint_id text collate "C" primary key,
  deliveries bigint not null
) with (fillfactor = 70);

-- Counts per minute and per hour of each project, endpoint and source, without those in `recent_counts`. Minutes are kept
-- for two days, hours as long as events.
create table traffic (
  project_id text collate "C" not null,
  -- the project itself, an endpoint or a source
  subject_id text collate "C" not null,
  -- minutes that the row covers: 1 or 60
  step smallint not null,
  start timestamptz not null,
  -- events of a project or source, deliveries of an endpoint
  accepted integer not null,
  first_attempts integer not null,
  attempts integer not null,
  failed_attempts integer not null,
  resent_attempts integer not null,
  delivered integer not null,
  failed integer not null,
  discarded integer not null,
  -- successful deliveries by latency: the used buckets and their counts
  buckets smallint[] not null,
  bucket_counts integer[] not null,
  primary key (project_id, subject_id, step, start)
) with (fillfactor = 50);
create index traffic_start on traffic (step, start);

-- Circuit breakers. A row is written only when a state changes; no row: closed.
create table endpoint_breakers (
  endpoint_id text collate "C" primary key,
  project_id text collate "C" not null,
  -- the project version that made this state known to nodes
  version bigint not null,
  state text not null,
  -- how often it opened without closing in between
  trips integer not null,
  -- probes that succeeded in a row
  probes integer not null default 0,
  changed_at timestamptz not null,
  -- its last 100 openings and closings by turns, oldest first; the last entry is how it got into this state
  turned_at timestamptz[] not null default '{}',
  -- one node at a time sends a probe
  probe_until timestamptz
);
create index endpoint_breakers_version on endpoint_breakers (project_id, version);

-- Which node sends under the rate limits of an endpoint and its subscriptions (ADR 0012). The lease lasts while the node
-- beats, like its hold on queue rows. Nothing else renews it.
create table rate_leases (
  endpoint_id text collate "C" primary key,
  -- null: free
  node_id text collate "C",
  -- grows whenever the lease changes hands
  epoch bigint not null default 1,
  -- no earlier holder began a send after this time
  quiet_since timestamptz not null default 'epoch',
  -- for each limit, how many milliseconds before quiet_since its latest sends began, as JSON; null: unknown
  sends text
) with (fillfactor = 50);
create index rate_leases_node on rate_leases (node_id) where node_id is not null;

-- Events that limited projects and sources let in within the length of their limit. The key is the id of the project or
-- the source. Limit and length are those of the latest request. See src/store/limits/intake-windows.ts.
create table intake_windows (
  key text collate "C" primary key,
  max_events bigint not null,
  seconds integer not null,
  -- how many events of the latest request were let in
  granted bigint not null,
  -- one entry per slot of a sixtieth of the length: the time of its newest event, and how many it holds
  times double precision[] not null default '{}',
  counts bigint[] not null default '{}'
) with (fillfactor = 50);

-- How far each stream of a broker (a partition, a replication slot) is stored. `stream` names the broker, the topic and
-- the partition by ids that are never used twice. `position` compares as text. See src/store/brokers/broker-lots.ts.
create table broker_positions (
  source_id text collate "C" not null,
  stream text collate "C" not null,
  project_id text collate "C" not null,
  position text collate "C" not null,
  updated_at timestamptz not null default now(),
  primary key (source_id, stream)
) with (fillfactor = 50);

-- Messages that were stored from brokers that give no order. Each row stays for longer than its broker can deliver the
-- message again.
create table broker_messages (
  source_id text collate "C" not null,
  stream text collate "C" not null,
  message_id text collate "C" not null,
  project_id text collate "C" not null,
  expires_at timestamptz not null,
  primary key (source_id, stream, message_id)
);
create index broker_messages_expires on broker_messages (expires_at);

-- The last status of each broker source, by the node that runs it. A node refreshes its rows, so an old row belongs to a
-- node that is gone.
create table broker_status (
  source_id text collate "C" not null,
  node_id text collate "C" not null,
  project_id text collate "C" not null,
  state text not null,
  reason text not null,
  last_message_at timestamptz,
  last_error text not null,
  last_error_at timestamptz,
  lag bigint,
  updated_at timestamptz not null default now(),
  primary key (source_id, node_id)
) with (fillfactor = 50);

-- Which node takes from a source that only one node at a time may take from.
create table source_leases (
  source_id text collate "C" primary key,
  project_id text collate "C" not null,
  node_id text collate "C" not null,
  leased_until timestamptz not null
) with (fillfactor = 50);

-- Replication slots that sources use in databases of customers. The row of a slot or publication that we make is there
-- before it is, and goes when it is dropped. See src/store/brokers/change-streams.ts.
create table change_stream_slots (
  -- source, system identifier, database, slot
  id text collate "C" primary key,
  source_id text collate "C" not null,
  project_id text collate "C" not null,
  is_slot_made boolean not null,
  is_publication_made boolean not null,
  -- timeline and LSN at which the slot began; empty: it does not exist yet
  generation text not null,
  -- grows when the log of the database went back without a new timeline
  epoch integer not null,
  -- its source uses another slot now, so it is dropped
  is_former boolean not null default false,
  -- the settings of the source, with the URL of the database
  sealed bytea not null,
  -- drops that failed, and when to try again
  tries integer not null default 0,
  retry_at timestamptz not null default now()
);
create index change_stream_slots_source on change_stream_slots (source_id);

-- One row per kind and endpoint or subscription. It stays when the alert is cleared: raised means raised_at is set and
-- cleared_at is not.
create table alerts (
  subject_id text collate "C" not null,
  kind text not null,
  project_id text collate "C" not null,
  -- the project version that made this state known to nodes
  version bigint not null,
  raised_at timestamptz not null,
  cleared_at timestamptz,
  primary key (subject_id, kind)
);
create index alerts_version on alerts (project_id, version);

-- Failed attempts of subscriptions that have an alert_config and no raised alert, in steps of a hundredth of its
-- threshold.
create table alert_failures (
  subscription_id text collate "C" not null,
  at timestamptz not null,
  project_id text collate "C" not null,
  failures integer not null,
  primary key (subscription_id, at)
);
create index alert_failures_at on alert_failures (at);


-- Jobs and the audit log.

-- Work on many rows that outlives its request. A chunk of a job is one transaction that locks the row of the job: the
-- lock is the lease, and the cursor is committed together with the work.
create table jobs (
  id text collate "C" primary key,
  project_id text collate "C" not null,
  type text not null,
  status text not null,
  -- JSON; input with credentials is sealed instead
  input text not null,
  sealed bytea,
  -- the next chunk begins after it
  cursor text collate "C" not null default '',
  -- null: too many to count while the caller waits; known at the end
  total bigint,
  done bigint not null default 0,
  failed bigint not null default 0,
  -- rows per second at most; null: as fast as it can
  rate integer,
  error text,
  -- when the next chunk may begin; also the order in which jobs take turns
  due_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  updated_at timestamptz not null default now(),
  -- who started the job: what it makes is theirs
  actor_type text not null,
  -- null: the service itself
  actor_id text collate "C",
  -- the session of a person, or the key of a command
  actor_credential_id text collate "C",
  -- where the call came from
  actor_address text
);
create index jobs_list on jobs (project_id, id);
create index jobs_open on jobs (due_at) where status in ('queued', 'running');

-- The audit log.
create table audit_entries (
  -- its time is the time of the change
  id text collate "C" primary key,
  -- null: a change of the instance itself
  project_id text collate "C",
  actor_type text not null,
  -- null: the service itself
  actor_id text collate "C",
  -- the session of a person, or the key of a command
  credential_id text collate "C",
  -- where the call came from; null: not by a call
  address text,
  action text not null,
  resource_type text not null,
  -- null: many at once
  resource_id text collate "C",
  -- the resource before and after, without secrets; json, because jsonb refuses \u0000
  before json,
  after json
);
create index audit_entries_list on audit_entries (project_id, id);
create index audit_entries_resource on audit_entries (resource_id, id);
