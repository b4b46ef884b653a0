-- The field's standards.
--
-- Locks: SHARE on sources while the index of schedules is built, of which there is none yet. ACCESS EXCLUSIVE on projects,
-- sources, endpoints, subscriptions, event_deliveries and meta_events, for milliseconds: the new columns are null or have
-- constant defaults, and no row is rewritten. Older nodes write none of them.

-- nodes look for schedules in all projects
create index sources_schedules on sources (id) where type = 'schedule' and deleted_at is null;

alter table projects
  -- the key pairs that a project signs with, sealed together; null: none
  add column sealed_keys bytea;
alter table sources
  -- reads requests with CloudEvents; sources that were made before keep them as they come
  add column cloudevents boolean not null default false;
alter table endpoints
  -- the form of deliveries: binary or structured; empty: none
  add column cloudevents text not null default '';
