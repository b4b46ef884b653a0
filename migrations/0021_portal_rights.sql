-- What the holder of a portal link may do beyond looking and resending.
-- Locks: portal_links exclusively for a moment; nothing is read or rewritten.
alter table portal_links add column can_create_events boolean not null default false;
