import type { ChangeStreamSettings } from '../../domain/config/source.ts';
import { BrokerError } from '../module/broker-error.ts';
import type { ConsumerContext } from '../module/broker-module.ts';
import { type Connection, connect } from './connect.ts';
import { literal } from './customer-database.ts';
import { connectionName } from './prepare-slot.ts';

/**
 * Looks at the slot every EVERY_MS: how many bytes of the log are still to be taken, and whether the slot holds back
 * more of the log than the database keeps by itself (max_wal_size). That is no harm yet, but its disk fills up. Without
 * its publication a slot goes on, from PostgreSQL 18 on, and gives out nothing.
 */
const EVERY_MS = 5_000;
const PART = 'slot';
const UNPUBLISHED = 'The publication was dropped, so changes may be missing.';

/** Returns what ends it. */
export function watchSlot(
  settings: ChangeStreamSettings,
  context: ConsumerContext,
  onProblem: (problem: Error) => void,
): () => void {
  let connection: Connection | null = null;
  let isLooking = false;
  const look = async (): Promise<void> => {
    if (isLooking || context.signal.aborted) return;
    isLooking = true;
    try {
      const name = connectionName(context.source.id);
      connection ??= await connect(settings, context, { isReplication: false, name });
      await lookAt(connection, { settings, context, onProblem });
    } catch (error) {
      connection?.close();
      connection = null;
      context.log.debug({ err: error }, 'failed to look at a replication slot');
    } finally {
      isLooking = false;
    }
  };
  const timer = setInterval(() => void look(), EVERY_MS);
  void look();
  return () => {
    clearInterval(timer);
    connection?.close();
    context.lag(PART, null);
  };
}

async function lookAt(
  connection: Connection,
  {
    settings,
    context,
    onProblem,
  }: { settings: ChangeStreamSettings; context: ConsumerContext; onProblem: (problem: Error) => void },
): Promise<void> {
  const [slot] = await connection.query(
    `select pg_wal_lsn_diff(here, confirmed_flush_lsn)::bigint as lag, pg_wal_lsn_diff(here, restart_lsn)::bigint as held,
       wal_status, exists (select from pg_publication where pubname = ${literal(settings.publication_name)}) as is_published
     from pg_replication_slots,
       (select pg_current_wal_lsn() as here) log
     where slot_name = ${literal(settings.slot_name)}`,
  );
  if (slot === undefined || context.signal.aborted) return;
  if (slot['is_published'] !== 't') onProblem(new BrokerError(UNPUBLISHED));
  context.lag(PART, Math.max(0, Number(slot['lag'])));
  const isHigh = slot['wal_status'] !== 'reserved';
  await context.holdsBack(isHigh ? Number(slot['held']) : null);
}
