import type { Page, PageRequest } from '../../domain/pagination.ts';
import type { SourceProviderConfig, SourceSecrets, SourceType } from '../../domain/source.ts';
import { parseStored } from '../../domain/stored-json.ts';
import type { Sealer } from '../../platform/sealer.ts';
import { Secret } from '../../platform/secret.ts';
import type { HotQueryable, Queryable } from '../database/database.ts';
import { listPage, Where } from '../database/list-page.ts';
import { rowTimes } from '../database/row-times.ts';
import type { ConfigChange } from './config-version.ts';

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
}

export interface SourceRow extends SourceFields {
  id: string;
  project_id: string;
  version: number;
  secret: Secret<SourceSecrets>;
  updated_at: number;
  deleted_at: number | null;
}

const FIELDS = [
  'name',
  'type',
  'provider',
  'mask_id',
  'is_disabled',
  'body_function',
  'header_function',
  'idempotency_keys',
  'event_type_location',
  'forward_headers',
  'custom_response',
  'provider_config',
  'rate_limit',
  'rate_limit_duration',
] as const satisfies (keyof SourceFields)[];
const COLUMNS = ['id', 'project_id', 'version', ...FIELDS, 'sealed', 'updated_at', 'deleted_at'].join(', ');
const LIVE = `select ${COLUMNS} from sources where deleted_at is null`;

type Sealed = Omit<SourceRow, 'secret'> & { sealed: Buffer };

const place = (id: string) => `source ${id}`;

/** All access to sources; secrets are sealed on the way in and opened on the way out. */
export class SourceStore {
  readonly #sealer: Sealer;

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  /** Inserts, or replaces every field of, one source under a new config version, and tells of it. */
  async save(
    tx: ConfigChange,
    source: {
      id: string;
      projectId: string;
      version: number;
      fields: SourceFields;
      secret: Secret<SourceSecrets>;
    },
  ): Promise<SourceRow> {
    const { fields } = source;
    const names = ['id', 'project_id', 'version', ...FIELDS, 'sealed'];
    const values = [
      source.id,
      source.projectId,
      source.version,
      ...FIELDS.map((field) => fields[field]),
      this.#sealer.seal(JSON.stringify(source.secret.reveal()), place(source.id)),
    ];
    const [stored] = await tx.query<Sealed & { is_new: boolean }>(
      `insert into sources (${names.join(', ')}) values (${names.map((_, i) => `$${i + 1}`).join(', ')})
       on conflict (id) do update set ${names
         .slice(2)
         .map((name) => `${name} = excluded.${name}`)
         .join(', ')}, updated_at = now()
       -- a row that was updated has been locked by this transaction
       returning ${COLUMNS}, xmax = 0 as is_new`,
      values,
    );
    const { is_new: isNew, ...row } = stored as NonNullable<typeof stored>;
    tx.tell(isNew ? 'source.created' : 'source.updated', () => sourceData(row));
    return this.#open(row);
  }

  async get(db: Queryable, projectId: string, id: string): Promise<SourceRow | undefined> {
    const [row] = await db.query<Sealed>(`${LIVE} and id = $1 and project_id = $2`, [id, projectId]);
    return row === undefined ? undefined : this.#open(row);
  }

  async list(
    db: Queryable,
    projectId: string,
    filter: {
      page: PageRequest;
      name?: string | undefined;
      type?: string | undefined;
      provider?: string | undefined;
    },
  ): Promise<Page<SourceRow>> {
    const where = new Where()
      .add('project_id = ?', projectId)
      .add('deleted_at is null')
      .addIf('position(lower(?) in lower(name)) > 0', filter.name)
      .addIf('type = ?', filter.type)
      .addIf('provider = ?', filter.provider);
    const list = { select: COLUMNS, from: 'sources', where, page: filter.page, id: 'id' };
    const page = await listPage<Sealed>(db, list);
    return { ...page, rows: page.rows.map((row) => this.#open(row)) };
  }

  async byIds(db: Queryable, projectId: string, ids: readonly string[]): Promise<Map<string, SourceRow>> {
    const wanted = [...new Set(ids)].filter((id) => id !== '');
    if (wanted.length === 0) return new Map();
    const rows = await db.query<Sealed>(
      `select ${COLUMNS} from sources where project_id = $1 and id = any($2)`,
      [projectId, wanted],
    );
    return new Map(rows.map((row) => [row.id, this.#open(row)]));
  }

  /** Rows of a project changed after a version, tombstones included. */
  async changedSince(db: Queryable, projectId: string, version: number): Promise<SourceRow[]> {
    const rows = await db.query<Sealed>(
      `select ${COLUMNS} from sources where project_id = $1 and version > $2 and (deleted_at is null or $2 > 0)`,
      [projectId, version],
    );
    return rows.map((row) => this.#open(row));
  }

  async delete(tx: ConfigChange, source: { projectId: string; id: string }, version: number): Promise<void> {
    const rows = await tx.query<Sealed>(
      `update sources set deleted_at = now(), version = $3
       where project_id = $1 and id = $2 and deleted_at is null returning ${COLUMNS}`,
      [source.projectId, source.id, version],
    );
    for (const row of rows) tx.tell('source.deleted', () => sourceData(row));
  }

  #open({ sealed, ...row }: Sealed): SourceRow {
    const open = () => parseStored<SourceSecrets>(this.#sealer.open(sealed, place(row.id)));
    return { ...row, secret: Secret.sealed(open) };
  }
}

/** As meta events show it: without the verifier. */
function sourceData(row: Sealed): object {
  return {
    uid: row.id,
    project_id: row.project_id,
    name: row.name,
    type: row.type,
    provider: row.provider,
    is_disabled: row.is_disabled,
    ...rowTimes(row),
  };
}

export interface MaskOwner {
  projectId: string;
  sourceId: string;
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
