-- State of the engine that nodes share. New tables and one column with a constant default: no table is rewritten;
-- the alter takes a short exclusive lock on delivery_queue.

-- Circuit breakers. A row is written only when a state changes; no row means closed.
create table endpoint_breakers (
  endpoint_id text collate "C" primary key,
  project_id text collate "C" not null,
  -- the project version that made this state known to nodes
  version bigint not null,
  state text not null,
  -- times it opened without closing in between
  trips integer not null,
  -- probes that succeeded in a row
  probes integer not null default 0,
  changed_at timestamptz not null,
  -- one node at a time sends a probe
  probe_until timestamptz
);
create index endpoint_breakers_version on endpoint_breakers (project_id, version);

-- The latest sends granted per limited endpoint or subscription, oldest first, in milliseconds since 1970.
create table rate_limits (
  key text collate "C" primary key,
  grants float8[] not null
) with (fillfactor = 50);

-- Fan-outs too large for one commit: the subscriptions that matched, worked off in chunks.
create table expansions (
  event_id text collate "C" primary key,
  project_id text collate "C" not null,
  subscription_ids text[] not null,
  done integer not null default 0
);

-- Set before an at-most-once delivery is sent: if its node dies then, it is not sent again.
alter table delivery_queue add column is_started boolean not null default false;
