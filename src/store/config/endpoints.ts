import type { EndpointSecrets } from '../../domain/config/endpoint.ts';
import type { EndpointScope } from '../../domain/endpoint-scope.ts';
import type { EndpointId, ProjectId } from '../../domain/ids.ts';
import type { Page, PageRequest } from '../../domain/pagination.ts';
import { type EndpointFields, endpointFields } from '../../domain/resources/endpoint-fields.ts';
import type { Sealer } from '../../platform/sealer.ts';
import type { Secret } from '../../platform/secret.ts';
import type { Queryable } from '../database/database.ts';
import { SealedTable, type VersionedRow } from './config-table.ts';

export interface EndpointRow extends VersionedRow, EndpointFields {
  id: EndpointId;
  secret: Secret<EndpointSecrets>;
}

export class EndpointStore extends SealedTable<EndpointRow> {
  constructor(sealer: Sealer) {
    super(
      { name: 'endpoints', fields: Object.keys(endpointFields), place: (id) => `endpoint ${id}` },
      sealer,
    );
  }

  /** Devices are endpoints of our own. Callers see them as devices. */
  override async get(db: Queryable, projectId: ProjectId, id: EndpointId): Promise<EndpointRow | undefined> {
    return notDevice(await super.get(db, projectId, id));
  }

  override async getForUpdate(
    tx: Queryable,
    projectId: ProjectId,
    id: EndpointId,
  ): Promise<EndpointRow | undefined> {
    return notDevice(await super.getForUpdate(tx, projectId, id));
  }

  /** The endpoint of a device. */
  ofDevice(db: Queryable, projectId: ProjectId, id: EndpointId): Promise<EndpointRow | undefined> {
    return super.get(db, projectId, id);
  }

  /** The oldest endpoint with exactly this URL. */
  findByUrl(db: Queryable, projectId: ProjectId, url: string): Promise<EndpointRow | undefined> {
    return this.find(db, 'project_id = $1 and md5(url) = md5($2) and url = $2', [projectId, url]);
  }

  list(
    db: Queryable,
    projectId: ProjectId,
    filter: {
      page: PageRequest;
      name?: string | undefined;
      ownerId?: string | undefined;
      /** Each is in its metadata. */
      metadata?: Readonly<Record<string, string>> | undefined;
      scope?: EndpointScope | undefined;
    },
  ): Promise<Page<EndpointRow>> {
    const where = this.live(projectId)
      .add("delivery <> 'device'")
      .within('id', filter.scope)
      .addIf('position(lower(?) in lower(name)) > 0', filter.name)
      .addIf('owner_id = ?', filter.ownerId)
      .addIf('metadata @> ?::jsonb', filter.metadata && JSON.stringify(filter.metadata));
    return this.page(db, where, filter.page);
  }

  /** Endpoints that have expired within the last day, and no alert says so yet. */
  expiredUnreported(
    db: Queryable,
    { limit, except }: { limit: number; except: readonly ProjectId[] },
  ): Promise<{ projectId: ProjectId; id: EndpointId }[]> {
    return db.query(
      `select e.project_id as "projectId", e.id from endpoints e
       where e.expires_at <= now() and e.expires_at > now() - interval '1 day' and e.status <> 'inactive' and e.deleted_at is null and not exists (
         select from alerts a where a.subject_id = e.id and a.kind = 'disabled' and a.cleared_at is null)
         and exists (select from projects p where p.id = e.project_id and p.deleted_at is null and p.cell_state is null)
         and e.project_id <> all($2)
       limit $1`,
      [limit, except],
    );
  }

  /** How many endpoints of an owner have these texts in their metadata and have not expired. */
  async countOf(
    db: Queryable,
    projectId: ProjectId,
    of: { ownerId: string; metadata: Readonly<Record<string, string>>; nowMs: number },
  ): Promise<number> {
    const [row] = await db.query<{ count: number }>(
      `select count(*)::int as count from endpoints
       where project_id = $1 and deleted_at is null and owner_id = $2 and metadata @> $3::jsonb
         and (expires_at is null or expires_at > to_timestamp($4::float8 / 1000))`,
      [projectId, of.ownerId, JSON.stringify(of.metadata), of.nowMs],
    );
    return row?.count ?? 0;
  }

  /** The endpoints of owners, oldest first. */
  async byOwners(
    db: Queryable,
    projectId: ProjectId,
    ownerIds: readonly string[],
  ): Promise<Map<string, EndpointRow[]>> {
    const values = [projectId, [...new Set(ownerIds)]];
    const rows = await this.findAll(db, 'project_id = $1 and owner_id = any($2)', values);
    return Map.groupBy(rows, (row) => row.owner_id);
  }
}

const notDevice = (row: EndpointRow | undefined) => (row?.delivery === 'device' ? undefined : row);

export type NamedEndpoint = Pick<EndpointRow, 'name' | 'owner_id'>;

/** Names of endpoints that were deleted, as long as their rows are kept. */
export async function deletedEndpoints(
  db: Queryable,
  projectId: ProjectId,
  ids: readonly string[],
): Promise<Map<string, NamedEndpoint>> {
  if (ids.length === 0) return new Map();
  const rows = await db.query<NamedEndpoint & { id: string }>(
    'select id, name, owner_id from endpoints where project_id = $1 and id = any($2) and deleted_at is not null',
    [projectId, [...new Set(ids)]],
  );
  return new Map(rows.map((row) => [row.id, row]));
}
