import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { AppError } from '../../domain/errors.ts';
import { idTime } from '../../domain/ids.ts';
import { Type } from '../../platform/type.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import { listFailureMutes, type NamedMuteRow } from '../../store/config/failure-mutes.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { type FailureGroup, groupFailures } from '../../store/history/delivery-groups.ts';
import type { DeliveryFilter } from '../../store/history/event-deliveries.ts';
import { endpointsWithFailures } from '../../store/history/traffic.ts';
import type { ApiContext } from '../http/context.ts';
import { iso, Time } from '../http/fields.ts';
import { registerOperation } from '../http/operation.ts';
import { deliveryFilter, deliveryFilterQuery } from './delivery-filter.ts';
import { FailureMute, toFailureMute } from './failure-mutes.ts';

/**
 * What fails now, by endpoint and cause: open deliveries that were tried and failed, of any age, and deliveries of the
 * range that ended as Failure. The queue has the former. No index has the latter: deliveries are read by endpoint, and
 * only those endpoints are read that had failures according to the time series. So a project of 10,000 endpoints with
 * few failing ones costs little. Endpoints are read some at a time until the time is up.
 */
const RANGE_MS = 86_400_000;
const LIMIT_MS = 3_000;
const ENDPOINTS_AT_A_TIME = 20;
const MAX_GROUPS = 500;

const { startDate, endDate, endpointId, ownerId, eventType } = deliveryFilterQuery;

const Failures = Type.Object({
  groups: Type.Array(
    Type.Object({
      endpoint_id: Type.String(),
      endpoint_name: Type.String(),
      owner_id: Type.String(),
      outcome: Type.String({
        description:
          'The result of the last attempt, as in the filter of deliveries; `not_sent` without one.',
      }),
      description: Type.String({ description: 'The reason of one of these deliveries.' }),
      count: Type.Integer(),
      retrying: Type.Integer({ description: 'Open deliveries that are tried again.' }),
      failed: Type.Integer({ description: 'Deliveries that ended as Failure.' }),
      first_at: Time,
      last_at: Time,
      oldest_at: Time,
      muted: Type.Union([FailureMute, Type.Null()], {
        description: 'Who muted the group, and until when. Null if it is not muted, and for portal links.',
      }),
    }),
    { description: 'The largest first.' },
  ),
  complete: Type.Boolean({
    description:
      'False: the time was up before every failing endpoint was read, or there are more than 500 groups.',
  }),
});

export function registerFailures(app: FastifyInstance, context: ApiContext): void {
  registerOperation(app, {
    method: 'GET',
    path: '/api/v1/projects/:projectID/failures',
    id: 'listFailures',
    tag: 'Event deliveries',
    summary: 'Group failing deliveries by endpoint and cause. Without dates, those of the last 24 hours.',
    query: Type.Object({ startDate, endDate, endpointId, ownerId, eventType }),
    status: 200,
    message: 'Failures fetched',
    data: Failures,
    portal: 'read',
    access: 'viewer',
    handle: async ({ project, query, scope }) => {
      const filter = await deliveryFilter(context, { project, scope }, query);
      const routing = await context.cache.get(project.id);
      const { groups, isComplete } = await findFailures(context, project, filter);
      const rows = scope === undefined ? await listFailureMutes(context.db, project.id) : [];
      const mutes = new Map(rows.map((row) => [groupKey(row), row]));
      const sorted = groups.toSorted((a, b) => b.retrying + b.failed - (a.retrying + a.failed));
      return {
        groups: sorted
          .slice(0, MAX_GROUPS)
          .map((group) => toGroup(group, routing, mutes.get(groupKey(group)))),
        complete: isComplete && sorted.length <= MAX_GROUPS,
      };
    },
  });
}

async function findFailures(
  { db, cache, now }: ApiContext,
  project: ProjectRow,
  filter: DeliveryFilter,
): Promise<{ groups: FailureGroup[]; isComplete: boolean }> {
  const deadline = performance.now() + LIMIT_MS;
  const toMs = filter.toMs ?? now();
  const range = { fromMs: filter.fromMs ?? toMs - RANGE_MS, toMs };
  const read = (wanted: DeliveryFilter) =>
    db.reading(project.id, (tx) => groupFailures(tx, project.id, wanted));
  const open = await read({ ...filter, fromMs: undefined, statuses: ['Retry'] });
  const named = filter.endpointIds ?? [];
  const known = named.length > 0 ? named : [...(await cache.get(project.id)).endpoints.keys()];
  const failing = await db.reading(project.id, (tx) =>
    endpointsWithFailures(tx, project.id, { endpointIds: known, ...range }),
  );
  const ended: FailureGroup[] = [];
  let isComplete = true;
  for (let at = 0; at < failing.length; at += ENDPOINTS_AT_A_TIME) {
    const endpointIds = failing.slice(at, at + ENDPOINTS_AT_A_TIME);
    const groups =
      performance.now() > deadline
        ? null
        : await unlessTooSlow(read({ ...filter, ...range, statuses: ['Failure'], endpointIds }));
    if (groups === null) isComplete = false;
    else ended.push(...groups);
  }
  return { groups: merged([...open, ...ended]), isComplete };
}

/** Null: it took too long. Groups of other endpoints are worth showing. */
async function unlessTooSlow<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof AppError && error.code === 'search_timeout') return null;
    throw error;
  }
}

const groupKey = ({ endpoint_id, outcome }: Pick<FailureGroup, 'endpoint_id' | 'outcome'>): string =>
  `${endpoint_id} ${outcome}`;

/** An endpoint may have open and ended deliveries with the same cause. */
function merged(groups: readonly FailureGroup[]): FailureGroup[] {
  const byCause = new Map<string, FailureGroup>();
  for (const group of groups) {
    const key = groupKey(group);
    const known = byCause.get(key);
    byCause.set(key, known === undefined ? group : bothOf(known, group));
  }
  return [...byCause.values()];
}

function bothOf(a: FailureGroup, b: FailureGroup): FailureGroup {
  return {
    ...a,
    retrying: a.retrying + b.retrying,
    failed: a.failed + b.failed,
    first_at: Math.min(a.first_at, b.first_at),
    last_at: Math.max(a.last_at, b.last_at),
    oldest: a.oldest < b.oldest ? a.oldest : b.oldest,
  };
}

function toGroup(
  group: FailureGroup,
  routing: ProjectRouting,
  mute: NamedMuteRow | undefined,
): Static<typeof Failures>['groups'][number] {
  const endpoint = routing.endpoints.get(group.endpoint_id)?.row;
  const { endpoint_id, outcome, retrying, failed } = group;
  return {
    endpoint_id,
    endpoint_name: endpoint?.name ?? '',
    owner_id: endpoint?.owner_id ?? '',
    outcome,
    description: group.description ?? '',
    count: retrying + failed,
    retrying,
    failed,
    first_at: iso(group.first_at),
    last_at: iso(group.last_at),
    oldest_at: iso(idTime(group.oldest)),
    muted: mute === undefined ? null : toFailureMute(mute),
  };
}
