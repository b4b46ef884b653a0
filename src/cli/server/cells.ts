import { addCell } from '../../cells/add-cell.ts';
import { checkCell } from '../../cells/check-cells.ts';
import { readPostgresUrl } from '../../platform/postgres-url.ts';
import { StartupError } from '../../platform/startup-error.ts';
import type { Config } from '../../settings/settings.ts';
import { cellFacts } from '../../store/cells/cell-facts.ts';
import type { Cell } from '../../store/cells/cells.ts';
import type { Given } from '../terminal/command.ts';
import { type Finding, report } from '../terminal/findings.ts';
import { counted, line } from '../terminal/output.ts';
import { withCells } from './with-cells.ts';

export async function addCellCommand(config: Config, given: Given): Promise<void> {
  const name = given.required('name');
  const url = given.required('url');
  const parsed = readPostgresUrl(url);
  if (typeof parsed === 'string')
    throw new StartupError(`--url must be ${parsed}, such as postgres://user:password@host:5432/database`);
  await withCells(config, async (cells) => {
    const target = cells.open(url);
    const problem = await target.problem();
    if (problem !== null) throw new StartupError(`the database of --url cannot be used: ${problem}`);
    const id = await addCell(
      { home: cells.home, target, sealer: cells.sealer, log: cells.log },
      { name, url },
    );
    line(`Added cell ${name} (number ${id}). Restart the nodes, so that they serve it.`);
  });
}

export async function listCellsCommand(config: Config): Promise<void> {
  await withCells(config, async (cells) => {
    for (const cell of cells.list) {
      const takes = cell.takesProjects ? '' : ', takes no new projects';
      line(`${cell.name}  ${where(cell)}${takes}`);
    }
  });
}

export async function checkCellsCommand(config: Config): Promise<void> {
  await withCells(config, async (cells) => {
    const facts = await cellFacts(cells.home);
    // No cell was added yet: this database has everything.
    if (facts.identity === undefined)
      return report([
        { topic: 'cell 1', state: 'ok', text: `the only one, ${counted(facts.projects, 'project')}` },
      ]);
    const findings: Finding[] = [];
    for (const cell of cells.list) {
      const home = await cellFacts(cells.home);
      const checked = { id: cell.id, db: cells.db(cell) };
      const { problems, projects } = await checkCell({ home, sealer: cells.sealer }, checked);
      const isWell = problems.length === 0;
      findings.push({
        topic: `cell ${cell.name}`,
        state: isWell ? 'ok' : 'problem',
        text: isWell ? `${where(cell)}, ${counted(projects ?? 0, 'project')}` : problems.join('; '),
      });
    }
    report(findings);
  });
}

/** Without the password. */
function where({ url }: Cell): string {
  const text = url?.revealOrNull() ?? '';
  if (url === null) return 'DATABASE_URL, the home';
  const parsed = readPostgresUrl(text);
  if (typeof parsed === 'string') return 'its address cannot be opened with the secret key';
  const database = /^[^?]*\/([^/?]*)/.exec(text)?.[1] ?? '';
  return `${parsed.servers.map((server) => server.name).join(',')}/${database}`;
}
