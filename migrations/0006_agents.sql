-- Agents as users and as subscribers.
--
-- Locks: ACCESS EXCLUSIVE on endpoints and audit_entries, for milliseconds: the new columns are null or have constant
-- defaults, and no row is rewritten. Older nodes write none of them.

alter table endpoints
  -- the members of a JSON body around the payload, and what each holds; empty: envelope says it
  add column envelope_fields jsonb not null default '{}',
  -- a larger body is not sent; 0: any size
  add column max_body_bytes integer not null default 0;
alter table audit_entries
  -- the tool or program through which the actor made the change, as it names itself; null: none is named
  add column via text;
