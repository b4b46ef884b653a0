import { type ProjectConfig, withLaterSettings } from '../../domain/config/project-config.ts';
import type { ProjectKey } from '../../domain/config/project-key.ts';
import { AppError } from '../../domain/errors.ts';
import type { ProjectId } from '../../domain/ids.ts';
import { parseStored } from '../../domain/stored-json.ts';
import type { Sealer } from '../../platform/sealer.ts';
import { Secret } from '../../platform/secret.ts';
import type { HotQueryable, Queryable } from '../database/database.ts';

export interface ProjectSecrets {
  /** Signs meta events. Empty: none. */
  meta_event: string;
}

/** The steps of a move, as the cell sees them that the project leaves. */
export type CellState = 'draining' | 'closed' | 'moved';

export interface ProjectRow {
  id: ProjectId;
  name: string;
  type: string;
  logo_url: string;
  /** Without its secret. */
  config: ProjectConfig;
  secret: Secret<ProjectSecrets>;
  /** Oldest first. Expired ones may be among them. */
  keys: Secret<readonly ProjectKey[]>;
  /** Differs if the keys do. Empty: none. */
  keysMark: string;
  /** The variables that functions may read, by name. */
  variables: Secret<Readonly<Record<string, string>>>;
  version: number;
  /** Null: it is open in this cell. */
  cell_state: CellState | null;
  updated_at: number;
  deleted_at: number | null;
}

export const OPEN_PROJECT_COLUMNS =
  'id, name, type, logo_url, config, version, cell_state, updated_at, deleted_at';
export const PROJECT_COLUMNS = `${OPEN_PROJECT_COLUMNS}, sealed, sealed_keys, sealed_variables`;

export type OpenProject = Omit<ProjectRow, 'secret' | 'keys' | 'keysMark' | 'variables'>;
export type StoredProject = OpenProject & {
  sealed: Buffer | null;
  sealed_keys: Buffer | null;
  sealed_variables: Buffer | null;
};

const place = (id: string) => `project ${id}`;
const keysPlace = (id: string) => `keys of project ${id}`;
const ofVariables = (id: string) => `variables of project ${id}`;

/** The config as callers see it, with its secret. */
export function wholeConfig({ config, secret }: Pick<ProjectRow, 'config' | 'secret'>): ProjectConfig {
  return withSecret(config, secret.reveal().meta_event);
}

const withSecret = (config: ProjectConfig, secret: string): ProjectConfig => ({
  ...config,
  meta_event: { ...config.meta_event, secret },
});

/** Projects and their config. Its secret is stored sealed, and opened when it is used. */
export class ProjectStore {
  readonly #sealer: Sealer;

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  /** Undefined: there is no such project. One that is in another cell is refused: that cell has it. */
  async get(db: Queryable, id: ProjectId): Promise<ProjectRow | undefined> {
    const row = await this.find(db, id);
    if (row?.cell_state === 'moved') throw projectMoving(id);
    return row;
  }

  /** As `get`, and the row that a move has left behind. */
  async find(db: Queryable, id: ProjectId): Promise<ProjectRow | undefined> {
    const [row] = await db.query<StoredProject>(
      `select ${PROJECT_COLUMNS} from projects where id = $1 and (deleted_at is null or cell_state = 'moved')`,
      [id],
    );
    return row === undefined ? undefined : this.toRow(row);
  }

  async list(db: Queryable): Promise<ProjectRow[]> {
    const rows = await db.query<StoredProject>(
      `select ${PROJECT_COLUMNS} from projects where deleted_at is null order by id desc`,
    );
    return rows.map((row) => this.toRow(row));
  }

  /** The whole config as it is stored: without its secret, and the secret sealed. */
  seal({ id, config }: { id: string; config: ProjectConfig }): [string, Buffer | null] {
    const { secret } = config.meta_event;
    const secrets: ProjectSecrets = { meta_event: secret };
    return [
      JSON.stringify(withSecret(config, '')),
      secret === '' ? null : this.#sealer.seal(JSON.stringify(secrets), place(id)),
    ];
  }

