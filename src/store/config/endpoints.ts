import type { EndpointSecrets, EndpointStatus } from '../../domain/endpoint.ts';
import type { EndpointScope } from '../../domain/endpoint-scope.ts';
import type { MetaEventType } from '../../domain/meta-event.ts';
import type { Page, PageRequest } from '../../domain/pagination.ts';
import { parseStored } from '../../domain/stored-json.ts';
import type { Sealer } from '../../platform/sealer.ts';
import { Secret } from '../../platform/secret.ts';
import type { Queryable } from '../database/database.ts';
import { listPage, Where } from '../database/list-page.ts';
import { rowTimes } from '../database/row-times.ts';
import type { ConfigChange } from './config-version.ts';

export interface EndpointFields {
  name: string;
  url: string;
  description: string;
  owner_id: string;
  app_id: string;
  status: EndpointStatus;
  advanced_signatures: boolean;
  content_type: string;
  http_timeout: number;
  rate_limit: number;
  rate_limit_duration: number;
  support_email: string;
}

export interface EndpointRow extends EndpointFields {
  id: string;
  project_id: string;
  version: number;
  secret: Secret<EndpointSecrets>;
  updated_at: number;
  deleted_at: number | null;
}

const FIELDS = [
  'name',
  'url',
  'description',
  'owner_id',
  'app_id',
  'status',
  'advanced_signatures',
  'content_type',
  'http_timeout',
  'rate_limit',
  'rate_limit_duration',
  'support_email',
] as const satisfies (keyof EndpointFields)[];
const COLUMNS = ['id', 'project_id', 'version', ...FIELDS, 'sealed', 'updated_at', 'deleted_at'].join(', ');

type Sealed = Omit<EndpointRow, 'secret'> & { sealed: Buffer };

const place = (id: string) => `endpoint ${id}`;

/** What is told of a change. `reason`: why it was disabled. */
export interface EndpointChange {
  type: Extract<MetaEventType, `endpoint.${string}`>;
  reason?: string;
}

/** All access to endpoints; secrets are sealed on the way in and opened on the way out. */
export class EndpointStore {
  readonly #sealer: Sealer;

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  /** Inserts, or replaces every field of, one endpoint under a new config version, and tells of it. */
  async save(
    tx: ConfigChange,
    endpoint: {
      id: string;
      projectId: string;
      version: number;
      fields: EndpointFields;
      secret: Secret<EndpointSecrets>;
      told: readonly [EndpointChange, ...EndpointChange[]];
    },
  ): Promise<EndpointRow> {
    const names = ['id', 'project_id', 'version', ...FIELDS, 'sealed'];
    const values = [
      endpoint.id,
      endpoint.projectId,
      endpoint.version,
      ...FIELDS.map((field) => endpoint.fields[field]),
      this.#sealer.seal(JSON.stringify(endpoint.secret.reveal()), place(endpoint.id)),
    ];
    const [row] = await tx.query<Sealed>(
      `insert into endpoints (${names.join(', ')}) values (${names.map((_, i) => `$${i + 1}`).join(', ')})
       on conflict (id) do update set ${names
         .slice(2)
         .map((name) => `${name} = excluded.${name}`)
         .join(', ')}, updated_at = now()
       returning ${COLUMNS}`,
      values,
    );
    const saved = this.#open(row as Sealed);
    for (const { type, ...why } of endpoint.told) tx.tell(type, () => ({ ...endpointData(saved), ...why }));
    return saved;
  }

