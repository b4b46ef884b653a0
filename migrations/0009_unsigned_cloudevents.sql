-- CloudEvents in headers that no signature covers: a source has to ask for them.
--
-- Locks: ACCESS EXCLUSIVE on sources, for milliseconds: the default is constant, and only sources that read CloudEvents
-- are changed. Older nodes neither read nor write the column.

alter table sources
  add column unsigned_cloudevents boolean not null default false;

-- Those that stand go on as before.
update sources set unsigned_cloudevents = true where cloudevents;
