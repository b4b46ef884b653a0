import type { Sample } from './figure.ts';
import type { Load, LoadResult } from './load-generator.ts';
import { measureDeliveries, type Subject } from './measure.ts';
import type { Service } from './service.ts';
import type { Stage } from './stage.ts';
import { LOAD_EVENT } from './subjects.ts';

/** Two tenants of one service: the deliveries of one are measured while the other has traffic of its own. */
const RATE_PER_SECOND = 300;
const CONNECTIONS = 64;
/** The sink counts events with the number of a measurement. This number belongs to none. */
const UNCOUNTED = 0;

/** `eventTypes`: the number of the tenant's event types, which get an event in turn. */
export function trafficOf(tenant: Service, eventType: string, eventTypes: number): Omit<Load, 'run'> {
  const { broadcastUrl: url, authorization } = tenant;
  return { url, authorization, eventType, eventTypes, connections: CONNECTIONS };
}

export async function measureBeside(
  stage: Stage,
  others: Subject,
  { seconds, traffic }: { seconds: number; traffic: Omit<Load, 'run'> },
): Promise<Sample> {
  const load: Load = { ...traffic, run: UNCOUNTED };
  const [sample, { refused, refusal }] = await Promise.all([
    measureDeliveries(stage, others, {
      eventType: LOAD_EVENT,
      seconds,
      connections: CONNECTIONS,
      ratePerSecond: RATE_PER_SECOND,
    }),
    stage.load.call<LoadResult>('run', load),
  ]);
  if (refused > 0) throw new Error(`${refused} of the tenant's events refused; the first: ${refusal}`);
  return sample;
}
