import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { idTime } from '../../domain/ids.ts';
import { nullable, Type } from '../../platform/type.ts';
import { maySendNow } from '../../routing/gate.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import { deletedEndpoints, type NamedEndpoint } from '../../store/config/endpoints.ts';
import type { FailureGroup } from '../../store/history/failure-groups.ts';
import { listFailureMutes, type NamedMuteRow } from '../../store/saved/failure-mutes.ts';
import type { ReadContext } from '../http/context.ts';
import { iso, Time } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
import { deliveryFilter, deliveryFilterQuery } from './delivery-filter.ts';
import { FailureMute, toFailureMute } from './failure-mutes.ts';
import { findFailures, groupKey } from './find-failures.ts';

const MAX_GROUPS = 500;

const { startDate, endDate, endpointId, ownerId, eventType } = deliveryFilterQuery;

const Failures = Type.Object({
  groups: Type.Array(
    Type.Object({
      endpoint_id: Type.String(),
      endpoint_name: Type.String(),
      endpoint_deleted: Type.Boolean(),
      owner_id: Type.String(),
      outcome: Type.String({
        description:
          'The result of the last attempt, as in the filter of deliveries; `not_sent` without one.',
      }),
      description: Type.String({ description: 'The reason of one of these deliveries.' }),
      count: Type.Integer(),
      retrying: Type.Integer({ description: 'Open deliveries that are tried again.' }),
      failed: Type.Integer({ description: 'Deliveries that ended as Failure.' }),
      may_send_now: Type.Boolean({
        description:
          'Whether a call of `sendnow` can make its open deliveries due: the endpoint is active and does not pull.',
      }),
      at_least: Type.Boolean({
        description:
          'True: more deliveries of the endpoint wait than were read, so `count` and `retrying` are lower bounds, and `first_at` and `oldest_at` are of those that were read.',
      }),
      first_at: Time,
      last_at: Time,
      oldest_at: Time,
      muted: nullable(
        FailureMute,
        'The mute of the group: by whom, and until when. Null if it is not muted, and for portal links.',
      ),
    }),
    { description: 'The largest first.' },
  ),
  complete: Type.Boolean({
    description:
      'False: not all that fails is counted. So many deliveries wait that a part of them was read of each endpoint (`at_least` marks these groups), the time was up before every failing endpoint was read, or there are more than 500 groups.',
  }),
});

export function registerFailures(app: FastifyInstance, context: ReadContext): void {
  operationsOf('Event deliveries').get(app, '/api/v1/projects/:projectID/failures', {
    id: 'listFailures',
    summary: 'Group failing deliveries by endpoint and cause. Without dates, those of the last 24 hours.',
    query: Type.Object({ startDate, endDate, endpointId, ownerId, eventType }),
    message: 'Failures fetched',
    data: Failures,
    portal: 'read',
    access: 'viewer',
    handle: async ({ project, query, scope }) => {
      const filter = await deliveryFilter(context, { project, scope }, query);
      const routing = await context.cache.get(project.id);
      const { groups, isComplete } = await findFailures(context, project.id, filter);
      const ids = groups.map(({ endpoint_id }) => endpoint_id).filter((id) => !routing.endpoints.has(id));
      const deleted = await deletedEndpoints(context.db, project.id, ids);
      const rows = scope === undefined ? await listFailureMutes(context.db, project.id) : [];
      const mutes = new Map(rows.map((row) => [groupKey(row), row]));
      const nowMs = context.now();
      const sorted = groups.toSorted((a, b) => b.retrying + b.failed - (a.retrying + a.failed));
      return {
        groups: sorted
          .slice(0, MAX_GROUPS)
          .map((group) => toGroup(group, routing, { mute: mutes.get(groupKey(group)), deleted, nowMs })),
        complete: isComplete && sorted.length <= MAX_GROUPS,
      };
    },
  });
}

function toGroup(
  group: FailureGroup,
  routing: ProjectRouting,
  known: { mute: NamedMuteRow | undefined; deleted: ReadonlyMap<string, NamedEndpoint>; nowMs: number },
): Static<typeof Failures>['groups'][number] {
  const routed = routing.endpoints.get(group.endpoint_id);
  const { mute, deleted, nowMs } = known;
  const endpoint = routed?.row ?? deleted.get(group.endpoint_id);
  const { endpoint_id, outcome, retrying, failed } = group;
  return {
    endpoint_id,
    endpoint_name: endpoint?.name ?? '',
    endpoint_deleted: routed === undefined,
    owner_id: endpoint?.owner_id ?? '',
    outcome,
    description: group.description ?? '',
    count: retrying + failed,
    retrying,
    failed,
    may_send_now: maySendNow(routed, nowMs),
    at_least: group.has_more,
    first_at: iso(group.first_at),
    last_at: iso(group.last_at),
    oldest_at: iso(idTime(group.oldest)),
    muted: mute === undefined ? null : toFailureMute(mute),
  };
}
