import type { Figure } from '../figure.ts';
import { measureDeliveries } from '../measure.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';
import { LOAD_EVENT, subjectOf, warmUp } from '../subjects.ts';

/** Deliveries in order by 1, 100 and 10,000 keys, and without order, on one service. */
const ORDERED = 'ordered';
/** One key is one request after another. */
const EVENTS_OF_ONE_KEY = 300;

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
    const by = (orderingKeys: number, end: { seconds: number } | { count: number } = { seconds }) =>
      measureDeliveries(stage, subject, { connections, eventType: ORDERED, orderingKeys, ...end });
    const without = await measureDeliveries(stage, subject, { connections, seconds, eventType: LOAD_EVENT });
    const one = await by(1, { count: EVENTS_OF_ONE_KEY });
    const hundred = await by(100);
    const many = await by(10_000);
    const rate = (sample: typeof many) => sample['eventsPerSecond'] as number;
    return {
      ...many,
      perSecondWithout: rate(without),
      perSecondOneKey: rate(one),
      perSecond100Keys: rate(hundred),
      ratio: rate(many) / rate(without),
      microsDatabaseWithout: without['microsDatabase'] as number,
    };
  },
};
