import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { CellView } from '../api/http/context.ts';
import { partProblem, registerHealth } from '../api/operator/health.ts';
import { registerMetrics } from '../api/operator/metrics.ts';
import { createServer } from '../api/server.ts';
import { Directory } from '../cells/directory.ts';
import { openFront } from '../cells/front.ts';
import { moveKeeper } from '../cells/move-keeper.ts';
import { placeProject } from '../cells/place-project.ts';
import { AppError } from '../domain/errors.ts';
import { IdFactory } from '../domain/ids.ts';
import { mergeMetricsPages } from '../metrics/merge-metrics-pages.ts';
import { createRegistry } from '../metrics/metrics.ts';
import { collectProcessMetrics } from '../metrics/process-metrics.ts';
import type { Logger } from '../platform/logger.ts';
import type { Loop } from '../platform/loop.ts';
import { StartupError } from '../platform/startup-error.ts';
import { servesMetrics } from '../settings/exposure.ts';
import type { Config } from '../settings/settings.ts';
import { type Cell as CellRow, readIdentity } from '../store/cells/cells.ts';
import type { Database } from '../store/database/database.ts';
import type { OldPrimaryAccepted } from '../store/database/servers/servers.ts';
import { KeptCell } from './kept-cell.ts';
import { buildNode, type CellPlace, closeIntake, type Node, openIntake, type ProcessParts } from './node.ts';
import { connectionTo, databaseOf, type OpenDatabase } from './open-database.ts';

/** The nodes of a process that serves several cells, behind one HTTP server. */
export interface CellsDeps {
  config: Config;
  log: Logger;
  parts: ProcessParts;
  /** The database at DATABASE_URL. */
  database: OpenDatabase;
  /** The home first. */
  rows: readonly CellRow[];
}

const CELL_ROLES: ReadonlySet<string> = new Set(['deliver', 'janitor', 'broker']);

export class Cells {
  readonly #deps: CellsDeps;
  readonly #kept: readonly [KeptCell, ...KeptCell[]];
  readonly #directory: Directory;
  readonly #process = createRegistry();
  #first: Node | undefined;
  #isListening = false;
  /** Why the process takes no requests. Null: it does. */
  problem: string | null = 'still starting';

