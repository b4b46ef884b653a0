import { setTimeout as pause } from 'node:timers/promises';
import { Child } from '../child.ts';
import type { Figure, Sample } from '../figure.ts';
import type { Load, LoadResult } from '../load-generator.ts';
import { arrived } from '../measure.ts';
import type { OpenPortals, PortalsReport } from '../portals.ts';
import { compared } from '../report/compared.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';
import { LOAD_EVENT, subjectOf, warmUp } from '../subjects.ts';
import { measureBeside, trafficOf } from '../two-tenants.ts';

/**
 * 200 customers of one tenant have a portal page open, which asks again and again. How much later do another tenant's
 * deliveries arrive? Compared with the same events while no page is open. The tenant with the portals has traffic in
 * both, so its pages have something to show.
 */
const TENANT_RATE_PER_SECOND = 50;
const TYPE = 'portal';

export const openPortals: Figure = {
  name: 'open_portals',
  rounds: ({ rounds }) => Math.ceil(rounds / 2),
  run: async (stage) => {
    const service = await stage.startService();
    const pages = new Child('./portals.ts');
    try {
      const others = await service.newTenant('others');
      await others.subscribe(`${stage.sinkUrl}/ok`, LOAD_EVENT);
      const tenant = await service.newTenant('with portals');
      const portals = await makePortals(stage, tenant);
      await warmUp(stage, subjectOf(others), LOAD_EVENT);
      await pages.call('open', portals);
      await pause(stage.plan.warmUpSeconds * 1000);
      await pages.call('close');
      const without = await measure(stage, { tenant, others });
      await pages.call('open', portals);
      const beside = await measure(stage, { tenant, others });
      const report = await pages.call<PortalsReport>('close');
      if (report.refused > 0)
        throw new Error(`${report.refused} requests of pages refused; the first: ${report.refusal}`);
      return {
        ...compared(without, beside),
        portals: portals.links.length,
        pageRequestsPerSecond: report.requests / stage.plan.portalSeconds,
        pageP50Ms: report.p50Ms,
        pageP99Ms: report.p99Ms,
      };
    } finally {
      await pages.stop();
      await service.stop();
    }
  },
};

/** A customer with an endpoint, a portal link and some deliveries for each page. */
async function makePortals(stage: Stage, tenant: Service): Promise<OpenPortals> {
  const made = [];
  for (let number = 0; number < stage.plan.openPortals; number++) {
    const owner_id = `customer ${number}`;
    const type = `${TYPE}${String(number).padStart(5, '0')}`;
    const { endpointId } = await tenant.subscribe(`${stage.sinkUrl}/ok`, type, { endpoint: { owner_id } });
    const link = await tenant.post('/portal-links', { name: owner_id, owner_id, can_manage_endpoint: true });
    made.push({ token: link.token as string, endpointId });
  }
  const run = await stage.newRun();
  const { portalEvents: count } = stage.plan;
  await stage.load.call<LoadResult>('run', {
    ...trafficOf(tenant, TYPE, made.length),
    run,
    count,
  } satisfies Load);
  await arrived(stage, (sink) => sink.distinct >= count);
  while (!(await tenant.isIdle())) await pause(10);
  const { rows } = await tenant.db.query<{ endpoint_id: string; id: string }>(
    'select endpoint_id, max(id) as id from event_deliveries where project_id = $1 group by 1',
    [tenant.credentials.project_id],
  );
  const deliveryOf = new Map(rows.map(({ endpoint_id, id }) => [endpoint_id, id]));
  const links = made.map((link) => ({ ...link, deliveryId: deliveryOf.get(link.endpointId) as string }));
  return { url: tenant.credentials.url, links };
}

/** The others' deliveries, while the tenant with the portals has traffic of its own. */
async function measure(stage: Stage, of: { tenant: Service; others: Service }): Promise<Sample> {
  const { portalSeconds: seconds, openPortals: count } = stage.plan;
  await of.others.db.query('vacuum (analyze)');
  await of.others.db.query('checkpoint');
  const traffic = {
    ...trafficOf(of.tenant, TYPE, count),
    seconds,
    ratePerSecond: TENANT_RATE_PER_SECOND,
  };
  return measureBeside(stage, subjectOf(of.others), { seconds, traffic });
}
