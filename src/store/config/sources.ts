import type { SourceSecrets } from '../../domain/config/source.ts';
import type { ProjectId, SourceId } from '../../domain/ids.ts';
import type { Page, PageRequest } from '../../domain/pagination.ts';
import { type SourceFields, sourceFields } from '../../domain/resources/source-fields.ts';
import type { Sealer } from '../../platform/sealer.ts';
import type { Secret } from '../../platform/secret.ts';
import type { HotQueryable, Queryable } from '../database/database.ts';
import { SealedTable, type VersionedRow } from './config-table.ts';

export interface SourceRow extends VersionedRow, SourceFields {
  id: SourceId;
  secret: Secret<SourceSecrets>;
}

export class SourceStore extends SealedTable<SourceRow> {
  constructor(sealer: Sealer) {
    super({ name: 'sources', fields: Object.keys(sourceFields), place: (id) => `source ${id}` }, sealer);
  }

  list(
    db: Queryable,
    projectId: ProjectId,
    filter: {
      page: PageRequest;
      name?: string | undefined;
      type?: string | undefined;
      provider?: string | undefined;
    },
  ): Promise<Page<SourceRow>> {
    const where = this.live(projectId)
      .addIf('position(lower(?) in lower(name)) > 0', filter.name)
      .addIf('type = ?', filter.type)
      .addIf('provider = ?', filter.provider);
    return this.page(db, where, filter.page);
  }

  /** Lists the sources of all projects that take from a broker, or have a schedule. */
  brokers(db: Queryable): Promise<{ id: SourceId; project_id: ProjectId; version: number }[]> {
    return db.query(`select s.id, s.project_id, s.version ${BROKER_SOURCES}`);
  }
}

export const BROKER_SOURCES = `from sources s
  where (s.type in ('pub_sub', 'db_change_stream') or s.type = 'schedule') and s.deleted_at is null
    and exists (select from projects p where p.id = s.project_id and p.deleted_at is null and p.cell_state is null)`;

export interface MaskOwner {
  projectId: ProjectId;
  sourceId: SourceId;
}

/**
 * The sources that ingest URLs name, of any project, in the order of the masks: a mask is the only credential of such a
 * URL. On the pool of accept and finish: made-up masks take no connection from anything else.
 */
export async function findByMasks(
  db: HotQueryable,
  maskIds: readonly string[],
): Promise<(MaskOwner | undefined)[]> {
  const rows = await db.hot<MaskOwner & { maskId: string }>(
    'find-sources',
    `select mask_id as "maskId", project_id as "projectId", id as "sourceId" from sources
     where mask_id = any($1::text[]) and deleted_at is null`,
    [maskIds],
  );
  const byMask = new Map(rows.map(({ maskId, ...owner }) => [maskId, owner]));
  return maskIds.map((maskId) => byMask.get(maskId));
}
