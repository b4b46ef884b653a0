import type { SlotRow } from '../../store/brokers/change-streams.ts';
import type { ConnectContext } from '../module/broker-module.ts';
import { connectForReplication, identifier, literal, readSlot } from './customer-database.ts';
import { connectionName } from './prepare-slot.ts';

/** Drops what was made for a source in its database. Throws where the slot is in use or the database is away. */
export async function dropSlot(row: SlotRow, context: ConnectContext): Promise<void> {
  const settings = row.settings.reveal();
  const name = connectionName(row.sourceId);
  const { connection, identity } = await connectForReplication(settings, context, name);
  try {
    const id = `${row.sourceId}/${identity.system}/${identity.database}/${settings.slot_name}`;
    // The address leads to another database now: what was made there is gone.
    if (id !== row.id) return;
    if (row.isSlotMade) {
      const slot = await readSlot(connection, settings.slot_name);
      if (slot?.['active'] === 't' && slot['application_name'] === name)
        await connection.query(`select pg_terminate_backend(${Number(slot['active_pid'])})`);
      if (slot !== undefined)
        await connection.query(`select pg_drop_replication_slot(${literal(settings.slot_name)})`);
    }
    if (row.isPublicationMade)
      await connection.query(`drop publication if exists ${identifier(settings.publication_name)}`);
  } finally {
    connection.close();
  }
}
