-- The field's standards.
--
-- Locks: SHARE on sources while the index of schedules is built. No row has that type yet.

-- SCHEDULES
-- nodes look for these in all projects
create index sources_schedules on sources (id) where type = 'schedule' and deleted_at is null;
