import { createWriteStream } from 'node:fs';
import { link, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { createLogger } from '../../platform/logger.ts';
import { keyFingerprint } from '../../platform/sealer.ts';
import { StartupError } from '../../platform/startup-error.ts';
import type { Config } from '../../settings/settings.ts';
import { reachDatabase } from '../../start/open-database.ts';
import { writeBackup } from '../../store/backup/write-backup.ts';
import type { Given } from '../terminal/command.ts';
import { line } from '../terminal/output.ts';
import { cellConfig } from './each-cell.ts';
import { CREDENTIALS_FILE, findSecretKey, KEY_FILE, readIfThere } from './instance-keys.ts';
import { untilInterrupted } from './interrupted.ts';

/**
 * The file appears under its name when it is complete and synced, and never replaces another. It uses the
 * lightest compression, to keep the snapshot that the backup reads from open for a short time.
 */
const COMPRESSION_LEVEL = 1;

export async function backupCommand(home: Config, given: Given): Promise<void> {
  const config = await cellConfig(home, given.text('cell') ?? '');
  const file = await chooseFile(given.operand());
  const withKeys = given.has('with-keys');
  const secretKey = await findSecretKey(config);
  if (secretKey === undefined)
    throw new StartupError(`there is no ${KEY_FILE} in ${config.dataDir}; set POSTHORN_DATA_DIR`);
  const keys = {
    key_fingerprint: keyFingerprint(Buffer.from(secretKey)),
    files: withKeys ? await keyFiles(config, secretKey) : {},
  };
  const { connection, close } = await reachDatabase(config, createLogger('warn'));
  try {
    await writeFile(file, writeBackup(connection, keys));
  } finally {
    await close();
  }
  const { size } = await stat(file);
  line(`Wrote ${file} (${size} bytes). ${withKeys ? KEYS_ARE_IN_IT : keysAreNotInIt(config)}`);
}

async function writeFile(file: string, lines: AsyncIterable<Buffer>): Promise<void> {
  const draft = `${file}.${process.pid}.part`;
  const out = createWriteStream(draft, { flags: 'wx', mode: 0o600, flush: true });
  try {
    await pipeline(untilInterrupted(lines), createGzip({ level: COMPRESSION_LEVEL }), out);
    await link(draft, file);
  } catch (error) {
    const { code, syscall, message } = error as NodeJS.ErrnoException;
    if (code === undefined || syscall === undefined) throw error;
    throw new StartupError(`${file} cannot be written: ${message}`, { cause: error });
  } finally {
    await rm(draft, { force: true });
  }
}

async function chooseFile(given: string): Promise<string> {
  const there = await stat(given).catch(() => undefined);
  if (there === undefined) return resolve(given);
  if (!there.isDirectory()) throw new StartupError(`${given} already exists; name another file`);
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  return resolve(join(given, `posthorn-${time}.backup.gz`));
}

async function keyFiles(config: Config, secretKey: string): Promise<Record<string, string>> {
  const credentials = await readIfThere(join(config.dataDir, CREDENTIALS_FILE));
  return { [KEY_FILE]: secretKey, ...(credentials !== undefined && { [CREDENTIALS_FILE]: credentials }) };
}

const KEYS_ARE_IN_IT = `The file contains the secret key, and ${CREDENTIALS_FILE} if there is one. Anyone with the file can read every secret and call the API.`;

function keysAreNotInIt(config: Config): string {
  const key = config.secretKey === null ? `${KEY_FILE} in ${config.dataDir}` : 'POSTHORN_SECRET_KEY';
  return `The file does not contain the secret key. A restore also needs ${key}, so keep a copy of it and of ${CREDENTIALS_FILE} elsewhere.`;
}
