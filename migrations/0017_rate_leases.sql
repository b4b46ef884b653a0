-- Rate limits are counted by one node each, which leases them. A new table; the one it replaces, a row per limited
-- endpoint or subscription, is dropped, which locks it for a moment.
-- needs: 0017
drop table rate_limits;

-- Which node sends under the rate limits of an endpoint and its subscriptions. The right to do so lasts while the node
-- beats, like its right to hold queue rows: it is not renewed by itself.
create table rate_leases (
  endpoint_id text collate "C" primary key,
  -- null: free
  node_id text collate "C",
  -- grows whenever the lease changes hands
  epoch bigint not null default 1,
  -- no holder before this one began a send after this time
  quiet_since timestamptz not null default 'epoch',
  -- of each limit, how many milliseconds before quiet_since its latest sends began, as JSON; null: unknown
  sends text
) with (fillfactor = 50);
create index rate_leases_node on rate_leases (node_id) where node_id is not null;
