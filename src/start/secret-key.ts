import { randomBytes } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { lookupKeyOf, SealError, Sealer } from '../platform/sealer.ts';
import { StartupError } from '../platform/startup-error.ts';
import { syncDirectory } from '../platform/whole-file.ts';
import type { Config } from '../settings/settings.ts';
import type { Database, Queryable } from '../store/database/database.ts';
import { liveNodes } from '../store/queue/nodes.ts';
import {
  addKeyInUse,
  getInstanceSecret,
  insertInstanceSecret,
  keysInUse,
  lockSecretKeys,
} from '../store/secrets/secret-keys.ts';

/**
 * The secret keys of a node: the one that seals, then those that only open. They come from the settings. With
 * the embedded database they also come from its directory:
 *   secret.key       seals, unless POSTHORN_SECRET_KEY is set; created on the first start
 *   secret.key.old   opens: the previous key, until `posthorn reseal --new-key` is complete
 *
 * A node starts only if it has every key that sealed something in the database, and if every running node can
 * open the values it will seal.
 */
type Keys = [Buffer, ...Buffer[]];

/** A node silent for longer does not run. */
const SILENT_SECONDS = 10;
const LOOKUP_KEY = 'lookup key';

export const instancePlace = (name: string): string => `instance secret ${name}`;

export function loadSealer(db: Database, config: Config): Promise<Sealer> {
  return db.transaction(async (tx) => {
    const keys = await loadKeys(config);
    await lockSecretKeys(tx);
    const sealer = new Sealer(keys);
    await refuseMissingKeys(tx, sealer);
    const lookupKey = await loadLookupKey(tx, sealer, keys[0]);
    if (config.databaseUrl !== null) await refuseNodesWithout(tx, sealer);
    await addKeyInUse(tx, sealer.keyId);
    return new Sealer(keys, lookupKey);
  });
}

/** Opens sealed values before the lookup key is known. */
export async function openingSealer(config: Config): Promise<Sealer> {
  return new Sealer(await loadKeys(config));
}

async function loadKeys(config: Config): Promise<Keys> {
  const given = config.secretKey === null ? null : Buffer.from(config.secretKey.reveal());
  const other = config.otherSecretKey === null ? [] : [Buffer.from(config.otherSecretKey.reveal())];
  // With an external database the directory has no keys. config.ts checked that the setting exists.
  if (given !== null && config.databaseUrl !== null) return [given, ...other];
  const { current, old } = keyFiles(config);
  const before = await readKey(old);
  if (given !== null) return [given, ...other, ...(await readKey(current)), ...before];
  return [await madeKey(current), ...other, ...before];
}

function keyFiles({ dataDir }: Config): { current: string; old: string } {
  return { current: join(dataDir, 'secret.key'), old: join(dataDir, 'secret.key.old') };
}

async function readKey(path: string): Promise<Buffer[]> {
  try {
    return [await readFile(path)];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new StartupError(`${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

async function madeKey(path: string): Promise<Buffer> {
  const draft = `${path}.${process.pid}`;
  await writeNewKey(draft);
  // Linking fails if the file exists, so an existing key is never replaced.
  await link(draft, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await rm(draft);
  return readFile(path);
}

async function writeNewKey(path: string): Promise<void> {
  await writeFile(path, randomBytes(32).toString('base64'), { mode: 0o600, flush: true });
}

/**
 * Puts a new key in place of the one in the data directory, which keeps opening as secret.key.old. If it is
 * killed between the steps, one of the two files has the key in use. If a change is unfinished, no second one
 * begins, because the oldest key would be lost.
 */
export async function changeKeyFile(config: Config): Promise<void> {
  if (config.secretKey !== null)
    throw new StartupError('--new-key is for the key in the data directory; POSTHORN_SECRET_KEY is set');
  const { current, old } = keyFiles(config);
  const key = await madeKey(current);
  const [before] = await readKey(old);
  if (before !== undefined && !before.equals(key)) return;
  const draft = `${current}.${process.pid}`;
  await writeNewKey(draft);
  if (before === undefined) await link(current, old);
  await rename(draft, current);
  await syncDirectory(config.dataDir);
}

/** Call when no value is sealed with it any more. */
export async function removeOldKeyFile(config: Config): Promise<boolean> {
  const { old } = keyFiles(config);
  if (config.databaseUrl !== null || (await readKey(old)).length === 0) return false;
  await rm(old);
  return true;
}

const WHERE = 'set it as POSTHORN_SECRET_KEY or POSTHORN_OTHER_SECRET_KEY; see docs/secrets.md';

async function refuseMissingKeys(tx: Queryable, sealer: Sealer): Promise<void> {
  const missing = (await keysInUse(tx)).filter((id) => !sealer.keyIds.includes(id));
  if (missing.length === 0) return;
  throw new StartupError(
    `secrets in this database are sealed with the secret key ${missing.join(' and ')}, which this node does not have; ${WHERE}`,
  );
}

/** Made on the first start, stored sealed and never changed: what it hashed cannot be hashed again. */
async function loadLookupKey(tx: Queryable, sealer: Sealer, first: Buffer): Promise<Buffer> {
  const sealed = await getInstanceSecret(tx, LOOKUP_KEY);
  if (sealed !== undefined) {
    try {
      return Buffer.from(sealer.open(sealed, instancePlace(LOOKUP_KEY)), 'base64');
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      throw new StartupError(`${error.message}; ${WHERE}`, { cause: error });
    }
  }
  const lookupKey = lookupKeyOf(first);
  await insertInstanceSecret(
    tx,
    LOOKUP_KEY,
    sealer.seal(lookupKey.toString('base64'), instancePlace(LOOKUP_KEY)),
  );
  return lookupKey;
}

/** Every running node must be able to read values sealed by this node at once. */
async function refuseNodesWithout(tx: Queryable, sealer: Sealer): Promise<void> {
  const nodes = await liveNodes(tx, SILENT_SECONDS);
  const without = nodes.filter(({ sealKeys }) => !sealKeys.includes(sealer.keyId));
  if (without.length === 0) return;
  const ids = without.map((node) => node.id).join(', ');
  throw new StartupError(
    `the secret key of this node is unknown to nodes that run or stopped less than 10 s ago (${ids}); first start each of them with this key as POSTHORN_OTHER_SECRET_KEY; see docs/secrets.md`,
  );
}
