-- What nodes of different versions on one database have to know of each other. Locks: nodes and schema_migrations
-- exclusively for the moment it takes to add a column; nothing is rewritten.

-- The number of the newest migration that the node knows; null: older than this column.
alter table nodes add column knows text;

-- For a migration that takes something away: the number of the migration that a node must know to do without it.
alter table schema_migrations add column needs text;
