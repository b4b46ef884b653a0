-- Batches: a subscription may have its deliveries sent many at a time.
--
-- Locks: ACCESS EXCLUSIVE on subscriptions and delivery_queue, for milliseconds: the new columns are null and no row is
-- rewritten. Older nodes write none of them, and would send the deliveries of a batch one by one:
-- src/control/older-nodes.ts keeps them from running once a subscription has batches.

alter table subscriptions
  -- {"max", "max_bytes", "max_wait_seconds"}; null: each delivery has a request of its own
  add column batch jsonb;

alter table delivery_queue
  -- the batch that the delivery is in, which is a row of kind 2 under this id; null: none
  add column batch_id text collate "C",
  -- of kind 2: the deliveries of the batch, in the order of their ids
  add column delivery_ids text[] collate "C";
