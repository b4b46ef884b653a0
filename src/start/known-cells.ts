import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Sealer } from '../platform/sealer.ts';
import { Secret } from '../platform/secret.ts';
import { replaceFile } from '../platform/whole-file.ts';
import type { Config } from '../settings/settings.ts';
import { type Cell, cellPlace, listCells } from '../store/cells/cells.ts';
import type { Database } from '../store/database/database.ts';
import { unusable } from './open-database.ts';
import { openingSealer } from './secret-key.ts';

/**
 * The cells of the instance, the home first. Empty: the home is the only database. A start writes a copy to the data
 * directory, with sealed URLs: a node that starts while the home is away reads it, and serves the other cells.
 */
interface CopiedCell {
  id: number;
  name: string;
  sealed_url: string | null;
  takes_projects: boolean;
}

export async function knownCells(home: Database, config: Config): Promise<Cell[]> {
  const path = join(config.dataDir, 'cells.json');
  const problem = await home.problem();
  if (problem !== null) {
    const text = await readFile(path, 'utf8').catch(() => null);
    if (text === null) throw unusable(problem);
    return readCopy(JSON.parse(text) as CopiedCell[], await openingSealer(config));
  }
  const cells = await cellsOf(home, config);
  if (cells.length === 0) return [];
  const sealer = await openingSealer(config);
  await replaceFile(path, JSON.stringify(copyOf(cells, sealer), null, 2));
  return cells;
}

/** As the home lists them. Writes nothing. */
export async function cellsOf(home: Database, config: Config): Promise<Cell[]> {
  return (await hasCells(home)) ? listCells(home, await openingSealer(config)) : [];
}

/** An older schema has no list of cells. It is read before the migration. */
async function hasCells(home: Database): Promise<boolean> {
  const [table] = await home.query<{ exists: boolean }>("select to_regclass('cells') is not null as exists");
  if (table?.exists !== true) return false;
  const [row] = await home.query<{ several: boolean }>('select count(*) > 1 as several from cells');
  return row?.several === true;
}

function copyOf(cells: readonly Cell[], sealer: Sealer): CopiedCell[] {
  return cells.map(({ id, name, url, takesProjects }) => ({
    id,
    name,
    sealed_url: url === null ? null : sealer.seal(url.reveal(), cellPlace(name)).toString('base64'),
    takes_projects: takesProjects,
  }));
}

function readCopy(copied: readonly CopiedCell[], sealer: Sealer): Cell[] {
  return copied.map(({ id, name, sealed_url, takes_projects }) => ({
    id,
    name,
    url:
      sealed_url === null
        ? null
        : Secret.sealed(() => sealer.open(Buffer.from(sealed_url, 'base64'), cellPlace(name))),
    takesProjects: takes_projects,
    addedAtMs: 0,
  }));
}
