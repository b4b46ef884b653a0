import type { ProjectId } from '../../domain/ids.ts';
import { UNUSED_SLOTS } from '../brokers/change-streams.ts';
import { UNSEEN_DEVICES } from '../config/devices.ts';
import { BROKER_SOURCES } from '../config/sources.ts';
import type { HotQueryable } from '../database/database.ts';
import { DUE_JOBS } from '../jobs/jobs.ts';
import { DUE_EXPIRIES } from '../later/expiries.ts';

/** The findings of a node each second: changes and work of other nodes, of which a notice may have been lost. */
export interface Look {
  /** Projects in memory that have another version now. */
  changed: ProjectId[];
  hasJob: boolean;
  hasExpansion: boolean;
  hasExpiry: boolean;
  hasUnseenDevice: boolean;
  hasUnusedSlot: boolean;
  /** Another value: the list of broker sources, or one of them, changed. Null: there is none. */
  brokers: string | null;
  /** The database's time at which it began. */
  atMs: number;
}

/** One statement, prepared: an idle node has little else to ask. */
const LOOK = `select
  array(select p.id from unnest($1::text[], $2::bigint[]) known (id, version)
    join projects p on p.id = known.id where p.version <> known.version
      and (known.version >= 0 or p.deleted_at is null)) as changed,
  exists (select from jobs where ${DUE_JOBS}) as "hasJob",
  exists (select from expansions) as "hasExpansion",
  exists (select from delivery_expiries where ${DUE_EXPIRIES}) as "hasExpiry",
  exists (select ${UNSEEN_DEVICES}) as "hasUnseenDevice",
  exists (select from change_stream_slots where ${UNUSED_SLOTS}) as "hasUnusedSlot",
  (select md5(string_agg(s.id || ' ' || s.version, ',' order by s.id)) ${BROKER_SOURCES}) as brokers,
  extract(epoch from statement_timestamp())::float8 * 1000 as "atMs"`;

export async function look(db: HotQueryable, known: ReadonlyMap<ProjectId, number>): Promise<Look> {
  const [row] = await db.hot<Look>('look', LOOK, [[...known.keys()], [...known.values()]]);
  return row as Look;
}
