import { type AuditAction, type AuditNote, changeOf } from '../domain/audit.ts';
import { batchRefusal } from '../domain/config/batch.ts';
import { overlapOf } from '../domain/config/subscription-overlap.ts';
import { type EndpointScope, inScope, requireEventTypes, visible } from '../domain/endpoint-scope.ts';
import { AppError, found, invalid } from '../domain/errors.ts';
import type { EndpointId, SubscriptionId } from '../domain/ids.ts';
import { usualValues } from '../domain/resources/fields.ts';
import { type SubscriptionFields, subscriptionFields } from '../domain/resources/subscription-fields.ts';
import { seesVariables } from '../routing/function-contract.ts';
import type { Changed } from '../store/audit/audit-entries.ts';
import { deleteSubscriptions, saveSubscription } from '../store/changes/subscription-writes.ts';
import { type SubscriptionRow, subscriptions } from '../store/config/subscriptions.ts';
import type { Queryable } from '../store/database/database.ts';
import type { Author, ConfigChange, ConfigChanges } from './config-changes.ts';
import { needNodesThatKnow } from './older-nodes.ts';

/** The subscription that is to change, within what the caller may see. */
export interface OneSubscription extends Author {
  id: SubscriptionId;
  scope: EndpointScope | undefined;
}

/** The field that a refused overlap with another subscription names. */
export const OVERLAP_FIELD = 'filter_config.event_types';

/** A subscription with the defaults of everything that is not given: it takes every event. */
export function newSubscription(
  given: Pick<SubscriptionFields, 'name' | 'endpoint_id'> & { event_types?: string[] },
): SubscriptionFields {
  return { ...usualValues(subscriptionFields), ...given };
}

export function createSubscription(
  changes: ConfigChanges,
  one: OneSubscription,
  make: () => SubscriptionFields,
): Promise<SubscriptionRow> {
  return changeSubscription(changes, one, 'subscription.created', make);
}

/** `make` gives the subscription as it is to be. */
export function updateSubscription(
  changes: ConfigChanges,
  one: OneSubscription,
  make: (row: SubscriptionRow) => SubscriptionFields,
): Promise<SubscriptionRow> {
  return changeSubscription(changes, one, 'subscription.updated', (known) =>
    make(found(known, 'subscription', one.id)),
  );
}

/** Switches between active and inactive. */
export function toggleSubscription(changes: ConfigChanges, one: OneSubscription): Promise<SubscriptionRow> {
  const action = ({ status }: SubscriptionRow) =>
    status === 'active' ? ('subscription.activated' as const) : ('subscription.deactivated' as const);
  return changeSubscription(changes, one, action, (known) => {
    const row = found(known, 'subscription', one.id);
    return { ...row, status: row.status === 'active' ? 'inactive' : 'active' };
  });
}

export function deleteSubscription(changes: ConfigChanges, one: OneSubscription): Promise<null> {
  return changes.change(one, async (change) => {
    const row = found(await subscriptionOf(change, one), 'subscription', one.id);
    await deleteSubscriptions(change, { column: 'id', value: one.id });
    return { result: null, audit: [changeOf('subscription.deleted', row, null)] };
  });
}

/** Creates or replaces a subscription as part of a change. */
export async function putSubscription(
  changes: ConfigChanges,
  change: ConfigChange,
  wanted: { id: string; known?: SubscriptionRow | undefined; fields: SubscriptionFields },
): Promise<Changed<SubscriptionRow>> {
  const { id, known, fields } = wanted;
  const saved = await saveSubscription(change, { id, fields });
  await refuseOverlap(changes, change, { endpointId: saved.endpoint_id, field: 'event_types' });
  const action = known === undefined ? 'subscription.created' : 'subscription.updated';
  return { result: saved, audit: [changeOf(action, known, saved)] };
}

export interface NewSubscription {
  id: SubscriptionId;
  fields: SubscriptionFields;
}

/** Creates a subscription of an endpoint that the same change creates. The caller refuses an overlap, once for all. */
export async function addSubscription(
  changes: ConfigChanges,
  change: ConfigChange,
  { id, fields, scope }: NewSubscription & { scope: EndpointScope | undefined },
): Promise<AuditNote> {
  requireEventTypes(scope, fields.event_types);
  await checkLinks(changes, change, { fields, known: undefined });
  await needNodesThatKnow(change, fields, undefined);
  const saved = await saveSubscription(change, { id, fields: withAuthor(fields, undefined, scope) });
  return changeOf('subscription.created', null, saved);
}

/** A function that a portal link changed sees no variables. The same text written again changes nothing. */
function withAuthor(
  fields: SubscriptionFields,
  known: SubscriptionRow | undefined,
  scope: EndpointScope | undefined,
): SubscriptionFields {
  const isSame = known !== undefined && fields.function === known.function;
  const isPortals = isSame ? known.is_portal_function : scope !== undefined && fields.function !== '';
  return { ...fields, is_portal_function: isPortals };
}

/**
 * A portal link could have the project's variables sent to a server of its own. So no link changes the address of a
 * function that sees them, whatever its rights are: variables are the project's, and not of one customer. It may replace
 * such a function by one of its own, which sees none. Requests that the old one made are stored, and go to no other
 * address (src/engine/attempt/make-body.ts).
 */
