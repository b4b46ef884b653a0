-- Sources, the event-type catalogue, and the filter records of subscriptions.
--
-- Locks: `subscriptions` exclusively while its rows are rewritten (a config table: thousands of rows, well under a
-- second); nothing else that exists is touched.

create table sources (
  id text collate "C" primary key,
  project_id text collate "C" not null,
  version bigint not null,
  name text not null,
  type text not null,
  provider text not null,
  -- names the source in its ingest URL
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
  -- verifier and broker settings, sealed together
  sealed bytea not null,
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
);
create index sources_list on sources (project_id, id) where deleted_at is null;
create index sources_version on sources (project_id, version);

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

-- Filters are read in the order they were written, which jsonb does not keep. `filters` holds one record per event
-- type; see domain/subscription.ts.
alter table subscriptions
  alter column filter type json,
  add column filters json not null default '[]';
create index subscriptions_source on subscriptions (project_id, source_id) where deleted_at is null and source_id <> '';

update subscriptions s set filters = (
  select coalesce(json_agg(json_build_object(
    'uid', left(s.id, 10) || upper(left(md5(s.id || t), 16)), 'event_type', t,
    'enabled_at', to_char(s.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'own', '{}'::json)), '[]')
  from unnest(s.event_types) as t
);

insert into event_types (id, project_id, name)
select left(project_id, 10) || upper(left(md5(project_id || name), 16)), project_id, name
from (
  select id as project_id, '*' as name from projects where deleted_at is null
  union
  select project_id, unnest(event_types) from subscriptions where deleted_at is null
) as used
where name = '*' or name not like '%*';
