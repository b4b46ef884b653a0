import type { Sealer } from '../platform/sealer.ts';
import { type CellFacts, cellFacts, databaseUse } from '../store/cells/cell-facts.ts';
import type { Database } from '../store/database/database.ts';
import { listMigrations } from '../store/upkeep/migrate.ts';

/** The problems of a cell, in sentences. None: it is well. */
export interface CheckedCell {
  problems: string[];
  /** Null: it could not be read. */
  projects: number | null;
}

/** Nodes take the time of each database, but leases of a project that moves are copied by the difference. */
const MOST_SKEW_MS = 5_000;
const LOOKUP_PLACE = 'instance secret lookup key';

export async function checkCell(
  { home, sealer }: { home: CellFacts; sealer: Sealer },
  cell: { id: number; db: Database },
): Promise<CheckedCell> {
  const problem = await cell.db.problem();
  if (problem !== null) return { problems: [`cannot be reached: ${problem}`], projects: null };
  const { hasSchema, identity } = await databaseUse(cell.db);
  if (!hasSchema || identity === undefined)
    return { problems: ['has no identity: it is empty, or not the database that was added'], projects: null };
  const before = performance.now();
  const facts = await cellFacts(cell.db);
  return {
    problems: [
      ...identityProblems(home, facts, cell.id),
      ...(await schemaProblems(facts)),
      ...clockProblems(home, facts, performance.now() - before),
      ...keyProblems(home, facts, sealer),
    ],
    projects: facts.projects,
  };
}

function identityProblems(home: CellFacts, { identity }: CellFacts, id: number): string[] {
  if (identity?.instanceId !== home.identity?.instanceId) return ['belongs to another instance'];
  return identity?.cellId === id ? [] : [`says that it is cell ${identity?.cellId}`];
}

async function schemaProblems({ migrations }: CellFacts): Promise<string[]> {
  const missing = (await listMigrations()).filter((name) => !migrations.includes(name));
  return missing.length === 0
    ? []
    : [`lacks the migrations ${missing.join(', ')}: start a node, or run posthorn migrate`];
}

/** Both times are of about the same moment. */
function clockProblems(home: CellFacts, { nowMs }: CellFacts, passedMs: number): string[] {
  const differenceMs = nowMs - home.nowMs;
  return Math.abs(differenceMs) <= MOST_SKEW_MS + passedMs
    ? []
    : [`has a clock that is ${Math.round(differenceMs / 1000)} s off that of the home`];
}

function keyProblems(home: CellFacts, facts: CellFacts, sealer: Sealer): string[] {
  const unknown = facts.sealKeys.filter((id) => !sealer.keyIds.includes(id));
  if (unknown.length > 0)
    return [`has values under the secret keys ${unknown.join(', ')}, which are not set here`];
  const key = ({ lookupKey }: CellFacts) =>
    lookupKey === null ? null : sealer.open(lookupKey, LOOKUP_PLACE);
  return key(home) === key(facts)
    ? []
    : ['has another lookup key: keys and tokens of its projects would not be found'];
}
