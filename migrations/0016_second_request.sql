-- Locks: delivery_queue for a moment; nothing is read or rewritten.

-- The endpoint dropped the connection of the first request of this try. The second one is free; a third is not.
alter table delivery_queue add column is_second_request boolean not null default false;
