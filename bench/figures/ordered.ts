import type { Figure } from '../figure.ts';
import { measureDeliveries } from '../measure.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';
import { LOAD_EVENT, subjectOf, warmUp } from '../subjects.ts';

/** Deliveries in order by 10,000 keys, and without order, on one service. */
const ORDERED = 'ordered';

function orderedService(stage: Stage): Promise<Service> {
  return stage.keep('ordered service', async () => {
    const service = await stage.startService();
    await service.subscribe(`${stage.sinkUrl}/ok`, LOAD_EVENT);
    const ordering = { key: '$.body.unused', on_failure: 'skip' };
    await service.subscribe(`${stage.sinkUrl}/ok`, ORDERED, { subscription: { ordering } });
    await warmUp(stage, subjectOf(service), LOAD_EVENT);
    return { value: service };
  });
}

export const ordered: Figure = {
  name: 'ordered',
  rounds: ({ rounds }) => rounds,
  run: async (stage) => {
    const subject = subjectOf(await orderedService(stage));
    const { connections, seconds } = stage.plan;
    const load = { connections, seconds };
    const without = await measureDeliveries(stage, subject, { ...load, eventType: LOAD_EVENT });
    const byKey = { ...load, eventType: ORDERED, orderingKeys: 10_000 };
    const many = await measureDeliveries(stage, subject, byKey);
    const rate = (sample: typeof many) => sample['eventsPerSecond'] as number;
    return {
      ...many,
      perSecondWithout: rate(without),
      ratio: rate(many) / rate(without),
      microsDatabaseWithout: without['microsDatabase'] as number,
    };
  },
};
