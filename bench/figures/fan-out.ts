import type { Figure } from '../figure.ts';
import type { LoadResult } from '../load-generator.ts';
import { arrived } from '../measure.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';

/** One event to a thousand endpoints, each with a URL, a secret and a subscription of its own. */
const EVENT = 'fan';

export const fanOut: Figure = {
  name: 'fan_out',
  rounds: ({ rounds }) => rounds,
  run: async (stage) => {
    const service = await wideService(stage);
    const deliveries = stage.plan.fanOut;
    const run = await stage.newRun();
    await stage.load.call<LoadResult>('run', {
      url: service.broadcastUrl,
      authorization: service.authorization,
      eventType: EVENT,
      run,
      connections: 1,
      count: 1,
    });
    const { received, p50Ms, maxMs } = await arrived(stage, (sink) => sink.received >= deliveries);
    return {
      endpoints: deliveries,
      p50Ms,
      lastMs: maxMs,
      deliveriesPerSecond: (deliveries * 1000) / maxMs,
      events: 1,
      lost: Math.max(0, deliveries - received),
      duplicates: Math.max(0, received - deliveries),
    };
  },
};

function wideService(stage: Stage): Promise<Service> {
  return stage.keep('wide service', async () => {
    const service = await stage.startService();
    for (let i = 0; i < stage.plan.fanOut; i++) await service.subscribe(`${stage.sinkUrl}/ok/${i}`, EVENT);
    return { value: service };
  });
}
