import { IdFactory, idTime } from '../../src/domain/ids.ts';
import type { Figure } from '../figure.ts';
import { measureDeliveries } from '../measure.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';
import { LOAD_EVENT, loadedService, subjectOf, warmUp } from '../subjects.ts';

/** End to end with millions of ended deliveries stored in the same partitions, against the service without them. */
export const fullTables: Figure = {
  name: 'full_tables',
  rounds: ({ rounds }) => rounds,
  isLong: true,
  run: async (stage) => {
    const load = { seconds: stage.plan.seconds, connections: stage.plan.connections, eventType: LOAD_EVENT };
    const full = await measureDeliveries(stage, subjectOf(await fullService(stage)), load);
    const empty = await measureDeliveries(stage, subjectOf(await loadedService(stage)), load);
    const rate = full['eventsPerSecond'] as number;
    const rateEmpty = empty['eventsPerSecond'] as number;
    return { ...full, stored: stage.plan.storedDeliveries, empty: rateEmpty, ratio: rate / rateEmpty };
  },
};

const BATCH = 20_000;
const DELIVERIES_PER_EVENT = 10;

function fullService(stage: Stage): Promise<Service> {
  return stage.keep('full service', async () => {
    const service = await stage.startService();
    await service.subscribe(`${stage.sinkUrl}/ok`, LOAD_EVENT);
    await warmUp(stage, subjectOf(service), LOAD_EVENT);
    await fill(service, stage.plan.storedDeliveries);
    await warmUp(stage, subjectOf(service), LOAD_EVENT);
    return { value: service };
  });
}

/** Copies of the warm-up's rows under new ids, spread from the start of the present partition until now. */
async function fill(service: Service, deliveries: number): Promise<void> {
  const { rows } = await service.db.query<{ event_id: string; id: string; from: string }>(
    `select d.event_id, d.id,
       (regexp_match(pg_get_expr(c.relpartbound, c.oid), $$FROM \\('([^']+)'\\)$$))[1] as from
     from event_deliveries d join pg_class c on c.oid = d.tableoid limit 1`,
  );
  const model = rows[0] as { event_id: string; id: string; from: string };
  const startMs = idTime(model.from);
  const stepMs = (Date.now() - 60_000 - startMs) / deliveries;
  let made = 0;
  const ids = new IdFactory(() => startMs + made * stepMs);
  for (; made < deliveries; made += BATCH) {
    const deliveryIds = Array.from({ length: BATCH }, () => ids.next());
    const eventIds = Array.from({ length: BATCH / DELIVERIES_PER_EVENT }, () => ids.next());
    await service.db.query(copyOf('events', 'id', model.event_id), [eventIds]);
    await service.db.query(copyOf('event_deliveries', 'id', model.id), [deliveryIds]);
    await service.db.query(copyOf('delivery_attempts', 'delivery_id', model.id), [deliveryIds]);
  }
  await service.db.query('vacuum (analyze) events, event_deliveries, delivery_attempts');
}

function copyOf(table: string, column: string, model: string): string {
  return `insert into ${table} select (jsonb_populate_record(m, jsonb_build_object('${column}', n.id))).*
    from unnest($1::text[]) as n(id), ${table} m where m.${column} = '${model}'`;
}
