import type { Service } from '../service.ts';

/** The work of the database server since its start that can hold up commits, of all its databases but the vacuums. */
export interface ServerWork {
  checkpoints: number;
  /** Pages that checkpoints wrote. */
  checkpointMb: number;
  /** Pages that connections had to write themselves. */
  backendMb: number;
  vacuums: number;
  walMb: number;
  /** Pages that went into the WAL whole: the first change of each after a checkpoint. */
  walFullPages: number;
  walSyncs: number;
}

const MB = "current_setting('block_size')::float8 / 1048576";

/** The columns moved between versions. Since 17 a checkpoint that had nothing to do is counted too. */
const CHECKPOINTS = `(select num_timed + num_requested from pg_stat_checkpointer)::float8 as checkpoints,
  (select buffers_written from pg_stat_checkpointer) * ${MB} as "checkpointMb"`;
const CHECKPOINTS_15 = `(select checkpoints_timed + checkpoints_req from pg_stat_bgwriter)::float8 as checkpoints,
  (select buffers_checkpoint from pg_stat_bgwriter) * ${MB} as "checkpointMb"`;
const BACKEND = `(select sum(writes) from pg_stat_io
  where backend_type = 'client backend' and object = 'relation') * ${MB} as "backendMb"`;
const BACKEND_15 = `(select buffers_backend from pg_stat_bgwriter) * ${MB} as "backendMb"`;
const SYNCS = `(select sum(fsyncs) from pg_stat_io where object = 'wal')::float8 as "walSyncs"`;
const SYNCS_15 = 'wal_sync::float8 as "walSyncs"';

export async function serverWork(service: Service): Promise<ServerWork> {
  const { version } = await service.query<{ version: number }>(
    "select current_setting('server_version_num')::int / 10000 as version",
  );
  return service.query<ServerWork>(
    `select ${version >= 17 ? CHECKPOINTS : CHECKPOINTS_15}, ${version >= 16 ? BACKEND : BACKEND_15},
       (select sum(vacuum_count + autovacuum_count) from pg_stat_user_tables)::float8 as vacuums,
       wal_bytes::float8 / 1048576 as "walMb", wal_fpi::float8 as "walFullPages",
       ${version >= 18 ? SYNCS : SYNCS_15}
     from pg_stat_wal`,
  );
}
