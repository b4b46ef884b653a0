import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from './config.ts';

/** The instance's secret key: from the settings, else from the data directory, made there on the first start. */
export async function loadSecretKey(config: Config): Promise<Buffer> {
  if (config.secretKey !== '') return Buffer.from(config.secretKey);
  const path = join(config.dataDir, 'secret.key');
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, randomBytes(32).toString('base64'), { mode: 0o600 });
  // Linking fails where a key is there already, so an existing one is never replaced.
  await link(draft, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await rm(draft);
  return Buffer.from(await readFile(path, 'utf8'));
}
