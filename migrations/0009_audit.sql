-- Who changed what. A new table, and two columns of jobs without a default: that takes the exclusive lock of jobs for
-- the moment of a change in the catalogue, no row is rewritten. Nodes of the version before leave them null.

create table audit_entries (
  -- its time is when the change was made
  id text collate "C" primary key,
  -- null: a change of the instance itself
  project_id text collate "C",
  actor_type text not null,
  -- null: the service itself
  actor_id text collate "C",
  action text not null,
  resource_type text not null,
  -- null: many at once
  resource_id text collate "C",
  -- the resource before and after, secrets replaced by a mark; json keeps what jsonb cannot hold, such as \u0000
  before json,
  after json
);
create index audit_entries_list on audit_entries (project_id, id);
create index audit_entries_resource on audit_entries (resource_id, id);

-- Who started a job: what it makes is theirs.
alter table jobs add column actor_type text, add column actor_id text collate "C";
