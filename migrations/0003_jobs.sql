-- Background jobs, event limits per project, and what lists and replays need. The column has no default, so no table
-- is rewritten; each index takes a lock on its table that holds up writes while it is built.

-- Work over many rows that outlives the request that asked for it. A chunk of a job is one transaction that holds
-- the job's row locked: the lock is the lease, and the cursor is committed together with the work.
create table jobs (
  id text collate "C" primary key,
  project_id text collate "C" not null,
  type text not null,
  status text not null,
  -- JSON; what holds credentials is sealed instead
  input text not null,
  sealed bytea,
  -- how far the work has come; chunks begin after it
  cursor text collate "C" not null default '',
  -- null: too many to count while the caller waits; known at the end
  total bigint,
  done bigint not null default 0,
  failed bigint not null default 0,
  error text,
  -- when the next chunk may begin; also the order in which jobs take turns
  due_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  updated_at timestamptz not null default now()
);
create index jobs_list on jobs (project_id, id);
create index jobs_open on jobs (due_at) where status in ('queued', 'running');

-- Events accepted in a project's present window, which begins with the first event after the last one ended. Rows
-- only for projects with a limit; limit and length are those of the latest request.
create table project_windows (
  project_id text collate "C" primary key,
  started_at timestamptz not null,
  max_events bigint not null,
  seconds integer not null,
  accepted bigint not null,
  -- how many of the latest request's events were let in
  granted bigint not null
) with (fillfactor = 50);

-- Where an event was meant to go, as JSON; null: to every subscription that matches. A replay matches it again.
alter table events add column target text;
create index events_idempotency on events (project_id, idempotency_key, id) where idempotency_key is not null;

-- Open deliveries of a project, in id order: lists by open status, and cancelling.
create index delivery_queue_project on delivery_queue (project_id, delivery_id);
