import type { ChangeStreamSettings } from '../../domain/config/source.ts';
import { BrokerError } from '../module/broker-error.ts';
import type { BrokerModule, ConnectContext, ConsumerContext } from '../module/broker-module.ts';
import { ChangeReader } from './change-reader.ts';
import { connectForReplication, existingTables, readPublication, readSlot } from './customer-database.ts';
import { postgresError } from './postgres-error.ts';
import { connectionName, prepareSlot } from './prepare-slot.ts';
import { whileLeased } from './slot-lease.ts';
import { watchSlot } from './slot-watch.ts';

/**
 * The changes of a PostgreSQL database, by logical replication with its own plugin, pgoutput. One node at a time reads
 * the slot of a source: it has the lease.
 */
export const postgres: BrokerModule<'postgres'> = {
  consume: ({ postgres: own }, context) =>
    whileLeased(context, (signal) => read(own, { ...context, signal })),
  test: ({ postgres: own }, context) => look(own, context),
  worded: postgresError,
};

async function read(settings: ChangeStreamSettings, context: ConsumerContext): Promise<void> {
  const name = connectionName(context.source.id);
  const { connection, identity } = await connectForReplication(settings, context, name);
  let endWatch: (() => void) | undefined;
  try {
    const slot = await prepareSlot(connection, identity, settings, context);
    const reader = new ChangeReader({ connection, identity, slot, settings, context });
    endWatch = watchSlot(settings, context, (problem) => reader.fail(problem));
    await reader.run();
  } finally {
    endWatch?.();
    connection.close();
  }
}

/** Whether it could be read. Nothing is made. */
async function look(settings: ChangeStreamSettings, context: ConnectContext): Promise<void> {
  const { connection } = await connectForReplication(settings, context, 'posthorn test');
  const { tables, publication_name: publication } = settings;
  try {
    await existingTables(connection, tables);
    if (tables.length === 0 && (await readPublication(connection, publication)) === null)
      throw new BrokerError(
        `The publication ${publication} does not exist, and there are no tables to make it for.`,
      );
    const slot = await readSlot(connection, settings.slot_name);
    if (slot?.['wal_status'] === 'lost')
      throw new BrokerError('The database has removed changes that the replication slot had not given out.');
  } finally {
    connection.close();
  }
}
