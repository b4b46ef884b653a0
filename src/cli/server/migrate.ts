import { createLogger } from '../../platform/logger.ts';
import type { Config } from '../../settings/settings.ts';
import { openDatabase } from '../../start/open-database.ts';
import { migrate } from '../../store/upkeep/migrate.ts';
import { line } from '../terminal/output.ts';

export async function migrateCommand(config: Config): Promise<void> {
  const log = createLogger('warn');
  const { db, close } = await openDatabase(config, log);
  try {
    const done = await migrate(db, log);
    line(done.length === 0 ? 'The schema is up to date.' : `Applied: ${done.join(', ')}`);
  } finally {
    await close();
  }
}
