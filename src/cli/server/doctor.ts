import { statfs } from 'node:fs/promises';
import { createLogger } from '../../platform/logger.ts';
import { StartupError } from '../../platform/startup-error.ts';
import { VERSION } from '../../platform/version.ts';
import { egressRule, isOnLoopback } from '../../settings/exposure.ts';
import type { Config } from '../../settings/settings.ts';
import { onDatabase } from '../../start/open-database.ts';
import type { Database } from '../../store/database/database.ts';
import { refusePooler } from '../../store/database/usable-server.ts';
import { type KeyName, stuckKeys } from '../../store/ordering/stuck-keys.ts';
import { knownNodes, type NodeRow } from '../../store/queue/nodes.ts';
import { type HealthFacts, healthFacts } from '../../store/upkeep/health-facts.ts';
import { listMigrations, newestMigration } from '../../store/upkeep/migrate.ts';
import { brokersFindings, type Finding, finding, nodesFinding, report } from '../terminal/findings.ts';
import { cellConfigs } from './each-cell.ts';

/** Looks at the database, the clock, partitions, disk, egress, brokers, ordering keys and versions. Changes nothing. */
export async function doctorCommand(config: Config): Promise<void> {
  report([versions(), egress(config), await disk(config), ...(await databases(config))]);
}

async function databases(config: Config): Promise<Finding[]> {
  const known = await cellConfigs(config).catch((error: unknown) => {
    if (!(error instanceof StartupError)) throw error;
    // The look at the database itself says why.
    return [{ name: null, config }];
  });
  const found: Finding[] = [];
  for (const { name, config: own } of known) {
    const findings = await database(own);
    found.push(
      ...findings.map((one) => (name === null ? one : { ...one, topic: `cell ${name}: ${one.topic}` })),
    );
  }
  return found;
}

function versions(): Finding {
  return { topic: 'program', state: 'ok', text: `Posthorn ${VERSION} on Node ${process.versions.node}` };
}

function egress(config: Config): Finding {
  const rule = egressRule(config);
  const isOpen = rule === 'any' && !isOnLoopback(config);
  return {
    topic: 'egress',
    state: isOpen ? 'warning' : 'ok',
    text: isOpen
      ? 'deliveries may go to private addresses while others can reach this node; set POSTHORN_EGRESS=public'
      : `deliveries may go to ${rule === 'any' ? 'any address' : 'public addresses only'}`,
  };
}

const LEAST_FREE = 0.1;
const GIB = 2 ** 30;

/** Checks the disk of the embedded database. Another server has its disk elsewhere. */
async function disk(config: Config): Promise<Finding> {
  if (config.databaseUrl !== null)
    return { topic: 'disk', state: 'ok', text: 'of the database server; look at it there' };
  const about = await statfs(config.dataDir).catch(() => undefined);
  if (about === undefined)
    return {
      topic: 'disk',
      state: 'problem',
      text: `${config.dataDir} cannot be read; set POSTHORN_DATA_DIR`,
    };
  const free = about.bavail / about.blocks;
  const text = `${((about.bavail * about.bsize) / GIB).toFixed(1)} GiB free (${Math.round(free * 100)} %)`;
  return finding('disk', free >= LEAST_FREE, [text, 'add space, or shorten POSTHORN_RETENTION_HOURS']);
}

async function database(config: Config): Promise<Finding[]> {
  try {
    return await onDatabase(config, createLogger('error'), async (db) => {
      await refusePooler(db);
      return lookAt(db);
    });
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    return [{ topic: 'database', state: 'problem', text: error.message }];
  }
}

async function lookAt(db: Database): Promise<Finding[]> {
  const startedMs = Date.now();
  const facts = await healthFacts(db);
  const passedMs = Date.now() - startedMs;
  const known = { files: await listMigrations(), newest: await newestMigration(), passedMs };
  const findings = [...serverFindings(facts, known), ...nodeFindings(await knownNodes(db), known.newest)];
  const isMigrated = known.files.every((name) => facts.migrations.includes(name));
  return isMigrated ? [...findings, await orderFinding(db)] : findings;
}

const MOST_PAGES = 1_000;

async function orderFinding(db: Database): Promise<Finding> {
  let lost = 0;
  let after: KeyName | null = null;
  for (let page = 0; page < MOST_PAGES; page++) {
    const { stuck, next } = await stuckKeys(db, after);
    lost += stuck.filter(({ state }) => state === 'lost').length;
    after = next;
    if (next === null) break;
  }
  return lost === 0
    ? { topic: 'order', state: 'ok', text: 'no ordering key waits for a lost delivery' }
    : {
        topic: 'order',
        state: 'problem',
        text: `${lost} ordering keys wait for a lost delivery; update all nodes, then start one with the role janitor, which frees them`,
      };
}

const OLDEST_SERVER = 150_000;
const CLOCK_MS = 5_000;
const AHEAD_MS = 12 * 3_600_000;

export function serverFindings(
  facts: HealthFacts,
  known: { files: readonly string[]; passedMs: number },
  nowMs: number = Date.now(),
): Finding[] {
  const pending = known.files.filter((name) => !facts.migrations.includes(name));
  const apartMs = Math.max(0, Math.abs(nowMs - facts.nowMs) - known.passedMs);
  const soonest = Math.min(...facts.partitionEnds.values());
  const share = facts.connections / facts.maxConnections;
  const size = `${(facts.bytes / GIB).toFixed(2)} GiB`;
  return [
    finding('database', facts.serverVersionNumber >= OLDEST_SERVER, [
      `PostgreSQL ${facts.serverVersion}, ${size}`,
      'upgrade it to 15 or newer',
    ]),
    finding('schema', pending.length === 0, [
      `${pending.length} migrations to do`,
      'run posthorn migrate, or start the service',
      'warning',
    ]),
    finding('clock', apartMs < CLOCK_MS, [
      `${Math.round(apartMs / 1000)} s apart from the database`,
      'synchronise both clocks (NTP)',
    ]),
    finding('partitions', Number.isFinite(soonest) && soonest - facts.nowMs > AHEAD_MS, [
      `made until ${new Date(Number.isFinite(soonest) ? soonest : 0).toISOString()}`,
      'start a node with the role janitor, which makes them',
    ]),
    finding('connections', share < 0.9, [
      `${facts.connections} of ${facts.maxConnections} in use`,
      'raise max_connections, or lower POSTHORN_DATABASE_CONNECTIONS',
      'warning',
    ]),
    ...brokersFindings(
      facts.waitingSources.map(({ source_id: source, reason }) => ({ source, reason })),
      'no source waits for its broker',
    ),
  ];
}

const SILENT_SECONDS = 10;

export function nodeFindings(nodes: readonly NodeRow[], newest: string): Finding[] {
  const live = nodes.filter(({ silent_seconds }) => silent_seconds < SILENT_SECONDS);
  return live.length > 0
    ? [
        nodesFinding(
          live.length,
          live.every(({ knows }) => knows === newest),
        ),
      ]
    : [finding('nodes', false, ['no node is at work', 'start one with posthorn serve', 'warning'])];
}
