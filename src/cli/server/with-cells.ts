import { createLogger, type Logger } from '../../platform/logger.ts';
import type { Sealer } from '../../platform/sealer.ts';
import { StartupError } from '../../platform/startup-error.ts';
import type { Config } from '../../settings/settings.ts';
import { connectionTo, reachDatabase } from '../../start/open-database.ts';
import { loadSealer } from '../../start/secret-key.ts';
import { type Cell, HOME, listCells } from '../../store/cells/cells.ts';
import { Database } from '../../store/database/database.ts';
import { migrate } from '../../store/upkeep/migrate.ts';

/** Connections of a command to each database. */
const CONNECTIONS = 6;

interface CellsParts {
  config: Config;
  sealer: Sealer;
  log: Logger;
  list: readonly Cell[];
}

/** The databases of the instance, for a command. */
export class Cells {
  readonly home: Database;
  readonly sealer: Sealer;
  readonly log: Logger;
  readonly list: readonly Cell[];
  readonly #config: Config;
  readonly #opened = new Map<string, Database>();

  constructor(home: Database, { config, sealer, log, list }: CellsParts) {
    this.home = home;
    this.#config = config;
    this.sealer = sealer;
    this.log = log;
    this.list = list;
  }

  /** Not yet connected. */
  open(url: string): Database {
    const known = this.#opened.get(url);
    if (known !== undefined) return known;
    const db = new Database({
      connection: connectionTo(url, this.#config),
      connections: CONNECTIONS,
      log: this.log,
    });
    this.#opened.set(url, db);
    return db;
  }

  db(cell: Cell): Database {
    return cell.url === null ? this.home : this.open(cell.url.reveal());
  }

  named(name: string): Cell {
    const cell = this.list.find((one) => one.name === name);
    if (cell === undefined)
      throw new StartupError(`there is no cell ${name}; posthorn cells list shows them`);
    return cell;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#opened.values()].map((db) => db.close()));
  }
}

/** The home alone, until the first cell is added. */
const ONLY_HOME: Cell = { ...HOME, url: null, takesProjects: true, addedAtMs: 0 };

export async function withCells(config: Config, work: (cells: Cells) => Promise<void>): Promise<void> {
  const log = createLogger('warn');
  const { connection, close } = await reachDatabase(config, log);
  const home = new Database({ connection, connections: CONNECTIONS, log });
  try {
    await migrate(home, log);
    const sealer = await loadSealer(home, config);
    const list = await listCells(home, sealer);
    const cells = new Cells(home, { config, sealer, log, list: list.length === 0 ? [ONLY_HOME] : list });
    try {
      await work(cells);
    } finally {
      await cells.close();
    }
  } finally {
    await home.close();
    await close();
  }
}
