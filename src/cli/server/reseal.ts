import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '../../platform/logger.ts';
import type { Sealer } from '../../platform/sealer.ts';
import { StartupError } from '../../platform/startup-error.ts';
import type { Config } from '../../settings/settings.ts';
import { openDatabase } from '../../start/open-database.ts';
import { changeKeyFile, loadSealer, removeOldKeyFile } from '../../start/secret-key.ts';
import type { Database } from '../../store/database/database.ts';
import { liveNodes } from '../../store/queue/nodes.ts';
import { resealAll } from '../../store/secrets/reseal.ts';
import { keysInUse, lockSecretKeys, removeKeyInUse } from '../../store/secrets/secret-keys.ts';
import { migrate } from '../../store/upkeep/migrate.ts';
import type { Given } from '../terminal/command.ts';
import { line } from '../terminal/output.ts';
import { cellConfigs } from './each-cell.ts';

/**
 * Reseals every sealed value with the secret key, whether nodes run or not. Values that a node has locked are
 * retried in a further round. It succeeds only when no other key is needed any more. If it is killed or runs
 * too early, run it again.
 */
const MAX_ROUNDS = 20;
const PAUSE_MS = 500;
const SILENT_SECONDS = 10;
const SHOWN_FAILURES = 10;

export async function resealCommand(config: Config, given: Given): Promise<void> {
  for (const { name, config: own } of await cellConfigs(config)) {
    if (name !== null) line(`Cell ${name}:`);
    await resealOne(own, given.has('new-key'));
  }
}

async function resealOne(config: Config, isNewKey: boolean): Promise<void> {
  // A running service may have the embedded database open. The key may change only when the database is ours.
  const log = createLogger('warn');
  const { db, close } = await openDatabase(config, log);
  try {
    await migrate(db, log);
    if (isNewKey) await changeKeyFile(config);
    const sealer = await loadSealer(db, config);
    const before = await otherSealers(db, config, sealer);
    await sealEverything(db, sealer);
    await letGoOfOtherKeys(db, { config, sealer, before });
  } finally {
    await close();
  }
}

async function sealEverything(db: Database, sealer: Sealer): Promise<void> {
  for (let round = 1; ; round++) {
    let skipped = 0;
    const failures: string[] = [];
    for await (const { table, done, skipped: left, failures: failed } of resealAll(db, sealer)) {
      if (round === 1 || done > 0) line(`${table}: ${done} sealed again`);
      skipped += left;
      failures.push(...failed);
    }
    if (failures.length > 0) throw new StartupError(describe(failures));
    if (skipped === 0) return;
    if (round === MAX_ROUNDS) throw new StartupError(`${skipped} values are locked; run this again later`);
    line(`${skipped} are locked; trying again`);
    await sleep(PAUSE_MS);
  }
}

function describe(failures: string[]): string {
  const more = failures.length > SHOWN_FAILURES ? ` (and ${failures.length - SHOWN_FAILURES} more)` : '';
  const shown = failures.slice(0, SHOWN_FAILURES).join('; ');
  return `${failures.length} values could not be opened and stay as they are: ${shown}${more}`;
}

/** Ids of the running nodes that seal with another key. */
async function otherSealers(db: Database, config: Config, { keyId }: Sealer): Promise<string[]> {
  if (config.databaseUrl === null) return [];
  const nodes = await liveNodes(db, SILENT_SECONDS);
  return nodes.filter(({ sealKeys }) => sealKeys[0] !== keyId).map((node) => node.id);
}

/** A node with another key may have sealed values that this run missed. */
async function letGoOfOtherKeys(
  db: Database,
  { config, sealer, before }: { config: Config; sealer: Sealer; before: string[] },
): Promise<void> {
  const removed = await db.transaction(async (tx) => {
    await lockSecretKeys(tx);
    const sealers = new Set([...before, ...(await otherSealers(db, config, sealer))]);
    if (sealers.size > 0)
      throw new StartupError(
        `every stored secret is resealed, but running nodes still seal with another key (${[...sealers].join(', ')}); start them with the new POSTHORN_SECRET_KEY, then run this again`,
      );
    const others = (await keysInUse(tx)).filter((id) => id !== sealer.keyId);
    for (const id of others) await removeKeyInUse(tx, id);
    return others;
  });
  const hadFile = await removeOldKeyFile(config);
  line(`Everything is sealed with the secret key ${sealer.keyId}.`);
  for (const id of removed) line(`The secret key ${id} is no longer in use.`);
  if (config.otherSecretKey !== null) line('POSTHORN_OTHER_SECRET_KEY can be removed from the settings.');
  if (hadFile) line('The old key file was removed.');
}
