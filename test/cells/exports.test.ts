import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { firstIdAt } from '../../src/domain/ids.ts';
import { ensurePartitions } from '../../src/store/upkeep/partitions.ts';
import type { ApiClient } from '../support/client.ts';
import type { TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { shared } from '../support/shared.ts';
import { startTwoCells } from './service.ts';

const DAY_MS = 86_400_000;
const OLD_MS = Date.now() - 40 * DAY_MS;
const directory = temporaryFolder(afterAll);
const ROLES = 'api,ingest,deliver,broker';
const cells = await shared(startTwoCells({ POSTHORN_ROLES: ROLES }));

async function storeOld(database: TestDatabase, { projectId }: ApiClient): Promise<string> {
  const id = firstIdAt(OLD_MS).slice(0, 10) + projectId.slice(10);
  await ensurePartitions(database.open(), OLD_MS, DAY_MS);
  await database.query(
    `insert into events (id, project_id, event_type, status, is_duplicate, endpoints, payload, acknowledged_at)
     values ($1, $2, 'old', 'Success', false, '{}', '{"n":1}', now())`,
    [id, projectId],
  );
  return id;
}

/** The ids of the events in the files of a folder. */
async function exported(folder: string): Promise<string[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => /^events_.*gz$/.test(name));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name))));
  const lines = texts.flatMap((text) => gunzipSync(text).toString().split('\n'));
  return lines.filter((line) => line !== '').map((line) => (JSON.parse(line) as { id: string }).id);
}

test('each cell exports to a folder of its own, which is made, before it removes anything', async () => {
  const old = [
    await storeOld(cells.home.database, await cells.projectIn('1')),
    await storeOld(cells.second, await cells.projectIn('2')),
  ];
  // A node does its upkeep as it starts, and gives up on what is locked at that moment.
  const add = () => cells.addNode({ POSTHORN_ROLES: `${ROLES},janitor`, POSTHORN_EXPORT_DIR: directory });
  await add();
  const again = setInterval(() => void add(), 20_000);
  try {
    const found = await eventually(
      async () => [await exported(directory), await exported(join(directory, 'cell-2'))],
      (all) => all.every(({ length }) => length > 0),
    );
    expect(found).toEqual([[old[0]], [old[1]]]);
    await eventually(() => cells.second.query('select 1 from events where id = $1', [old[1]]), { length: 0 });
  } finally {
    clearInterval(again);
  }
});
