import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createLogger } from '../../platform/logger.ts';
import type { Config } from '../../settings/settings.ts';
import { openDatabase } from '../../start/open-database.ts';
import { migrate } from '../../store/upkeep/migrate.ts';
import { line } from '../terminal/output.ts';
import { cellConfigs } from './each-cell.ts';

export async function migrateCommand(config: Config): Promise<void> {
  // A new directory has no database yet, and so no cells.
  const isNew = config.databaseUrl === null && !existsSync(join(config.dataDir, 'postgres'));
  const all = isNew ? [{ name: null, config }] : await cellConfigs(config);
  for (const { name, config: own } of all) await migrateOne(own, name === null ? '' : `Cell ${name}: `);
}

async function migrateOne(config: Config, label: string): Promise<void> {
  const log = createLogger('warn');
  const { db, close } = await openDatabase(config, log);
  try {
    const done = await migrate(db, log);
    line(`${label}${done.length === 0 ? 'The schema is up to date.' : `Applied: ${done.join(', ')}`}`);
  } finally {
    await close();
  }
}
