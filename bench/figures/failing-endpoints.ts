import type { Figure, Sample } from '../figure.ts';
import { compared } from '../report/compared.ts';
import { addEndpoints } from '../scaling/grow.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';
import { LOAD_EVENT, subjectOf, warmUp } from '../subjects.ts';
import { measureBeside, trafficOf } from '../two-tenants.ts';

/**
 * All endpoints of one tenant begin to fail within half a minute and all their circuit breakers open. How
 * much later do another tenant's deliveries arrive? Compared with the same events to the same endpoints while
 * they answer.
 */
const TYPE = 'failing';
/** No server listens there. */
const REFUSED = 'http://127.0.0.1:9/';
/** Each endpoint had a success before, so one failure is half of its attempts. */
const BREAKER = { sample_rate: 1, minimum_request_count: 1, failure_threshold: 50, error_timeout: 30 };

export const failingEndpoints: Figure = {
  name: 'failing_endpoints',
  // One busy moment of the machine is a second or two, which is more than the slowest hundredth of a measurement.
  rounds: ({ rounds }) => Math.ceil(rounds / 2),
  run: async (stage) => {
    const service = await stage.startService();
    try {
      const others = await service.newTenant('others');
      await others.subscribe(`${stage.sinkUrl}/ok`, LOAD_EVENT);
      const tenant = await service.newTenant('failing', { circuit_breaker: BREAKER });
      const first = await tenant.subscribe(`${stage.sinkUrl}/ok`, `${TYPE}00000`);
      await addEndpoints(tenant, { ...first, eventType: TYPE }, stage.plan.failingEndpoints);
      await warmUp(stage, subjectOf(others), LOAD_EVENT);
      const before = await measure(stage, { tenant, others });
      await fail(tenant);
      const after = await measure(stage, { tenant, others });
      const { open } = await service.query<{ open: number }>(
        "select count(*)::int as open from endpoint_breakers where state = 'open'",
      );
      return { ...compared(before, after), endpoints: stage.plan.failingEndpoints, open };
    } finally {
      await service.stop();
    }
  },
};

/** Every endpoint of the tenant moves to a URL where no server listens. */
async function fail(tenant: Service): Promise<void> {
  const project = tenant.credentials.project_id;
  await tenant.db.query(
    `with v as (update projects set version = version + 1 where id = '${project}' returning version)
     update endpoints e set url = '${REFUSED}', version = v.version from v where project_id = '${project}'`,
  );
}

/** The others' deliveries, while each of the tenant's endpoints gets one event in turn. */
async function measure(stage: Stage, of: { tenant: Service; others: Service }): Promise<Sample> {
  const { failingSeconds: seconds, failingEndpoints: count } = stage.plan;
  const traffic = { ...trafficOf(of.tenant, TYPE, count), count, ratePerSecond: count / seconds };
  // Open deliveries of the tenant remain, so it waits only for the others' arrival.
  const subject = { ...subjectOf(of.others), isRecorded: async () => true };
  return measureBeside(stage, subject, { seconds, traffic });
}