  /**
   * Makes endpoints inactive, for a reason each, and tells of it; returns those that were not. One that changed after
   * the version it was `seen` in is left as it is.
   */
  async disable(
    tx: ConfigChange,
    at: { projectId: string; version: number },
    causes: ReadonlyMap<string, { reason: string; seen: number | undefined }>,
  ): Promise<{ before: EndpointRow; after: EndpointRow }[]> {
    if (causes.size === 0) return [];
    const rows = await tx.query<Sealed>(
      `select ${COLUMNS} from endpoints
       where project_id = $1 and id = any($2) and deleted_at is null and status <> 'inactive' order by id for update`,
      [at.projectId, [...causes.keys()]],
    );
    const before = rows.filter(({ id, version }) => version <= (causes.get(id)?.seen ?? version));
    const after = await tx.query<Sealed>(
      `update endpoints set status = 'inactive', version = $3, updated_at = now()
       where project_id = $1 and id = any($2) returning ${COLUMNS}`,
      [at.projectId, before.map(({ id }) => id), at.version],
    );
    const saved = new Map(after.map((row) => [row.id, this.#open(row)]));
    return before.map((row) => {
      const now = saved.get(row.id) as EndpointRow;
      tx.tell('endpoint.disabled', () => ({ ...endpointData(now), reason: causes.get(row.id)?.reason }));
      return { before: this.#open(row), after: now };
    });
  }

  async get(db: Queryable, projectId: string, id: string): Promise<EndpointRow | undefined> {
    const [row] = await db.query<Sealed>(
      `select ${COLUMNS} from endpoints where id = $1 and project_id = $2 and deleted_at is null`,
      [id, projectId],
    );
    return row === undefined ? undefined : this.#open(row);
  }

  /** The oldest endpoint with exactly this URL. */
  async findByUrl(db: Queryable, projectId: string, url: string): Promise<{ id: string } | undefined> {
    const [row] = await db.query<{ id: string }>(
      'select id from endpoints where project_id = $1 and md5(url) = md5($2) and url = $2 and deleted_at is null order by id limit 1',
      [projectId, url],
    );
    return row;
  }

  /** Locks the row, for a change that depends on what it holds. */
  async getForUpdate(tx: Queryable, projectId: string, id: string): Promise<EndpointRow | undefined> {
    const [row] = await tx.query<Sealed>(
      `select ${COLUMNS} from endpoints where id = $1 and project_id = $2 and deleted_at is null for update`,
      [id, projectId],
    );
    return row === undefined ? undefined : this.#open(row);
  }

  async list(
    db: Queryable,
    projectId: string,
    filter: {
      page: PageRequest;
      name?: string | undefined;
      ownerId?: string | undefined;
      scope?: EndpointScope | undefined;
    },
  ): Promise<Page<EndpointRow>> {
    const where = new Where()
      .add('project_id = ?', projectId)
      .add('deleted_at is null')
      .within('id', filter.scope)
      .addIf('position(lower(?) in lower(name)) > 0', filter.name)
      .addIf('owner_id = ?', filter.ownerId);
    const page = await listPage<Sealed>(db, {
      select: COLUMNS,
      from: 'endpoints',
      where,
      page: filter.page,
      id: 'id',
    });
    return { ...page, rows: page.rows.map((row) => this.#open(row)) };
  }

  /** The endpoints of owners, oldest first. */
  async byOwners(
    db: Queryable,
    projectId: string,
    ownerIds: readonly string[],
  ): Promise<Map<string, EndpointRow[]>> {
    const rows = await db.query<Sealed>(
      `select ${COLUMNS} from endpoints
       where project_id = $1 and owner_id = any($2) and deleted_at is null order by id`,
      [projectId, [...new Set(ownerIds)]],
    );
    return Map.groupBy(
      rows.map((row) => this.#open(row)),
      (row) => row.owner_id,
    );
  }

  async byIds(db: Queryable, projectId: string, ids: readonly string[]): Promise<Map<string, EndpointRow>> {
    if (ids.length === 0) return new Map();
    const rows = await db.query<Sealed>(
      `select ${COLUMNS} from endpoints where project_id = $1 and id = any($2)`,
      [projectId, [...new Set(ids)]],
    );
    return new Map(rows.map((row) => [row.id, this.#open(row)]));
  }

  /** Rows of a project changed after a version, tombstones included. */
  async changedSince(db: Queryable, projectId: string, version: number): Promise<EndpointRow[]> {
    const rows = await db.query<Sealed>(
      `select ${COLUMNS} from endpoints where project_id = $1 and version > $2 and (deleted_at is null or $2 > 0)`,
      [projectId, version],
    );
    return rows.map((row) => this.#open(row));
  }

  async delete(
    tx: ConfigChange,
    endpoint: { projectId: string; id: string },
    version: number,
  ): Promise<void> {
    const rows = await tx.query<Sealed>(
      `update endpoints set deleted_at = now(), version = $3
       where project_id = $1 and id = $2 and deleted_at is null returning ${COLUMNS}`,
      [endpoint.projectId, endpoint.id, version],
    );
    for (const row of rows) tx.tell('endpoint.deleted', () => endpointData(row));
  }

  #open({ sealed, ...row }: Sealed): EndpointRow {
    const open = () => parseStored<EndpointSecrets>(this.#sealer.open(sealed, place(row.id)));
    return { ...row, secret: Secret.sealed(open) };
  }
}

/**
 * As meta events show it: without secrets. That leaves out the addresses of chat services too, since whoever knows one
 * may post there.
 */
function endpointData(row: Omit<EndpointRow, 'secret'>): object {
  return {
    uid: row.id,
    project_id: row.project_id,
    owner_id: row.owner_id,
    name: row.name,
    description: row.description,
    url: row.url,
    status: row.status,
    advanced_signatures: row.advanced_signatures,
    content_type: row.content_type,
    http_timeout: row.http_timeout,
    rate_limit: row.rate_limit,
    rate_limit_duration: row.rate_limit_duration,
    support_email: row.support_email,
    ...rowTimes(row),
  };
}

export interface EndpointHealth {
  /** Deliveries made so far. */
  deliveries: number;
  /** Attempts within the window. */
  successes: number;
  failures: number;
  /** State of the breaker; closed if not given. */
  breaker?: string;
}

/** Counts per endpoint, summed over nodes: deliveries as far back as they are kept, attempts of the last minutes. */
export async function endpointHealth(
  db: Queryable,
  ids: readonly string[],
  minutes: number,
): Promise<Map<string, EndpointHealth>> {
  if (ids.length === 0) return new Map();
  const rows = await db.query<{ endpoint_id: string } & EndpointHealth>(
    `select endpoint_id, sum(deliveries)::int as deliveries,
       coalesce(sum(successes) filter (where minute > now() - $2 * interval '1 minute'), 0)::int as successes,
       coalesce(sum(failures) filter (where minute > now() - $2 * interval '1 minute'), 0)::int as failures
     from endpoint_counters where endpoint_id = any($1)
     group by endpoint_id`,
    [[...new Set(ids)], minutes],
  );
  return new Map(rows.map((row) => [row.endpoint_id, row]));
}
