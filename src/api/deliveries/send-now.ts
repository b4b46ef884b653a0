import type { FastifyInstance } from 'fastify';
import { type DeliveryGate, openStatuses } from '../../domain/delivery.ts';
import { badQuery, wrongState } from '../../domain/errors.ts';
import { Type } from '../../platform/type.ts';
import { gateSets } from '../../routing/waiting-for.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import type { Queryable } from '../../store/database/database.ts';
import { countDeliveries, type DeliveryFilter } from '../../store/history/event-deliveries.ts';
import type { SendContext } from '../http/context.ts';
import { ignoredPageQuery } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
import { dryRunAnswer, jobOptions, jobQuery } from '../jobs/dry-run.ts';
import { Job, startJob } from '../jobs/jobs.ts';
import {
  deliveryFilter,
  deliveryFilterAliases,
  deliveryFilterQuery,
  onlyStatuses,
} from './delivery-filter.ts';
import { dryRunOfDeliveries } from './dry-run-deliveries.ts';

/** A delivery that waits for one of these can be made due. The others are being sent, or go by themselves. */
const HELD: readonly DeliveryGate[] = ['retry', 'circuit_breaker', 'paused', 'rate_limit'];
/** A delayed one only where the filter names its gate, its event or itself: it is not held, it has its time. */
const SENDABLE: readonly DeliveryGate[] = [...HELD, 'delayed'];

const isNamed = ({ eventId, ids = [] }: DeliveryFilter): boolean => eventId !== undefined || ids.length > 0;

export function registerSendNow(app: FastifyInstance, context: SendContext): void {
  operationsOf('Event deliveries').post(app, '/api/v1/projects/:projectID/eventdeliveries/sendnow', {
    id: 'sendNowEventDeliveries',
    summary:
      'Start a job that makes every waiting delivery matching the filters due now. A pause and a rate limit still hold it; an open circuit breaker gets one probe, whose success releases the rest. With a rate, so many per second become due. Deliveries of delayed events only if `waitingFor`, `eventId` or `deliveryId` names them.',
    query: Type.Object({ ...ignoredPageQuery, ...deliveryFilterQuery, ...jobQuery }),
    acts: true,
    alsoKnown: deliveryFilterAliases,
    message: 'Sending started',
    variant: dryRunAnswer,
    data: Job,
    portal: 'resend',
    access: 'developer',
    handle: async (call, _request, reply) => {
      const { project, by } = call;
      const { isDryRun, rate } = jobOptions(call.query);
      const input = waitingOnly(await deliveryFilter(context, call, call.query));
      const routing = await context.cache.get(project.id);
      const exceptEndpointIds = [...routing.pullEndpoints()];
      const names = input.exceptDelayed === true ? HELD : SENDABLE;
      const gates = input.gates ?? { names: [...names], sets: gateSets(routing, context.now()) };
      const filter = { ...input, gates, exceptEndpointIds };
      const count = async (tx: Queryable) => {
        const held = await countDeliveries(tx, project.id, filter);
        if (held === 0) await refuseOnlyPulled(tx, project, { filter: input, pulled: exceptEndpointIds });
        return held;
      };
      if (isDryRun) {
        await context.db.reading(project.id, count);
        return dryRunOfDeliveries(context, project, { type: 'send_now', filter, rate });
      }
      return startJob(context, { by, reply }, { type: 'send_now', input, rate, count });
    },
  });
}

function waitingOnly(asked: DeliveryFilter): DeliveryFilter {
  const filter = onlyStatuses(asked, openStatuses, 'only Scheduled, Processing and Retry can be sent now');
  if (filter.gates === undefined) return { ...filter, exceptDelayed: !isNamed(filter) };
  const names = filter.gates.names.filter((name) => SENDABLE.includes(name));
  if (names.length === 0) throw badQuery('waitingFor', `must be one of ${SENDABLE.join(', ')}`);
  return { ...filter, gates: { ...filter.gates, names } };
}

/** A filter that finds deliveries of pull endpoints and no others is refused, so that its caller learns why. */
async function refuseOnlyPulled(
  tx: Queryable,
  project: ProjectRow,
  { filter, pulled }: { filter: DeliveryFilter; pulled: string[] },
): Promise<void> {
  const { endpointIds: asked = [] } = filter;
  const endpointIds = asked.length === 0 ? pulled : pulled.filter((id) => asked.includes(id));
  if (endpointIds.length > 0 && (await countDeliveries(tx, project.id, { ...filter, endpointIds })) > 0)
    throw wrongState('These deliveries wait for their consumer to pull them; there is nothing to send.');
}
