import { upgradeCluster } from '../../embedded-postgres/new-cluster.ts';
import { createLogger } from '../../platform/logger.ts';
import { StartupError } from '../../platform/startup-error.ts';
import type { Config } from '../../settings/settings.ts';
import { BackupReader } from '../../store/backup/backup-reader.ts';
import { loadBackup, refuseUnknownSchema } from '../../store/backup/load-backup.ts';
import { writeBackup } from '../../store/backup/write-backup.ts';
import type { Given } from '../terminal/command.ts';
import { line } from '../terminal/output.ts';
import { untilInterrupted } from './interrupted.ts';

/** Streams a backup of the old server into a new one, without a file in between. The key does not move. */
export async function upgradeCommand(config: Config, given: Given): Promise<void> {
  if (config.databaseUrl !== null)
    throw new StartupError('DATABASE_URL is set; upgrade its server with the tools of that server');
  const binaries = given.required('binaries');
  const log = createLogger('warn');
  let rows = 0;
  const aside = await upgradeCluster({ dataDir: config.dataDir, binaries, log }, async (from, to) => {
    const lines = writeBackup({ ...from, ssl: false }, { key_fingerprint: '', files: {} });
    const reader = new BackupReader(untilInterrupted(lines));
    const header = await reader.header();
    await refuseUnknownSchema(header);
    await loadBackup({ ...to, ssl: false }, header, reader);
    rows = reader.rowCount;
  });
  line(`Moved ${rows} rows. The old database is kept in ${aside}. Remove it when the service works.`);
}
