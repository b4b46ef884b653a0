-- Headers that deliveries of an event carry, where those are not simply all of the event's own: an incoming webhook
-- is stored with its headers for filters and forwards only the ones its source lists. A null column without default
-- rewrites nothing; the alter takes a short exclusive lock on events and its partitions.
alter table events add column forwarded_headers text;
