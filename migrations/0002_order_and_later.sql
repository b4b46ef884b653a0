-- Order by key, delivery at a later time, and expiry.
--
-- Locks: ACCESS EXCLUSIVE on events, event_deliveries, delivery_queue, subscriptions and expansions, for milliseconds: the
-- new columns are null and no row is rewritten. Older nodes write none of them.

alter table subscriptions
  -- {"key", "on_failure"}; null: its deliveries have no order
  add column ordering jsonb,
  -- a delivery that is not made within this time is discarded; 0: never
  add column ttl_seconds integer not null default 0;

alter table events
  -- overrides the key expressions of subscriptions; null: not given
  add column ordering_key text,
  -- its deliveries are not due before; null: at once
  add column deliver_at timestamptz,
  -- as the caller gave it; a subscription may set an earlier time
  add column expires_at timestamptz;

alter table event_deliveries
  -- null: never
  add column expires_at timestamptz,
  -- the ordering key that it belongs to; null: it has no order
  add column ordering_id text collate "C";

alter table delivery_queue
  -- as in event_deliveries
  add column ordering_id text collate "C",
  -- its place in the key; null: it takes one when it is claimed
  add column place bigint;

alter table expansions
  add column deliver_at timestamptz;

-- One row per ordering key that is in use. An accept and the end of a head lock it: so places are given in the order of
-- commits, and a head that ends sees every delivery that waits behind it.
create table ordering_keys (
  project_id text collate "C" not null,
  -- the subscription (or the endpoint, if that is the key), a colon, and the key
  id text collate "C" not null,
  subscription_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  -- the last place that was given
  last_place bigint not null,
  -- the one delivery of the key that may be sent; it holds the key if it has failed. Null: nothing is open in the key
  head_id text collate "C",
  -- when its head failed; null: it is not held
  held_at timestamptz,
  used_at timestamptz not null default now(),
  primary key (project_id, id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create index ordering_keys_held on ordering_keys (project_id, subscription_id, held_at) where held_at is not null;

-- Deliveries that wait behind the head of their key. Their rows of the queue are in lanes of their own and never due.
create table ordered_deliveries (
  project_id text collate "C" not null,
  ordering_id text collate "C" not null,
  place bigint not null,
  delivery_id text collate "C" not null,
  primary key (project_id, ordering_id, place)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- Events whose deliveries are not due yet.
create table delayed_events (
  project_id text collate "C" not null,
  event_id text collate "C" not null,
  deliver_at timestamptz not null,
  primary key (project_id, event_id)
);
create index delayed_events_due on delayed_events (deliver_at);

-- Open deliveries that expire. A row goes when its time has come, whether or not the delivery has ended before.
create table delivery_expiries (
  expires_at timestamptz not null,
  project_id text collate "C" not null,
  delivery_id text collate "C" not null,
  primary key (expires_at, project_id, delivery_id)
);
