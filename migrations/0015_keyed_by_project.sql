-- Rows of events, deliveries, attempts and the queue are found by their project and id: one index serves as primary key
-- and as the project's list, where there were two. Nodes that look rows up by id alone would read whole tables, so none
-- of them may be at work.
-- needs: 0015
--
-- Locks and time: the four tables with their partitions are locked exclusively while the new keys are built, which reads
-- every row that is kept: 15 s per million events with a delivery and an attempt each on two busy cores, and what the
-- disk takes. Until it is committed the new indexes need 420 MB per million beside the old ones, which give back 670.
-- The tables themselves are not rewritten, and no row can be refused: ids were unique before.

alter table events drop constraint events_pkey;
alter table events add primary key (project_id, id);
drop index events_list;

alter table event_deliveries drop constraint event_deliveries_pkey;
alter table event_deliveries add primary key (project_id, id);
drop index event_deliveries_list;

-- Both also have the id, and so could serve a lookup by project and id, badly. What they leave out does not exist, but
-- now only a statement that asks for an event or an endpoint can use them.
drop index event_deliveries_event;
create index event_deliveries_event on event_deliveries (event_id, id) where event_id is not null;
drop index event_deliveries_endpoint;
create index event_deliveries_endpoint on event_deliveries (endpoint_id, id) where endpoint_id is not null;

alter table delivery_attempts drop constraint delivery_attempts_pkey;
alter table delivery_attempts add primary key (project_id, delivery_id, id);

alter table delivery_queue drop constraint delivery_queue_pkey;
alter table delivery_queue add primary key (project_id, delivery_id);
drop index delivery_queue_project;

-- A partition that is detached and not dropped yet is on its way out, but may be attached again: that makes the indexes
-- it lacks, and would make a second primary key.
do $$
declare
  detached record;
  old record;
begin
  for detached in
    select c.oid, c.relname as name, t.key
    from (values
      ('events', 'project_id, id'),
      ('event_deliveries', 'project_id, id'),
      ('delivery_attempts', 'project_id, delivery_id, id')) as t(name, key)
    join pg_class c on c.relname ~ ('^' || t.name || '_[0-9]{10}$')
    where c.relkind = 'r' and not c.relispartition and c.relnamespace = current_schema()::regnamespace
  loop
    for old in select conname as name from pg_constraint where conrelid = detached.oid and contype = 'p' loop
      execute format('alter table %I drop constraint %I', detached.name, old.name);
    end loop;
    for old in select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
      where i.indrelid = detached.oid loop
      execute format('drop index %I', old.name);
    end loop;
    execute format('alter table %I add primary key (%s)', detached.name, detached.key);
  end loop;
end $$;