  constructor(deps: CellsDeps) {
    this.#deps = deps;
    refuseUnknownCells(deps);
    const [home, ...others] = deps.rows.map((row) => this.#keep(row));
    if (home === undefined) throw new Error('an instance with cells has its home among them');
    this.#kept = [home, ...others];
    this.#directory = new Directory(this.#kept, (credential) => this.first.sealer.lookupHash(credential));
  }

  /** The home's node, or that of the first cell that could be reached. */
  get first(): Node {
    if (this.#first === undefined) throw new AppError('home_unavailable', { retry: 1 });
    return this.#first;
  }

  nodes(): Node[] {
    return this.#kept.flatMap(({ node }) => node ?? []);
  }

  /** Settles the moves of cells for which this process has the role janitor. */
  keepMoves(): Loop {
    const { config, rows, log } = this.#deps;
    const kept = this.#kept.map(({ db, name }, index) => ({ id: rows[index]?.id ?? 0, name, db }));
    const keeper = moveKeeper({ cells: kept, owner: this.first.engine.nodeId, log });
    if (config.roles.includes('janitor')) keeper.start();
    return keeper;
  }

  /** In turn, because the first node makes the observers of all. At least one must be reached. */
  async start(): Promise<void> {
    for (const cell of this.#kept) await cell.start();
    if (this.#first === undefined) throw new StartupError(`no cell can be used: ${this.#kept[0].problem}`);
  }

  /** `stopBy`: the end of the grace. Absent: it begins now. */
  async stop(stopBy?: number): Promise<void> {
    const stopped = await Promise.allSettled(this.#kept.map((cell) => cell.stop(stopBy)));
    const failed = stopped.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }

  /** The server that listens for all cells. */
  async openServer() {
    const { config, log, parts } = this.#deps;
    const { maxBodyBytes, trustedProxies, maxJsonDepth: depth, maxJsonNames: names } = config;
    const { bodies } = parts;
    const ids = new IdFactory(Date.now);
    const server = await createServer({
      ids,
      log,
      maxBodyBytes,
      bodies,
      jsonBounds: { depth, names },
      trustedProxies,
    });
    registerHealth(server, () => this.#readiness());
    if (servesMetrics(config)) {
      collectProcessMetrics(this.#process);
      const render = parts.shared?.metricsOfAll ?? (() => this.metrics());
      registerMetrics(server, { contentType: this.#process.contentType, render });
    }
    openFront({ server, cells: this.#kept, directory: this.#directory });
    this.#isListening = true;
    return server;
  }

  async closeIntake(): Promise<void> {
    this.#isListening = false;
    await Promise.all(
      this.nodes().map(async (node) => {
        await Promise.all([closeIntake(node), node.server.close()]);
      }),
    );
  }

  oldPrimaryAccepted(): Promise<OldPrimaryAccepted> {
    return Promise.race(this.#kept.map(({ db }) => db.oldPrimaryAccepted()));
  }

  async metrics(): Promise<string> {
    const pages = await Promise.all(this.#kept.map((cell) => cell.metrics()));
    return mergeMetricsPages([await this.#process.metrics(), ...pages]);
  }

  /** A process that serves one cell is of use. The others are named. */
  async #readiness() {
    const parts = await Promise.all(this.#kept.map((cell) => cell.part()));
    const own = this.problem ?? this.#deps.parts.shared?.problem() ?? null;
    const [home] = parts;
    const isNone = parts.every(({ is_ready }) => !is_ready);
    return { problem: own ?? (isNone && home !== undefined ? partProblem(home) : null), parts };
  }

  #keep(row: CellRow): KeptCell {
    const { config, log, database } = this.#deps;
    const own = configOf(this.#deps, row);
    // The standby of POSTHORN_READ_URL is that of the home.
    const db =
      row.url === null
        ? database.db
        : databaseOf(connectionTo(row.url.reveal(), config), { ...config, readUrl: null }, log);
    const open = { db, connection: database.connection, close: async () => {} };
    return new KeptCell({
      name: row.name,
      db,
      isHome: row.url === null,
      graceMs: config.graceSeconds * 1_000,
      log,
      build: async () => {
        if (row.url !== null) await refuseOtherCell(db, row);
        await makeExportDir(this.#deps, own);
        return buildNode({
          config: own,
          log: log.child({ cell: row.name }),
          parts: this.#deps.parts,
          database: open,
          place: this.#placeOf(row, database.db),
          readiness: () => this.#readiness(),
        });
      },
      onServing: (node) => {
        this.#first ??= node;
        openIntake(node, own);
      },
    });
  }

  #placeOf({ name }: CellRow, home: Database): CellPlace {
    return {
      name,
      home,
      once: this.#first,
      forgetCallers: (id) => {
        this.#directory.forget(id);
        for (const { authenticator } of this.nodes()) authenticator.forget(id);
      },
      projectMoves: (id) => this.#directory.forget(id),
      isOpen: () => this.#isListening,
      cells: () => ({
        all: () => this.#views(),
        away: () => this.#kept.filter(({ node }) => node === undefined).map((cell) => cell.name),
        forNew: (wanted) => placeProject(this.#deps.rows, this.#views(), wanted),
      }),
    };
  }

  #views(): CellView[] {
    return this.#kept.flatMap(({ node, name, db }) =>
      node === undefined ? [] : [{ name, db, projects: node.stores.projects, changes: node.changes }],
    );
  }
}

/** The address may lead to another database than before. */
async function refuseOtherCell(db: Database, { id, name }: CellRow): Promise<void> {
  const identity = await readIdentity(db);
  if (identity?.cellId !== id)
    throw new StartupError(
      `the database of cell ${name} is ${identity === undefined ? 'no cell' : `cell number ${identity.cellId}`}`,
    );
}

/** The folder of a cell in the directory for exports. Retention says what is wrong if it is not there. */
async function makeExportDir({ config }: CellsDeps, { exportDir }: Config): Promise<void> {
  if (exportDir !== config.exportDir) await mkdir(exportDir, { mode: 0o700 }).catch(() => {});
}

function refuseUnknownCells({ config, rows }: CellsDeps): void {
  const unknown = config.cells.find((wanted) => !rows.some(({ name }) => name === wanted));
  if (unknown !== undefined)
    throw new StartupError(
      `POSTHORN_CELLS names ${unknown}, and the cells are ${rows.map(({ name }) => name).join(', ')}`,
    );
}

/** The window is divided among the cells that this process delivers for. Each exports to a folder of its own. */
function configOf({ config, rows }: CellsDeps, { name, url }: CellRow): Config {
  const served = config.cells.length === 0 ? rows.map((row) => row.name) : config.cells;
  const roles = served.includes(name) ? config.roles : config.roles.filter((role) => !CELL_ROLES.has(role));
  const isApart = url !== null && config.exportDir !== '';
  return {
    ...config,
    roles,
    window: Math.max(1, Math.floor(config.window / served.length)),
    ...(isApart && { exportDir: join(config.exportDir, `cell-${name}`) }),
  };
}
