-- The field's standards.
--
-- Locks: SHARE on sources while the index of schedules is built, of which there is none yet. ACCESS EXCLUSIVE on projects
-- for milliseconds: the new column is null and no row is rewritten.

-- SCHEDULES
-- nodes look for these in all projects
create index sources_schedules on sources (id) where type = 'schedule' and deleted_at is null;

-- KEYS
alter table projects
  -- the key pairs that a project signs with, sealed together; null: none
  add column sealed_keys bytea;
