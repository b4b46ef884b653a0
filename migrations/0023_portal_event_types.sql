-- The event types that the holder of a portal link may see; empty: all.
-- Locks: portal_links exclusively for a moment; nothing is read or rewritten.
alter table portal_links add column event_types text[] not null default '{}';
