import type { SourceProviderConfig, SourceSecrets, SourceType } from '../../domain/config/source.ts';
import type { ProjectId, SourceId } from '../../domain/ids.ts';
import type { Page, PageRequest } from '../../domain/pagination.ts';
import type { Sealer } from '../../platform/sealer.ts';
import type { Secret } from '../../platform/secret.ts';
import type { HotQueryable, Queryable } from '../database/database.ts';
import { fieldNames, SealedTable, type VersionedRow } from './config-table.ts';

export interface SourceFields {
  name: string;
  type: SourceType;
  /** A preset's name, or empty. */
  provider: string;
  mask_id: string;
  is_disabled: boolean;
  body_function: string;
  header_function: string;
  idempotency_keys: string[];
  event_type_location: string;
  forward_headers: string[];
  custom_response: { body: string; content_type: string };
  provider_config: SourceProviderConfig | null;
  rate_limit: number;
  rate_limit_duration: number;
  /** Its name in the file of a project (docs/cli.md). Empty: none. */
  key: string;
}

export interface SourceRow extends VersionedRow, SourceFields {
  id: SourceId;
  secret: Secret<SourceSecrets>;
}

const fields = fieldNames<SourceFields>({
  name: true,
  type: true,
  provider: true,
  mask_id: true,
  is_disabled: true,
  body_function: true,
  header_function: true,
  idempotency_keys: true,
  event_type_location: true,
  forward_headers: true,
  custom_response: true,
  provider_config: true,
  rate_limit: true,
  rate_limit_duration: true,
  key: true,
});

export class SourceStore extends SealedTable<SourceRow> {
  constructor(sealer: Sealer) {
    super({ name: 'sources', fields, place: (id) => `source ${id}` }, sealer);
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

  /** Lists the sources of all projects that take from a broker. */
  brokers(db: Queryable): Promise<{ id: SourceId; project_id: ProjectId; version: number }[]> {
    return db.query(
      `select s.id, s.project_id, s.version from sources s
       where s.type in ('pub_sub', 'db_change_stream') and s.deleted_at is null
         and exists (select from projects p where p.id = s.project_id and p.deleted_at is null)`,
    );
  }
}

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
