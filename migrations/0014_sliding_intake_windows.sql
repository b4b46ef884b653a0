-- Limits on what comes in hold in any interval: a row keeps the times of what was let in, and how many at each. Adding
-- columns with a constant default rewrites nothing; the table, one row per limited project or source, is locked for
-- that moment. Nodes of the version before go on with started_at and accepted, which are still written: while both run,
-- each counts what it let in itself.
alter table intake_windows
  add column times double precision[] not null default '{}',
  add column counts bigint[] not null default '{}';
