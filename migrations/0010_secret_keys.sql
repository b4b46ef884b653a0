-- Which secret keys seal what is in this database, so that the key can be changed while nodes run. Two new tables, a
-- null column (a short exclusive lock on nodes; nothing is rewritten) and an index on endpoints, which holds up writes
-- to endpoints, and only those, for as long as it takes to read that table once: about a second per million.
--
-- Nodes of the version before go on working: as long as one of them is alive the new nodes write sealed values, a
-- project's meta_event.secret and the chat addresses of endpoints the way they know. When the last one has gone the
-- new nodes seal what stands in clear. From then on the version before cannot be started on this database any more.

-- The keys that sealed something here, by id. A node that lacks one of them does not start.
create table secret_keys (
  id text collate "C" primary key,
  added_at timestamptz not null default now()
);

-- What belongs to no project, sealed. `lookup key`: the key of the hashes of API keys and portal tokens.
create table instance_secrets (
  name text primary key,
  sealed bytea not null
);

-- Ids of the keys that a node has, the one it seals with first; null for the version before.
alter table nodes add column seal_keys text[];

-- Empty once everything is sealed.
create index endpoints_in_clear on endpoints (id) where slack_webhook_url <> '' or teams_webhook_url <> '';
