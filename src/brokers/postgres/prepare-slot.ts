import { setTimeout as sleep } from 'node:timers/promises';
import type { ChangeStreamSettings } from '../../domain/config/source.ts';
import { Secret } from '../../platform/secret.ts';
import type { SlotRow } from '../../store/brokers/change-streams.ts';
import { BrokerError } from '../module/broker-error.ts';
import type { ConsumerContext } from '../module/broker-module.ts';
import { parseLsn } from './change-event.ts';
import type { Connection, Row } from './connect.ts';
import {
  existingTables,
  type Identity,
  identifier,
  literal,
  type PublishedTable,
  quotedTable,
  readPublication,
  readSlot,
} from './customer-database.ts';
import { parsePosition } from './log-position.ts';

/**
 * Makes sure that the publication and the slot are there. Those that exist are used as they are; those that are missing
 * are made, and noted before that, so that they are dropped with the source. The publication comes first: a slot cannot
 * read changes from before its publication.
 */
export interface PreparedSlot {
  row: SlotRow;
  /** Names the log of this database, as the slot reads it. */
  stream: string;
  tables: PublishedTable[];
}

const TAKEOVER_TRIES = 50;
const TAKEOVER_MS = 100;

export async function prepareSlot(
  connection: Connection,
  identity: Identity,
  settings: ChangeStreamSettings,
  context: ConsumerContext,
): Promise<PreparedSlot> {
  const { source, streams } = context;
  const slot = settings.slot_name;
  const place = `${source.id}/${identity.system}/${identity.database}/`;
  const id = `${place}${slot}`;
  const rows = await streams.slots(source.id);
  const known = rows.find((one) => one.id === id);
  const fresh = { isSlotMade: false, isPublicationMade: false, generation: '', epoch: 0, isFormer: false };
  const former = known?.settings.reveal().publication_name;
  const row: SlotRow = {
    ...fresh,
    ...known,
    id,
    sourceId: source.id,
    projectId: source.projectId,
    settings: new Secret(settings),
  };
  await takePublication(
    row,
    rows.filter((one) => one.id !== id && one.id.startsWith(place)),
    context,
  );
  const site = { connection, identity, settings, context, row };
  if (row.isPublicationMade && former !== undefined && former !== settings.publication_name) {
    await connection.query(`drop publication if exists ${identifier(former)}`);
    row.isPublicationMade = false;
  }
  const tables = await preparePublication(site);
  await prepareSlotItself(site);
  const stream = (epoch: number) =>
    `${identity.system}/${identity.database}/${slot}${epoch === 0 ? '' : `#${epoch}`}`;
  const stored = parsePosition(await streams.position({ sourceId: source.id, stream: stream(row.epoch) }));
  // Files of an earlier time were put back: the log goes on in the same timeline, from before what was stored.
  if (stored.timeline === identity.timeline && stored.lsn > identity.lsn) row.epoch += 1;
  await streams.saveSlot(row);
  await streams.retireOthers(row);
  return { row, stream: stream(row.epoch), tables };
}

/** A slot that replaces another of the same source goes on with the publication that was made for that one. */
async function takePublication(row: SlotRow, others: SlotRow[], { streams }: ConsumerContext): Promise<void> {
  const name = row.settings.reveal().publication_name;
  for (const other of others) {
    if (!other.isPublicationMade || other.settings.reveal().publication_name !== name) continue;
    row.isPublicationMade = true;
    await streams.saveSlot(row);
    await streams.saveSlot({ ...other, isPublicationMade: false });
  }
}

interface Site {
  connection: Connection;
  identity: Identity;
  settings: ChangeStreamSettings;
  context: ConsumerContext;
  row: SlotRow;
}

