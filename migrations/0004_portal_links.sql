-- Portal links and their tokens, and meta events. New tables only: no lock on anything that is in use.

create table portal_links (
  id text collate "C" primary key,
  project_id text collate "C" not null,
  name text not null,
  owner_id text not null,
  can_manage_endpoint boolean not null,
  auth_type text not null,
  -- the static token: found by its keyed hash, sealed beside it so that it can be shown again
  token_hash bytea not null unique,
  sealed_token bytea not null,
  expires_at timestamptz,
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
);
create index portal_links_list on portal_links (project_id, id) where deleted_at is null;

-- Short-lived tokens of links of type refresh_token; a link has any number at a time.
create table portal_tokens (
  hash bytea primary key,
  portal_link_id text collate "C" not null,
  expires_at timestamptz not null
);
create index portal_tokens_link on portal_tokens (portal_link_id, expires_at);

-- What the service tells about itself. Sent like deliveries, through the queue (kind 1), to the project's URL. The
-- last attempt is kept with the row. Partitioned by id like the other hot tables (store/partitions.ts).
create table meta_events (
  id text collate "C" not null primary key,
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
  -- num_trials when the present retry budget began: a resend starts a fresh one
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
