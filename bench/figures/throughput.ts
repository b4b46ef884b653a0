import { setTimeout as pause } from 'node:timers/promises';
import { diskPerEvent } from '../cost/disk.ts';
import type { Figure, Sample } from '../figure.ts';
import { measureDeliveries } from '../measure.ts';
import { PAYLOAD_BYTES } from '../payload.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';
import { diyGraphile, LOAD_EVENT, loadedService, relay, subjectOf } from '../subjects.ts';

/** The three compared systems: Posthorn, the machine's ceiling, and the do-it-yourself alternative. */
const closedLoop = ({ plan }: Stage) => ({ seconds: plan.seconds, connections: plan.connections });

export const endToEnd: Figure = {
  name: 'end_to_end',
  rounds: ({ rounds }) => rounds,
  run: async (stage) => {
    const service = await loadedService(stage);
    const walFrom = await walBytes(service);
    const heapFrom = await service.heap();
    const sample = await measureDeliveries(stage, subjectOf(service), {
      ...closedLoop(stage),
      eventType: LOAD_EVENT,
    });
    const events = sample['events'] as number;
    const heap = await service.heap();
    const walPerDelivery = ((await walBytes(service)) - walFrom) / events;
    const payloadAndAttempt = PAYLOAD_BYTES + (await attemptBytes(service));
    return {
      ...sample,
      walPerDelivery,
      walBesidePayloadAndAttempt: walPerDelivery - payloadAndAttempt,
      allocatedBytes: (heap.allocatedBytes - heapFrom.allocatedBytes) / events,
      microsGc: ((heap.pausedMs - heapFrom.pausedMs) * 1e3) / events,
    };
  },
  conclude: async (stage) => {
    const service = await loadedService(stage);
    return { ...(await databaseWork(service)), ...(await diskPerEvent(service)) };
  },
};

export const relayFloor: Figure = {
  name: 'relay_floor',
  rounds: ({ rounds }) => rounds,
  run: async (stage) => measureDeliveries(stage, await relay(stage), closedLoop(stage)),
};

export const diy: Figure = {
  name: 'diy_graphile',
  rounds: ({ rounds }) => rounds,
  run: async (stage) => measureDeliveries(stage, await diyGraphile(stage), closedLoop(stage)),
};

async function walBytes(service: Service): Promise<number> {
  const { bytes } = await service.query<{ bytes: string }>(
    "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::text as bytes",
  );
  return Number(bytes);
}

/** The bytes of an attempt, wherever it is stored: its record and response, its id, two times and a flag. */
async function attemptBytes(service: Service): Promise<number> {
  const { bytes } = await service.query<{ bytes: number | null }>(
    `select avg(pg_column_size(id) + 17 + pg_column_size(record) + coalesce(pg_column_size(response_body), 0))::float8 as bytes
     from (select * from attempts order by id desc limit 200) a`,
  );
  if (bytes === null) throw new Error('no attempt is stored where the bench looks for it');
  return bytes;
}

interface Work {
  deliveries: number;
  hot: number;
  transactions: number;
}

const STATISTICS_MS = 15_000;

/**
 * The database's counts over the life of the loaded service, its idle time included. Every statement of the
 * service outside config changes is its own transaction, so transactions are round trips. A connection
 * reports its counts up to ten seconds late, or when it ends. So the service is ended first.
 */
async function databaseWork(service: Service): Promise<Sample> {
  await service.halt();
  const { stored } = await service.query<{ stored: number }>(
    'select count(*)::int as stored from event_deliveries',
  );
  for (const startedMs = performance.now(); ; await pause(50)) {
    const work = await service.query<Work>(
      `select sum(n_tup_upd)::int as deliveries, sum(n_tup_hot_upd)::int as hot,
         (select xact_commit::int from pg_stat_database where datname = current_database()) as transactions
       from pg_stat_user_tables where relname like 'event\\_deliveries\\_%'`,
    );
    if (work.deliveries < stored && performance.now() - startedMs < STATISTICS_MS) continue;
    return {
      roundTripsPerDelivery: (work.transactions - service.queries) / work.deliveries,
      hotShare: work.hot / work.deliveries,
    };
  }
}
