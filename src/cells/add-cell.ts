import { randomUUID } from 'node:crypto';
import { needNewerNodes } from '../control/older-nodes.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sealer } from '../platform/sealer.ts';
import { StartupError } from '../platform/startup-error.ts';
import { copySecrets, type DatabaseUse, databaseUse } from '../store/cells/cell-facts.ts';
import {
  type CellIdentity,
  HOME,
  insertCell,
  insertHome,
  keepIdentity,
  listCells,
  nextCellId,
} from '../store/cells/cells.ts';
import type { Database } from '../store/database/database.ts';
import { migrate } from '../store/upkeep/migrate.ts';

/**
 * Makes an empty database a cell. First the database learns which cell it is, then the home lists it: if it is killed in
 * between, the next call goes on with the same number. No database can be added twice, nor by two instances.
 */
interface AddCellDeps {
  home: Database;
  target: Database;
  sealer: Sealer;
  log: Logger;
}

const NAME = /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,62}$/;

export async function addCell(
  deps: AddCellDeps,
  { name, url }: { name: string; url: string },
): Promise<number> {
  const { home, target, sealer, log } = deps;
  if (!NAME.test(name)) throw new StartupError('the name of a cell has letters, digits, - and _, 63 at most');
  const cells = await listCells(home, sealer);
  if (name === HOME.name || cells.some((cell) => cell.name === name))
    throw new StartupError(`there is a cell ${name} already: choose another name`);
  const own = await identifyHome(home);
  const use = await databaseUse(target);
  refuseUsed(
    use,
    own,
    cells.map(({ id }) => id),
  );
  await migrate(target, log);
  return home.transaction(async (tx) => {
    // Two additions at a time take turns.
    await tx.query('lock table cells in share row exclusive mode');
    const id = use.identity?.cellId ?? (await nextCellId(tx));
    await target.transaction(async (there) => {
      await copySecrets(tx, there);
      const kept = await keepIdentity(there, { instanceId: own.instanceId, cellId: id });
      if (kept.instanceId !== own.instanceId || kept.cellId !== id)
        throw new StartupError('another call has just added this database');
    });
    if (!(await insertCell(tx, sealer, { id, name, url })))
      throw new StartupError(`there is a cell ${name} already: choose another name`);
    return id;
  });
}

async function identifyHome(home: Database): Promise<CellIdentity> {
  return home.transaction(async (tx) => {
    await needNewerNodes(tx, 'cells');
    const own = await keepIdentity(tx, { instanceId: randomUUID(), cellId: HOME.id });
    if (own.cellId !== HOME.id)
      throw new StartupError(`DATABASE_URL is cell ${own.cellId} of an instance: run this with its home`);
    await insertHome(tx);
    return own;
  });
}

function refuseUsed(use: DatabaseUse, own: CellIdentity, known: readonly number[]): void {
  const { identity } = use;
  if (identity !== undefined && identity.instanceId !== own.instanceId)
    throw new StartupError('this database is a cell of another instance');
  if (identity?.cellId === HOME.id) throw new StartupError('this database is the home itself');
  if (identity !== undefined && known.includes(identity.cellId))
    throw new StartupError(`this database is cell ${identity.cellId} already`);
  // Killed between the two commits: it goes on.
  if (identity !== undefined) return;
  if (!use.isEmpty && !use.hasSchema)
    throw new StartupError('this database is not empty: a cell needs one of its own');
  if (use.hasProjects || use.hasSecrets)
    throw new StartupError('this database has projects or secrets of an instance: a cell begins empty');
}
