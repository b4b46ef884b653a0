-- Cells: several databases, each with projects of its own, and moves of a project from one to another.
--
-- Locks: ACCESS EXCLUSIVE on projects and nodes, for milliseconds: the new columns are null or have a constant default, and
-- no row is rewritten. Older nodes write none of them, and do not know that a project moves: src/control/older-nodes.ts
-- keeps cells from being added while one of them runs.

-- The databases of the instance. Only the home database, which is DATABASE_URL, has rows.
create table cells (
  id integer primary key,
  name text not null unique,
  -- null: the home itself
  sealed_url bytea,
  -- whether new projects may be made there
  takes_projects boolean not null default true,
  added_at timestamptz not null default now()
);

-- Which cell of which instance this database is. One row, once there are cells.
create table cell_identity (
  is_only boolean primary key default true check (is_only),
  -- given by the home
  instance_id text collate "C" not null,
  cell_id integer not null
);

alter table projects
  -- grows with every move, also with one that was stopped
  add column cell_epoch bigint not null default 0,
  -- null: open here. draining: accepts, sends nothing. closed: a move copies the rest of it. moved: it is in another cell
  add column cell_state text;

alter table nodes
  -- when the newest look at the versions of projects began that the node has followed; null: it does not say
  add column config_seen_at timestamptz;

-- Moves of projects, in the source and in the target. The row of the source has the step and the lease of the mover. The
-- row of the target is the decision: copying, then arrived or abandoned, whichever comes first.
create table project_moves (
  project_id text collate "C" not null,
  -- the project's cell_epoch after the move
  epoch bigint not null,
  from_cell integer not null,
  to_cell integer not null,
  -- source: copying, draining, closed, then done or stopped
  state text not null,
  -- the mover: another one may settle the move after lease_until. Null in the target
  owner text collate "C",
  lease_until timestamptz,
  started_at timestamptz not null default now(),
  closed_at timestamptz,
  ended_at timestamptz,
  -- rows that were copied
  copied bigint not null default 0,
  primary key (project_id, epoch)
);
