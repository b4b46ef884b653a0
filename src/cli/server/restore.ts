import { createReadStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { restoreCluster } from '../../embedded-postgres/new-cluster.ts';
import { createLogger } from '../../platform/logger.ts';
import { keyFingerprint } from '../../platform/sealer.ts';
import { StartupError } from '../../platform/startup-error.ts';
import type { Config } from '../../settings/settings.ts';
import { connectionTo } from '../../start/open-database.ts';
import type { BackupHeader } from '../../store/backup/backup-header.ts';
import { BackupReader, damaged } from '../../store/backup/backup-reader.ts';
import { loadBackup, refuseUnknownSchema } from '../../store/backup/load-backup.ts';
import type { Given } from '../terminal/command.ts';
import { line } from '../terminal/output.ts';
import { CREDENTIALS_FILE, findSecretKey, KEY_FILE, readIfThere } from './instance-keys.ts';
import { untilInterrupted } from './interrupted.ts';

/** All or nothing: the result is a complete database whose key is available, or no database. */
export async function restoreCommand(config: Config, given: Given): Promise<void> {
  const file = given.operand();
  const unpacked = createGunzip();
  // The reader of the last stream gets the error.
  const unpacking = pipeline(createReadStream(file), unpacked).catch(() => {});
  try {
    for (const text of await restore(config, new BackupReader(untilInterrupted(unpacked)))) line(text);
  } catch (error) {
    throw explain(error, file);
  } finally {
    unpacked.destroy();
    await unpacking;
  }
}

async function restore(config: Config, reader: BackupReader): Promise<string[]> {
  const header = await reader.header();
  await refuseUnknownSchema(header);
  await refuseOtherKey(config, header);
  const sources = await load(config, header, reader);
  await writeKeys(config, header);
  const done = `Restored ${reader.rowCount} rows, as they were at ${header.created_at}. Open deliveries are sent when the service starts.`;
  return sources.length === 0 ? [done] : [done, ...aboutBrokers(sources, header)];
}

/** Messages that were acknowledged after the backup are not in it, and brokers do not send them again. */
function aboutBrokers(sources: readonly Named[], header: BackupHeader): string[] {
  const names = sources.map(({ id, name }) => `  ${name} (${id})`);
  return [
    `These sources may have acknowledged messages to their brokers after ${header.created_at} that are not in the backup:`,
    ...names,
    'To get them again, set their consumer groups back to that time: docs/brokers.md. Stored messages are not stored twice.',
  ];
}

interface Named {
  id: string;
  name: string;
}

async function load(config: Config, header: BackupHeader, reader: BackupReader): Promise<Named[]> {
  if (config.databaseUrl !== null)
    return loadBackup(connectionTo(config.databaseUrl.reveal(), config), header, reader);
  let sources: Named[] = [];
  await restoreCluster({ dataDir: config.dataDir, log: createLogger('warn') }, async (connection) => {
    sources = await loadBackup({ ...connection, ssl: false }, header, reader);
  });
  return sources;
}

async function refuseOtherKey(config: Config, { key_fingerprint, files }: BackupHeader): Promise<void> {
  const atHand = await findSecretKey(config);
  const key = atHand ?? files[KEY_FILE];
  if (key === undefined)
    throw new StartupError(
      `the backup does not contain its secret key (fingerprint ${key_fingerprint}): put ${KEY_FILE} into ${config.dataDir} or set POSTHORN_SECRET_KEY`,
    );
  const fingerprint = keyFingerprint(Buffer.from(key));
  if (fingerprint === key_fingerprint) return;
  const where = config.secretKey === null ? `${KEY_FILE} in ${config.dataDir}` : 'POSTHORN_SECRET_KEY';
  throw new StartupError(
    `${where} is not the key of this backup (fingerprint ${fingerprint}, the backup has ${key_fingerprint}): its secrets could not be decrypted`,
  );
}

/**
 * Writes the key files of the backup that do not exist here. With POSTHORN_SECRET_KEY set the file would only
 * mislead.
 */
async function writeKeys(config: Config, { files }: BackupHeader): Promise<void> {
  const wanted = config.secretKey === null ? [KEY_FILE, CREDENTIALS_FILE] : [CREDENTIALS_FILE];
  for (const name of wanted) {
    const text = files[name];
    const path = join(config.dataDir, name);
    if (text === undefined || (await readIfThere(path)) !== undefined) continue;
    await mkdir(config.dataDir, { recursive: true, mode: 0o700 });
    await writeFile(path, text, { mode: 0o600, flag: 'wx', flush: true });
  }
}

function explain(error: unknown, file: string): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === 'Z_BUF_ERROR') return damaged('it ends too early');
  if (code?.startsWith('Z_') === true)
    return new StartupError(`${file} is damaged, or not a backup of Posthorn`);
  if (syscall === 'open' || syscall === 'read')
    return new StartupError(`${file} cannot be read: ${(error as Error).message}`);
  return error;
}
