import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './temporary-folder.ts';

/** Migrations of versions that do not exist: one that adds to the schema, and one that takes something away. */
export const EXPAND = `-- Locks: events, delivery_queue, event_deliveries and endpoints exclusively for a moment.
alter table events add column next_a text;
alter table event_deliveries add column next_b text not null default 'b', add column next_c boolean not null default false;
alter table delivery_queue add column next_d smallint not null default 3;
alter table delivery_attempts add column next_e text;
alter table endpoints add column next_f text not null default '';
alter table nodes add column next_g text;
create index events_next on only events (next_a);
create table next_things (id text primary key, at timestamptz not null default now());
`;

/** Needs nodes that know EXPAND as 9998. Without this index the program works, slower. */
export const CONTRACT = `-- Locks: audit_entries exclusively for a moment.
-- needs: 9998
drop index audit_entries_resource;
`;

/** As 9999 it needs nodes that know itself, so none is at work, and it may build an index on a large table. */
export const REBUILD = `-- Locks: events exclusively while the index is built.
-- needs: 9999
create index events_type on events (event_type);
`;

/** A folder with our migrations and newer ones, by file name. It is gone after the test. */
export function newerMigrations(migrations: Record<string, string>): string {
  const folder = temporaryFolder();
  cpSync(join(import.meta.dirname, '../../../migrations'), folder, { recursive: true });
  for (const [name, sql] of Object.entries(migrations)) writeFileSync(join(folder, name), sql);
  return folder;
}

/** A folder with the migrations of release 0.1.0. */
export function releasedMigrations(): string {
  const folder = newerMigrations({});
  for (const name of readdirSync(folder)) if (!name.startsWith('0001')) rmSync(join(folder, name));
  return folder;
}
