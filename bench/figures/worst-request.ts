import { Child } from '../child.ts';
import type { Figure } from '../figure.ts';
import { measureDeliveries } from '../measure.ts';
import { compared } from '../report/compared.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';
import { LOAD_EVENT, subjectOf, warmUp } from '../subjects.ts';

/**
 * Eight callers send the worst requests that we know, each again as soon as it is answered: with a key of one tenant, and
 * without a credential. How much later do another tenant's deliveries arrive?
 */
const RATE_PER_SECOND = 100;
const REGEX_FILTERS = 300;
const TYPE = 'worst';

export const worstRequest: Figure = {
  name: 'worst_request',
  rounds: () => 1,
  run: async (stage) => {
    const service = await stage.startService();
    const callers = new Child('worst-callers.ts');
    try {
      const others = await service.newTenant('others');
      const tenant = await service.newTenant('worst');
      await others.subscribe(`${stage.sinkUrl}/ok`, LOAD_EVENT);
      await subscribeFilters(stage, tenant);
      await warmUp(stage, subjectOf(others), LOAD_EVENT);
      const without = await measure(stage, others);
      const { broadcastUrl, authorization } = tenant;
      const count = await callers.call<number>('start', { broadcastUrl, authorization, eventType: TYPE });
      const beside = await measure(stage, others);
      const calls = await callers.call<number>('stop');
      const aboveMs = (beside['p99Ms'] as number) - (without['p99Ms'] as number);
      return { ...compared(without, beside), aboveMs, callers: count, calls };
    } finally {
      await callers.stop();
      await service.stop();
    }
  },
};

/** Patterns that match nothing, on all of the payload. */
async function subscribeFilters(stage: Stage, tenant: Service): Promise<void> {
  for (let number = 0; number < Math.min(REGEX_FILTERS, stage.plan.toxicBacklog); number++)
    await tenant.subscribe(`${stage.sinkUrl}/ok`, TYPE, {
      subscription: {
        filter_config: { event_types: [TYPE], filter: { body: { text: { $regex: `[a-z]+${number}$` } } } },
      },
    });
}

/** Three times as long as others: the p99 of 500 deliveries is the sixth worst of them. */
const measure = (stage: Stage, others: Service) =>
  measureDeliveries(stage, subjectOf(others), {
    eventType: LOAD_EVENT,
    seconds: 3 * stage.plan.seconds,
    connections: 64,
    ratePerSecond: RATE_PER_SECOND,
  });