export async function keepVariables(
  { deps }: ConfigChanges,
  change: ConfigChange,
  { senders, what }: { senders: readonly SubscriptionFields[]; what: string },
): Promise<void> {
  if (!senders.some(seesVariables)) return;
  const project = await deps.projects.get(change, change.projectId);
  const variables = project?.variables.revealOrNull() ?? null;
  if (variables === null || Object.keys(variables).length > 0)
    throw new AppError('portal_forbidden', { what: `${what} a function that sees variables` });
}

/**
 * An event that is sent straight to an endpoint without a subscription needs one that takes every event. It is made
 * here, once. The project's row is locked while looking, so two events at once make one.
 */
export async function ensureSubscription(
  changes: ConfigChanges,
  by: Author,
  endpointId: EndpointId,
): Promise<void> {
  const routing = await changes.deps.cache.get(by.projectId);
  if (routing.hasSubscription(endpointId)) return;
  await changes.change(by, async (change) => {
    if ((await subscriptions.oldestOf(change, by.projectId, endpointId)) !== undefined)
      return { result: null, audit: [] };
    const name = `${routing.endpoints.get(endpointId)?.row.name ?? endpointId}-subscription`;
    const fields = newSubscription({ name, endpoint_id: endpointId });
    const { audit } = await putSubscription(changes, change, { id: changes.deps.ids.next(), fields });
    return { result: null, audit };
  });
}

/** The subscription, if there is one that the caller may see. */
export async function subscriptionOf(
  tx: Queryable,
  { projectId, id, scope }: OneSubscription,
): Promise<SubscriptionRow | undefined> {
  return visible(scope, await subscriptions.get(tx, projectId, id), (row) => row.endpoint_id);
}

/** The project's row is locked, so the check is still valid when it is stored. */
function changeSubscription(
  changes: ConfigChanges,
  one: OneSubscription,
  action: AuditAction | ((saved: SubscriptionRow) => AuditAction),
  make: (known: SubscriptionRow | undefined) => SubscriptionFields,
): Promise<SubscriptionRow> {
  return changes.change(one, async (change) => {
    const known = await subscriptionOf(change, one);
    const fields = make(known);
    if (!inScope(one.scope, fields.endpoint_id)) throw notInProject('endpoint', fields.endpoint_id);
    requireEventTypes(
      one.scope,
      fields.event_types.filter((type) => known?.event_types.includes(type) !== true),
    );
    await checkLinks(changes, change, { fields, known });
    await needNodesThatKnow(change, fields, known);
    const wanted = withAuthor(fields, known, one.scope);
    if (one.scope !== undefined && known !== undefined && wanted.endpoint_id !== known.endpoint_id)
      await keepVariables(changes, change, { senders: [wanted], what: 'another endpoint_id for' });
    const saved = await saveSubscription(change, { id: one.id, fields: wanted });
    await refuseOverlap(changes, change, { endpointId: saved.endpoint_id, field: OVERLAP_FIELD });
    const done = typeof action === 'string' ? action : action(saved);
    return { result: saved, audit: [changeOf(done, known, saved)] };
  });
}

/**
 * For changed links: endpoint and source must exist, and the endpoint must be free if the project allows one
 * subscription per endpoint.
 */
async function checkLinks(
  { deps }: ConfigChanges,
  change: ConfigChange,
  { fields, known }: { fields: SubscriptionFields; known: SubscriptionRow | undefined },
): Promise<void> {
  const { endpoint_id, source_id } = fields;
  const { projectId, config } = change;
  if (source_id !== '' && source_id !== known?.source_id) {
    if ((await deps.sources.get(change, projectId, source_id)) === undefined)
      throw notInProject('source', source_id);
  }
  // Only a dry run can be without an endpoint: the one that is meant is created before it.
  const isNewBatch = fields.batch !== null && known?.batch === null;
  if ((endpoint_id === known?.endpoint_id && !isNewBatch) || endpoint_id === '') return;
  const endpoint = await deps.endpoints.get(change, projectId, endpoint_id);
  if (endpoint === undefined) throw notInProject('endpoint', endpoint_id);
  const refusal = fields.batch === null ? null : batchRefusal(endpoint);
  if (refusal !== null) throw invalid('batch', refusal);
  if (endpoint_id === known?.endpoint_id) return;
  if (config.multiple_endpoint_subscriptions) return;
  if ((await subscriptions.oldestOf(change, projectId, endpoint_id)) !== undefined)
    throw invalid(
      'endpoint_id',
      'the endpoint already has a subscription, and this project allows one per endpoint',
    );
}

function notInProject(resource: 'endpoint' | 'source', id: string): AppError {
  return new AppError('not_in_project', { field: `${resource}_id`, resource, id });
}

/**
 * Refuses two subscriptions that may match the same event, at an endpoint whose requests carry the id of the event: a
 * receiver would take the second delivery for a repeat and drop it. Called once, after all rows of a change are written.
 * The project's row is locked, so the check is still valid at the commit. `field` is given the newer of the two.
 */
export async function refuseOverlap(
  { deps }: ConfigChanges,
  change: ConfigChange,
  { endpointId, field }: { endpointId: EndpointId; field: string | ((newer: SubscriptionId) => string) },
): Promise<void> {
  const endpoint = await deps.endpoints.get(change, change.projectId, endpointId);
  if (endpoint?.webhook_id !== 'event') return;
  const rows = await subscriptions.allOf(change, change.projectId, endpointId);
  const overlap = overlapOf(rows);
  if (overlap === undefined) return;
  const [one, other] = overlap;
  throw invalid(
    typeof field === 'string' ? field : field(other.id),
    `the subscriptions ${one.id} and ${other.id} may match the same event, which webhook_id \`event\` does not allow`,
  );
}
