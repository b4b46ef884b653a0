import type { Figure } from '../figure.ts';
import { measureDeliveries } from '../measure.ts';
import { addStoredRows } from '../scaling/grow.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';
import { LOAD_EVENT, loadedService, subjectOf, warmUp } from '../subjects.ts';

/** End to end with millions of ended deliveries in the same partitions, compared with the service without them. */
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

function fullService(stage: Stage): Promise<Service> {
  return stage.keep('full service', async () => {
    const service = await stage.startService();
    await service.subscribe(`${stage.sinkUrl}/ok`, LOAD_EVENT);
    await warmUp(stage, subjectOf(service), LOAD_EVENT);
    await addStoredRows(service, stage.plan.storedDeliveries);
    // A checkpoint writes the pages of the filling now, not in the first seconds of the measurement.
    await service.db.query('checkpoint');
    await warmUp(stage, subjectOf(service), LOAD_EVENT);
    return { value: service };
  });
}
