import type { ProjectId } from '../../domain/ids.ts';
import type { Page, PageRequest } from '../../domain/pagination.ts';
import { parseStored } from '../../domain/stored-json.ts';
import type { Sealer } from '../../platform/sealer.ts';
import { Secret } from '../../platform/secret.ts';
import type { Queryable } from '../database/database.ts';
import { listPage, Where } from '../database/list-page.ts';

/** The columns of every row of config in addition to its fields. */
export interface ConfigRow {
  id: string;
  project_id: ProjectId;
  updated_at: number;
  /** Set: it was deleted and stays as a tombstone. */
  deleted_at: number | null;
}

/** Config that nodes keep in memory. */
export interface VersionedRow extends ConfigRow {
  /** The version of the project that changed it. */
  version: number;
}

const LIVE = 'deleted_at is null';

/** A table of config and its reads. The writes are in store/changes, which only src/control may import. */
export class ConfigTable<Row extends ConfigRow> {
  readonly name: string;
  readonly columns: string;

  constructor(name: string, columns: readonly string[]) {
    this.name = name;
    this.columns = ['id', 'project_id', ...columns, 'updated_at', 'deleted_at'].join(', ');
  }

  /** A row as it is used, from one as it is stored. */
  toRow(stored: object): Row {
    return stored as Row;
  }

  get(db: Queryable, projectId: ProjectId, id: Row['id']): Promise<Row | undefined> {
    return this.find(db, 'project_id = $1 and id = $2', [projectId, id]);
  }

  /** Locks the row, for a change that depends on its content. */
  async getForUpdate(tx: Queryable, projectId: ProjectId, id: Row['id']): Promise<Row | undefined> {
    const [row] = await this.select(tx, `project_id = $1 and id = $2 and ${LIVE} for update`, [
      projectId,
      id,
    ]);
    return row;
  }

  /** The live rows of a project, to be narrowed further. */
  live(projectId: ProjectId): Where {
    return new Where().add('project_id = ?', projectId).add(LIVE);
  }

  async page(db: Queryable, where: Where, page: PageRequest): Promise<Page<Row>> {
    const list = { select: this.columns, from: this.name, where, page, id: 'id' };
    const found = await listPage<{ id: string }>(db, list);
    return { ...found, rows: found.rows.map((row) => this.toRow(row)) };
  }

  /** The first live row in order of id. */
  async find(db: Queryable, where: string, values: unknown[]): Promise<Row | undefined> {
    const [row] = await this.select(db, `${where} and ${LIVE} order by id limit 1`, values);
    return row;
  }

  /** The live rows in order of id. */
  findAll(db: Queryable, where: string, values: unknown[]): Promise<Row[]> {
    return this.select(db, `${where} and ${LIVE} order by id`, values);
  }

  async select(db: Queryable, where: string, values: unknown[]): Promise<Row[]> {
    const rows = await db.query<object>(`select ${this.columns} from ${this.name} where ${where}`, values);
    return rows.map((row) => this.toRow(row));
  }
}

/** A table whose rows carry the version that changed them. A node reads those that are newer than what it has. */
export class VersionedTable<Row extends VersionedRow> extends ConfigTable<Row> {
  /** The columns that a save replaces. */
  readonly saved: readonly string[];

  constructor(name: string, saved: readonly string[]) {
    super(name, ['version', ...saved]);
    this.saved = saved;
  }

  /** Deleted ones too: history names them. An empty id names none. */
  async byIds(
    db: Queryable,
    projectId: ProjectId,
    ids: readonly (Row['id'] | '')[],
  ): Promise<Map<Row['id'] | '', Row>> {
    const wanted = [...new Set(ids)].filter((id) => id !== '');
    if (wanted.length === 0) return new Map();
    const rows = await this.select(db, 'project_id = $1 and id = any($2)', [projectId, wanted]);
    return new Map(rows.map((row) => [row.id, row]));
  }

  /** Rows of a project changed after a version, tombstones included. */
  changedSince(db: Queryable, projectId: ProjectId, version: number): Promise<Row[]> {
    const where = `project_id = $1 and version > $2 and (${LIVE} or $2 > 0)`;
    return this.select(db, where, [projectId, version]);
  }
}

/** A table with secrets. They are sealed together in one column, and opened when they are used. */
export class SealedTable<Row extends VersionedRow & { secret: Secret<object> }> extends VersionedTable<Row> {
  readonly #sealer: Sealer;
  readonly #place: (id: string) => string;

  constructor(
    { name, fields, place }: { name: string; fields: readonly string[]; place(id: string): string },
    sealer: Sealer,
  ) {
    super(name, [...fields, 'sealed']);
    this.#sealer = sealer;
    this.#place = place;
  }

  seal(id: string, secret: Row['secret']): Buffer {
    return this.#sealer.seal(JSON.stringify(secret.reveal()), this.#place(id));
  }

  override toRow(stored: object): Row {
    const { sealed, ...row } = stored as ConfigRow & { sealed: Buffer };
    const open = () => parseStored(this.#sealer.open(sealed, this.#place(row.id))) as object;
    return { ...row, secret: Secret.sealed(open) } as unknown as Row;
  }
}
