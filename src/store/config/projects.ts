import type { ProjectConfig } from '../../domain/project-config.ts';
import { parseStored } from '../../domain/stored-json.ts';
import type { Sealer } from '../../platform/sealer.ts';
import { Secret } from '../../platform/secret.ts';
import type { Queryable } from '../database/database.ts';
import { rowTimes } from '../database/row-times.ts';
import { tellNodes } from '../database/tell-nodes.ts';
import type { ConfigChange } from './config-version.ts';

export interface ProjectSecrets {
  /** Signs meta events. Empty: none. */
  meta_event: string;
}

export interface ProjectRow {
  id: string;
  name: string;
  type: string;
  logo_url: string;
  /** Without its secret. */
  config: ProjectConfig;
  secret: Secret<ProjectSecrets>;
  version: number;
  updated_at: number;
  deleted_at: number | null;
}

const OPEN_COLUMNS = 'id, name, type, logo_url, config, version, updated_at, deleted_at';
const COLUMNS = `${OPEN_COLUMNS}, sealed`;

type Stored = Omit<ProjectRow, 'secret'> & { sealed: Buffer | null };

const place = (id: string) => `project ${id}`;

/** The config as callers know it, with its secret. */
export function wholeConfig({ config, secret }: Pick<ProjectRow, 'config' | 'secret'>): ProjectConfig {
  return withSecret(config, secret.reveal().meta_event);
}

const withSecret = (config: ProjectConfig, secret: string): ProjectConfig => ({
  ...config,
  meta_event: { ...config.meta_event, secret },
});

/** All access to projects' config; its secret is sealed on the way in and opened on the way out. */
export class ProjectStore {
  readonly #sealer: Sealer;

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  /** The config given is the whole one. */
  async insert(
    tx: Queryable,
    project: Pick<ProjectRow, 'id' | 'name' | 'type' | 'logo_url' | 'config'>,
  ): Promise<ProjectRow> {
    const [row] = await tx.query<Stored>(
      `insert into projects (id, name, type, logo_url, config, sealed) values ($1, $2, $3, $4, $5, $6) returning ${COLUMNS}`,
      [project.id, project.name, project.type, project.logo_url, ...this.#stored(project)],
    );
    return this.#open(row as Stored);
  }

  /** Tells of it by the new config. */
  async update(
    tx: ConfigChange,
    project: Pick<ProjectRow, 'id' | 'name' | 'logo_url' | 'config'>,
  ): Promise<ProjectRow> {
    const [row] = await tx.query<Stored>(
      `update projects set name = $2, logo_url = $3, config = $4, sealed = $5, updated_at = now() where id = $1 returning ${COLUMNS}`,
      [project.id, project.name, project.logo_url, ...this.#stored(project)],
    );
    const saved = this.#open(row as Stored);
    tx.tell('project.updated', () => projectData(saved), saved.config);
    return saved;
  }

  async get(db: Queryable, id: string): Promise<ProjectRow | undefined> {
    const [row] = await db.query<Stored>(
      `select ${COLUMNS} from projects where id = $1 and deleted_at is null`,
      [id],
    );
    return row === undefined ? undefined : this.#open(row);
  }

  async list(db: Queryable): Promise<ProjectRow[]> {
    const rows = await db.query<Stored>(
      `select ${COLUMNS} from projects where deleted_at is null order by id desc`,
    );
    return rows.map((row) => this.#open(row));
  }

  #stored({ id, config }: { id: string; config: ProjectConfig }): [string, Buffer | null] {
    const { secret } = config.meta_event;
    const secrets: ProjectSecrets = { meta_event: secret };
    return [
      JSON.stringify(withSecret(config, '')),
      secret === '' ? null : this.#sealer.seal(JSON.stringify(secrets), place(id)),
    ];
  }

  #open({ sealed, ...row }: Stored): ProjectRow {
    const secret =
      sealed === null
        ? new Secret<ProjectSecrets>({ meta_event: '' })
        : Secret.sealed(() => parseStored<ProjectSecrets>(this.#sealer.open(sealed, place(row.id))));
    return { ...row, secret };
  }
}

export async function countProjects(db: Queryable): Promise<number> {
  const [row] = await db.query<{ count: number }>('select count(*) from projects where deleted_at is null');
  return row?.count ?? 0;
}

/** As meta events show it: without the secret they are signed with. */
function projectData(row: ProjectRow): object {
  const { secret: _, ...metaEvent } = row.config.meta_event;
  return {
    uid: row.id,
    name: row.name,
    type: row.type,
    logo_url: row.logo_url,
    config: { ...row.config, meta_event: metaEvent },
    ...rowTimes(row),
  };
}

/** The project stays as a tombstone; its keys stop working at once. Returns it, unless it was deleted already. */
export async function deleteProject(tx: Queryable, id: string): Promise<Omit<ProjectRow, 'secret'>[]> {
  const deleted = await tx.query<Omit<ProjectRow, 'secret'>>(
    `update projects set deleted_at = now(), version = version + 1
     where id = $1 and deleted_at is null returning ${OPEN_COLUMNS}`,
    [id],
  );
  await tx.query('update api_keys set revoked_at = now() where project_id = $1 and revoked_at is null', [id]);
  await tellNodes(tx, id);
  return deleted;
}

/** Undefined: there is no such project any more. */
export async function getProjectConfig(db: Queryable, id: string): Promise<ProjectConfig | undefined> {
  const [row] = await db.query<Pick<ProjectRow, 'config'>>(
    'select config from projects where id = $1 and deleted_at is null',
    [id],
  );
  return row?.config;
}
