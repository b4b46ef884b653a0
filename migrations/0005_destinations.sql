-- Endpoints whose deliveries go to brokers: `delivery` of an endpoint may be `broker`.
--
-- Locks: ACCESS EXCLUSIVE on portal_links, for milliseconds: the new column has a constant default, and no row is rewritten.
-- Older nodes do not write it.

alter table portal_links
  -- its holder may have deliveries sent to brokers, where the project allows it
  add column can_use_brokers boolean not null default false;
