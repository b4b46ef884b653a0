-- The field's standards.
--
-- Locks: SHARE on sources while the index of schedules is built, of which there is none yet. ACCESS EXCLUSIVE on projects,
-- sources, endpoints, subscriptions, event_deliveries and meta_events, for milliseconds: the new columns are null or have
-- constant defaults, and no row is rewritten. Older nodes write none of them.

-- nodes look for schedules in all projects
create index sources_schedules on sources (id) where type = 'schedule' and deleted_at is null;

alter table projects
  -- the key pairs that a project signs with, sealed together; null: none
  add column sealed_keys bytea,
  -- the variables that functions may read, sealed; null: none
  add column sealed_variables bytea;
alter table sources
  -- reads requests with CloudEvents; sources that were made before keep them as they come
  add column cloudevents boolean not null default false;
alter table endpoints
  -- the form of deliveries: binary or structured; empty: none
  add column cloudevents text not null default '',
  -- texts by name, for the callers of the API
  add column metadata jsonb not null default '{}',
  -- empty: as the project
  add column user_agent text not null default '',
  -- project, none or standard
  add column envelope text not null default 'project',
  -- delivery or event
  add column webhook_id text not null default 'delivery',
  -- from then on it counts as inactive; null: never
  add column expires_at timestamptz,
  -- none or challenge
  add column verification text not null default 'none',
  -- the URL that has answered the challenge; empty: none has
  add column verified_url text not null default '',
  -- empty: those of the project
  add column final_status_codes integer[] not null default '{}';
alter table subscriptions
  -- its function was last changed through a portal link: it sees no variables
  add column is_portal_function boolean not null default false;
alter table event_deliveries
  -- of a replay, at an endpoint whose requests carry the id of the event; null: it is not so
  add column is_replay boolean,
  -- the waits before its retries in seconds, such as 5+300, or the name of a list; null: is_exponential and interval_seconds say them
  add column retry_schedule text,
  -- headers, path and query that a function set, sealed, in base64; null: none
  add column function_request text collate "C";
alter table meta_events
  -- as in event_deliveries
  add column retry_schedule text;