async function preparePublication(site: Site): Promise<PublishedTable[]> {
  const { connection, settings, context, row } = site;
  const { publication_name: name, tables } = settings;
  const facts = await existingTables(connection, tables);
  const published = await readPublication(connection, name);
  if (published !== null && !row.isPublicationMade) return chosen(published, settings);
  if (tables.length === 0)
    throw new BrokerError(`The publication ${name} does not exist, and there are no tables to make it for.`);
  const without = facts.find(({ hasIdentity }) => !hasIdentity);
  if (without !== undefined)
    throw new BrokerError(
      `The table ${without.name} has no primary key and no replica identity: with a publication its updates and deletes would fail.`,
    );
  const list = tables.map(quotedTable).join(', ');
  row.isPublicationMade = true;
  await context.streams.saveSlot(row);
  if (published === null)
    await connection.query(
      `create publication ${identifier(name)} for table ${list} with (publish_via_partition_root = true)`,
    );
  else if (
    !isSameList(
      published.map((one) => one.name),
      tables,
    )
  )
    await connection.query(`alter publication ${identifier(name)} set table ${list}`);
  return chosen((await readPublication(connection, name)) ?? [], settings);
}

const isSameList = (one: readonly string[], other: readonly string[]): boolean =>
  JSON.stringify(one.toSorted()) === JSON.stringify(other.toSorted());

/** The tables that become events. */
function chosen(
  published: PublishedTable[],
  { tables, publication_name: name }: ChangeStreamSettings,
): PublishedTable[] {
  const missing = tables.find((table) => !published.some((one) => one.name === table));
  if (missing !== undefined)
    throw new BrokerError(
      `The publication ${name} does not have the table ${missing}. It is not changed, as it was there before.`,
    );
  return tables.length === 0 ? published : published.filter((one) => tables.includes(one.name));
}

async function prepareSlotItself(site: Site): Promise<void> {
  const { connection, identity, settings, context, row } = site;
  const name = settings.slot_name;
  const slot = await readSlot(connection, name);
  if (slot === undefined) {
    refuseLostSlot(site);
    row.isSlotMade = true;
    row.generation = '';
    await context.streams.saveSlot(row);
    const [made] = await connection.query(
      `select lsn::text from pg_create_logical_replication_slot(${literal(name)}, 'pgoutput')`,
    );
    row.generation = `${identity.timeline}/${parseLsn(made?.['lsn'] ?? '0/0')}`;
    return;
  }
  checkSlot(slot, identity);
  if (row.generation === '')
    row.generation = `${identity.timeline}/${parseLsn(slot['confirmed_flush_lsn'] ?? '0/0')}`;
  if (slot['active'] === 't') await takeOver(site, slot);
}

function checkSlot(slot: Row, { database }: Identity): void {
  const name = slot['slot_name'];
  if (slot['plugin'] !== 'pgoutput')
    throw new BrokerError(`The replication slot ${name} is not of the plugin pgoutput.`);
  if (slot['database'] !== database)
    throw new BrokerError(`The replication slot ${name} belongs to another database of the server.`);
  if (slot['wal_status'] === 'lost')
    throw new BrokerError(
      `The database has removed changes that the replication slot ${name} had not given out. To go on from now give the source another slot_name.`,
    );
}

/** It was there, in this very log: to make it again would leave out changes, and no one would know. */
function refuseLostSlot({ row, identity, settings }: Site): void {
  const [timeline, lsn] = row.generation.split('/');
  if (row.generation === '' || Number(timeline) !== identity.timeline || BigInt(lsn ?? 0) > identity.lsn)
    return;
  throw new BrokerError(
    `The replication slot ${settings.slot_name} was dropped, so changes are missing. To go on from now give the source another slot_name.`,
  );
}

/** A node of ours that is silent may still have its connection. We have the lease now, so it is ended. */
async function takeOver({ connection, settings, context }: Site, slot: Row): Promise<void> {
  if (slot['application_name'] !== connectionName(context.source.id))
    throw new BrokerError('Another consumer uses the replication slot.');
  await connection.query(`select pg_terminate_backend(${Number(slot['active_pid'])})`);
  for (let tries = 0; tries < TAKEOVER_TRIES; tries++) {
    if ((await readSlot(connection, settings.slot_name))?.['active'] !== 't') return;
    await sleep(TAKEOVER_MS, undefined, { signal: context.signal });
  }
  throw new BrokerError('Another node still uses the replication slot.');
}

/** By which connections are known in the database of the customer. */
export const connectionName = (sourceId: string): string => `posthorn ${sourceId}`;
