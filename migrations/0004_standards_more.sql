-- Notices of endpoints that expire.
--
-- Locks: SHARE on endpoints while the index is built, which has those with expires_at alone.

-- nodes look for endpoints in all projects whose time is over
create index endpoints_expiring on endpoints (expires_at)
  where expires_at is not null and status <> 'inactive' and deleted_at is null;
