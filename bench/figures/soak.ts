import type { Figure } from '../figure.ts';
import { measureDeliveries } from '../measure.ts';
import { usageOf } from '../process-usage.ts';
import { LOAD_EVENT, loadedService, subjectOf } from '../subjects.ts';

/** Half an hour at 70 % of what the closed loop did just before: nothing lost, nothing growing. */
const SHARE = 0.7;

export const soak: Figure = {
  name: 'soak',
  rounds: () => 1,
  isLong: true,
  run: async (stage) => {
    const service = await loadedService(stage);
    const { connections, seconds, soakSeconds } = stage.plan;
    const subject = subjectOf(service);
    const peak = await measureDeliveries(stage, subject, { seconds, connections, eventType: LOAD_EVENT });
    const ratePerSecond = Math.floor((peak['eventsPerSecond'] as number) * SHARE);
    const before = usageOf(service.pid);
    const sample = await measureDeliveries(stage, subject, {
      seconds: soakSeconds,
      connections,
      ratePerSecond,
      eventType: LOAD_EVENT,
    });
    const after = usageOf(service.pid);
    const grownMb =
      before === null || after === null ? 0 : (after.memoryBytes - before.memoryBytes) / 2 ** 20;
    return { ...sample, seconds: soakSeconds, ratePerSecond, memoryGrownMb: grownMb };
  },
};
