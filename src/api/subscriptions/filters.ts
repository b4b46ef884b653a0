import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { changeFilters } from '../../control/filter-changes.ts';
import type { FilterRecord } from '../../domain/config/subscription.ts';
import { visible } from '../../domain/endpoint-scope.ts';
import { found } from '../../domain/errors.ts';
import { matchesEventType } from '../../matcher/event-type.ts';
import { inSlices } from '../../platform/time/next-turn.ts';
import { Type } from '../../platform/type.ts';
import { decidingFilter, routeSubscription } from '../../routing/routed-subscription.ts';
import { type SubscriptionRow, subscriptions } from '../../store/config/subscriptions.ts';
import type { Call } from '../http/call.ts';
import type { ChangeContext, ReadContext } from '../http/context.ts';
import { crud } from '../http/crud.ts';
import { operationsOf } from '../http/operation.ts';
import { filterWarnings } from './filter-conditions.ts';
import { addedFilters, changedFilters } from './filter-input.ts';
import {
  CreateFilter,
  CreateFilters,
  Filter,
  TryFilter,
  toFilter,
  UpdateFilter,
  UpdateFilters,
} from './filter-schema.ts';
import { FilterExplanation, sampleSubject, shownExplanation } from './test-filter.ts';

type Out = Static<typeof Filter>;

const path = '/api/v1/projects/:projectID/subscriptions/:subscriptionID/filters';
const route = operationsOf('Filters');

export const FilterMatch = Type.Object({ is_match: Type.Boolean() });

/** A record of a subscription. */
interface OneFilter {
  row: SubscriptionRow;
  record: FilterRecord;
}

export function registerFilters(app: FastifyInstance, context: ChangeContext): void {
  registerOrdinary(app, context);
  registerTry(app, context);
  registerBulkWrites(app, context);
}

function registerOrdinary(app: FastifyInstance, context: ChangeContext): void {
  const filter = crud(app, context.db, {
    tag: 'Filters',
    noun: 'filter',
    path,
    param: 'filterID',
    data: Filter,
    access: { read: 'viewer', change: 'developer' },
    isOpenToPortals: true,
    get: async (call, id) => {
      const row = await subscriptionOf(context, call);
      return { row, record: recordOf(row.filters, id) };
    },
    view:
      () =>
      ({ row, record }: OneFilter) =>
        toFilter(row, record),
  });
  const warn = (body: Static<typeof UpdateFilter>) => filterWarnings(body, '');
  filter.all({
    summary: 'List the filters of a subscription, one per event type.',
    read: async (call) => {
      const row = await subscriptionOf(context, call);
      return row.filters.map((record) => ({ row, record }));
    },
  });
  filter.get();
  filter.create({
    summary: 'Create a filter for another event type of a subscription.',
    body: CreateFilter,
    warn,
    make: async (call) => {
      const given = [{ filter: call.body, field: '' }];
      const row = await save(context, call, (known) => addedFilters(context, known, given));
      return { row, record: found(row.filters.at(-1), 'filter', '') };
    },
  });
  filter.update({
    body: UpdateFilter,
    status: 200,
    warn,
    make: async (call) => {
      const uid = call.params.filterID;
      const given = [{ change: { ...call.body, uid }, field: '' }];
      const row = await save(context, call, (known) => changedFilters(known, given));
      return { row, record: recordOf(row.filters, uid) };
    },
  });
  filter.remove({
    summary: 'Delete a filter. The subscription no longer gets its event type.',
    make: (call) =>
      save(context, call, ({ filters }) => {
        const record = recordOf(filters, call.params.filterID);
        return filters.filter((one) => one !== record);
      }),
  });
}

function registerTry(app: FastifyInstance, context: ReadContext): void {
  route.post(app, `${path}/test/:eventType`, {
    id: 'tryFilters',
    summary: 'Test the filters of a subscription for an event type on a payload or request.',
    body: TryFilter,
    message: 'Filter tried',
    data: FilterMatch,
    beside: { explain: FilterExplanation },
    portal: 'read',
    access: 'viewer',
    handle: async (call) => {
      const explanation = await tryFilters(await subscriptionOf(context, call), call);
      call.beside['explain'] = explanation;
      return { is_match: explanation.matched };
    },
  });
}

function registerBulkWrites(app: FastifyInstance, context: ChangeContext): void {
  route.post(app, `${path}/bulk`, {
    id: 'createFilters',
    summary: 'Create several filters. If one is refused, none is created.',
    body: CreateFilters,
    status: 201,
    message: 'Filters created',
    data: Type.Array(Filter),
    warn: (body) => body.flatMap((filter, index) => filterWarnings(filter, String(index))),
    portal: 'manage',
    access: 'developer',
    handle: async (call): Promise<Out[]> => {
      const given = call.body.map((filter, index) => ({ filter, field: `${index}.` }));
      const row = await save(context, call, (known) => addedFilters(context, known, given));
      return row.filters.slice(-given.length).map((record) => toFilter(row, record));
    },
    again: async (call, { ids }) => {
      const row = await subscriptionOf(context, call);
      return ids.map((id) => toFilter(row, recordOf(row.filters, id)));
    },
  });
  route.put(app, `${path}/bulk_update`, {
    id: 'updateFilters',
    alsoPost: true,
    summary: 'Update several filters. If one is refused, none is changed.',
    body: UpdateFilters,
    message: 'Filters updated',
    data: Type.Array(Filter),
    warn: (body) => body.flatMap((filter, index) => filterWarnings(filter, String(index))),
    portal: 'manage',
    access: 'developer',
    handle: async (call): Promise<Out[]> => {
      const given = call.body.map((change, index) => ({ change, field: `${index}.` }));
      const row = await save(context, call, (known) => changedFilters(known, given));
      return call.body.map(({ uid }) => toFilter(row, recordOf(row.filters, uid)));
    },
  });
}

async function subscriptionOf(
  { db }: ReadContext,
  { project, params, scope }: Pick<Call<unknown, typeof path>, 'project' | 'params' | 'scope'>,
): Promise<SubscriptionRow> {
  const id = params.subscriptionID;
  const known = await subscriptions.get(db, project.id, id);
  const seen = visible(scope, known, (row) => row.endpoint_id);
  return found(seen, 'subscription', id);
}

function recordOf(records: readonly FilterRecord[], id: string): FilterRecord {
  const known = records.find(({ uid }) => uid === id);
  return found(known, 'filter', id);
}

function save(
  { changes }: ChangeContext,
  { by, params, scope }: Call<unknown, typeof path>,
  make: (row: SubscriptionRow) => FilterRecord[],
): Promise<SubscriptionRow> {
  return changeFilters(changes, { ...by, id: params.subscriptionID, scope }, make);
}

/** Without a filter for a type no filter can refuse. If all are disabled, nothing matches. */
async function tryFilters(
  row: SubscriptionRow,
  { params, body, project }: Call<Static<typeof TryFilter>, `${typeof path}/test/:eventType`>,
): Promise<Static<typeof FilterExplanation>> {
  const eventType = params.eventType;
  if (!row.event_types.some((pattern) => matchesEventType(pattern, eventType)))
    return {
      matched: true,
      reason: 'The subscription has no filter for this event type, so it gets no such event.',
    };
  const filter = decidingFilter(routeSubscription(row, project.config), eventType);
  if (filter === undefined)
    return { matched: false, reason: 'Every filter for this event type is disabled.' };
  if (filter.compiled === null) return { matched: true };
  const subject = sampleSubject(body.request ?? { body: body.payload });
  return shownExplanation(await inSlices(filter.compiled.explaining(subject)));
}