  sealKeys(id: string, keys: readonly ProjectKey[]): Buffer | null {
    return keys.length === 0 ? null : this.#sealer.seal(JSON.stringify(keys), keysPlace(id));
  }

  sealVariables(id: string, variables: Readonly<Record<string, string>>): Buffer | null {
    const isEmpty = Object.keys(variables).length === 0;
    return isEmpty ? null : this.#sealer.seal(JSON.stringify(variables), ofVariables(id));
  }

  /** A project as it is used, from one as it is stored. */
  toRow({ sealed, sealed_keys, sealed_variables, ...row }: StoredProject): ProjectRow {
    const { id } = row;
    return {
      ...row,
      config: withLaterSettings(row.config),
      secret: this.#opened<ProjectSecrets>(sealed, place(id), { meta_event: '' }),
      keys: this.#opened<readonly ProjectKey[]>(sealed_keys, keysPlace(id), []),
      keysMark: sealed_keys?.toString('base64') ?? '',
      variables: this.#opened<Readonly<Record<string, string>>>(sealed_variables, ofVariables(id), {}),
    };
  }

  #opened<T>(sealed: Buffer | null, at: string, none: T): Secret<T> {
    if (sealed === null) return new Secret(none);
    return Secret.sealed(() => parseStored(this.#sealer.open(sealed, at)) as T);
  }
}

/** A move closes a project for seconds. */
export const projectMoving = (id: string): AppError => new AppError('project_moving', { id, retry: 1 });

/**
 * Refuses a change of a project that moves, and keeps a move from beginning until the end of the transaction: a mover locks
 * the row whole. Changes of config are kept out by the version that they raise.
 */
export async function refuseMoving(tx: Queryable, id: string): Promise<void> {
  const [row] = await tx.query<{ cell_state: string | null }>(
    'select cell_state from projects where id = $1 for key share',
    [id],
  );
  if ((row?.cell_state ?? null) !== null) throw projectMoving(id);
}

/** Undefined: there is no such project any more. */
export async function getConfigVersion(db: Queryable, id: ProjectId): Promise<number | undefined> {
  const [row] = await db.query<{ config_version: number }>(
    'select config_version from projects where id = $1 and deleted_at is null',
    [id],
  );
  return row?.config_version;
}

/** A project as the directory of cells finds it. */
export interface FoundProject {
  /** `closed`: it is about to move away. */
  state: string | null;
}

/** The projects with these ids that live in this database, in their order. On the pool of accept, as keys are. */
export async function findProjects(
  db: HotQueryable,
  ids: readonly string[],
): Promise<(FoundProject | undefined)[]> {
  const rows = await db.hot<FoundProject & { id: string }>(
    'find-projects',
    'select id, cell_state as state from projects where id = any($1::text[]) and deleted_at is null',
    [ids],
  );
  const byId = new Map(rows.map(({ id, state }) => [id, { state }]));
  return ids.map((id) => byId.get(id));
}

export async function isNameTaken(db: Queryable, name: string): Promise<boolean> {
  const rows = await db.query('select 1 from projects where name = $1 and deleted_at is null', [name]);
  return rows.length > 0;
}

export async function countProjects(db: Queryable): Promise<number> {
  const [row] = await db.query<{ count: number }>('select count(*) from projects where deleted_at is null');
  return row?.count ?? 0;
}

/** Undefined: there is no such project any more. */
export async function getProjectConfig(db: Queryable, id: ProjectId): Promise<ProjectConfig | undefined> {
  const [row] = await db.query<Pick<ProjectRow, 'config'>>(
    'select config from projects where id = $1 and deleted_at is null',
    [id],
  );
  return row && withLaterSettings(row.config);
}
