import { createLogger } from '../../platform/logger.ts';
import { Secret } from '../../platform/secret.ts';
import { StartupError } from '../../platform/startup-error.ts';
import type { Config } from '../../settings/settings.ts';
import { cellsOf } from '../../start/known-cells.ts';
import { onDatabase } from '../../start/open-database.ts';
import type { Cell } from '../../store/cells/cells.ts';

/** The settings with the database of a cell in place of the home's. */
export interface CellConfig {
  /** Null: the home is the only database. */
  name: string | null;
  config: Config;
}

/** The home last: its database has the addresses of the others, and its directory the keys that open them. */
export async function cellConfigs(config: Config): Promise<CellConfig[]> {
  const [home, ...others] = await readCells(config);
  if (home === undefined) return [{ name: null, config }];
  return [...others.map((cell) => inCell(config, cell)), { name: home.name, config }];
}

/** Throws if there is no cell of this name. An empty name is the home. */
export async function cellConfig(config: Config, name: string): Promise<Config> {
  if (name === '') return config;
  const cells = await readCells(config);
  const cell = cells.find((one) => one.name === name);
  if (cell === undefined)
    throw new StartupError(
      cells.length === 0
        ? 'there are no cells; posthorn cells add makes the first'
        : `there is no cell ${name}; the cells are ${cells.map((one) => one.name).join(', ')}`,
    );
  return cell.url === null ? config : inCell(config, cell).config;
}

const inCell = (config: Config, { name, url }: Cell): CellConfig => ({
  name,
  config: {
    ...config,
    databaseUrl: url === null ? config.databaseUrl : new Secret(url.reveal()),
    readUrl: url === null ? config.readUrl : null,
  },
});

const readCells = (config: Config): Promise<Cell[]> =>
  onDatabase(config, createLogger('warn'), (db) => cellsOf(db, config));
