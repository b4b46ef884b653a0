import { type Alert, type LastFailure, OUTAGE } from '../domain/alert.ts';
import { type AuditAction, type AuditNote, changeOf } from '../domain/audit.ts';
import { type EndpointStatus, isExpired, isPending, statusAt } from '../domain/config/endpoint.ts';
import { type EndpointScope, owned } from '../domain/endpoint-scope.ts';
import { AppError, found, invalid, within, wrongState } from '../domain/errors.ts';
import { asId, type EndpointId, type ProjectId } from '../domain/ids.ts';
import { Secret } from '../platform/secret.ts';
import type { Changed } from '../store/audit/audit-entries.ts';
import {
  deleteEndpoint as deleteRow,
  disableEndpoints as disableRows,
  type EndpointEvent,
  recordExpiry,
  saveEndpoint,
} from '../store/changes/endpoint-writes.ts';
import { deleteSubscriptions } from '../store/changes/subscription-writes.ts';
import type { EndpointRow } from '../store/config/endpoints.ts';
import { subscriptions } from '../store/config/subscriptions.ts';
import type { Author, ConfigChange, ConfigChanges } from './config-changes.ts';
import { type NewEndpoint, rolledSecrets } from './new-endpoint.ts';
import { needNodesThatSendSo } from './older-nodes.ts';
import {
  addSubscription,
  keepVariables,
  type NewSubscription,
  OVERLAP_FIELD,
  refuseOverlap,
} from './subscription-changes.ts';

/** The endpoint that is to change, within what the caller may see. */
export interface OneEndpoint extends Author {
  id: EndpointId;
  scope: EndpointScope | undefined;
}

/** A change of an endpoint. Meta events and the audit log use the same name. */
type EndpointAction = EndpointEvent['type'] & AuditAction;

const EXPIRED = 'its expires_at has come';
const ACTIVATED = 'It was activated again. Deliveries are sent.';
const DISABLED = { type: 'endpoint.disabled', reason: 'it was updated with is_disabled' } as const;

/** Creates an endpoint and its subscriptions. If one is refused, nothing is created. */
export function createEndpoint(
  changes: ConfigChanges,
  by: Author,
  wanted: {
    made: NewEndpoint;
    subscriptions: readonly NewSubscription[];
    scope: EndpointScope | undefined;
  },
): Promise<EndpointRow> {
  return changes.change(by, async (change) => {
    const { result, audit } = await addEndpoint(changes, change, wanted.made);
    const notes = [...audit];
    for (const [index, one] of wanted.subscriptions.entries())
      await within(`subscriptions.${index}`, async () => {
        notes.push(await addSubscription(changes, change, { ...one, scope: wanted.scope }));
      });
    const place = (id: string) => wanted.subscriptions.findIndex((one) => one.id === id);
    const field = (newer: string) => `subscriptions.${place(newer)}.${OVERLAP_FIELD}`;
    await refuseOverlap(changes, change, { endpointId: result.id, field });
    return { result, audit: notes };
  });
}

/** Creates an endpoint as part of a change. */
export async function addEndpoint(
  { deps }: ConfigChanges,
  change: ConfigChange,
  made: NewEndpoint,
): Promise<Changed<EndpointRow>> {
  await needNodesThatSendSo(change, made, null);
  const saved = await saveEndpoint(change, deps.endpoints, made, [{ type: 'endpoint.created' }]);
  return { result: saved, audit: [changeOf('endpoint.created', null, saved)] };
}

export function togglePause(changes: ConfigChanges, one: OneEndpoint): Promise<EndpointRow> {
  return setStatus(changes, one, (row) => {
    const { status } = row;
    if (isPending(row)) throw wrongState('A pending endpoint cannot be paused; verify it first.');
    if (status === 'inactive') throw wrongState('An inactive endpoint cannot be paused; activate it first.');
    return status === 'active' ? 'paused' : 'active';
  });
}

export function activateEndpoint(changes: ConfigChanges, one: OneEndpoint): Promise<EndpointRow> {
  return setStatus(changes, one, (row) => {
    if (isExpired(row, changes.deps.now()))
      throw wrongState('The endpoint has expired; give it a later expires_at.');
    if (row.status === 'active')
      throw wrongState(
        isPending(row)
          ? 'This endpoint is pending; verify it, and it is active when it has answered the challenge.'
          : 'This endpoint is already active.',
      );
    return 'active';
  });
}

function setStatus(
  changes: ConfigChanges,
  one: OneEndpoint,
  next: (row: EndpointRow) => EndpointStatus,
): Promise<EndpointRow> {
  const action = ({ status }: EndpointRow) =>
    status === 'paused' ? ('endpoint.paused' as const) : ('endpoint.activated' as const);
  return updateEndpoint(changes, one, (row) => ({ ...row, status: next(row) }), action);
}

/** The URL has answered the challenge. If the endpoint has another one since, it stays pending. */
export function verifyEndpoint(changes: ConfigChanges, one: OneEndpoint, url: string): Promise<EndpointRow> {
  const verified = (row: EndpointRow) => {
    if (row.url !== url) throw wrongState('The URL of the endpoint has changed meanwhile; verify it again.');
    return { ...row, verified_url: url };
  };
  return updateEndpoint(changes, one, verified, 'endpoint.activated');
}

/** Makes a new signing secret. `seconds`: how long the old one signs along. `value`: empty or absent: one is made. */
export function rollSecret(
  changes: ConfigChanges,
  one: OneEndpoint,
  wanted: { seconds: number; value: string | undefined },
): Promise<EndpointRow> {
  const rolled = (row: EndpointRow) => {
    const known = row.secret.reveal();
    const secrets = rolledSecrets(changes.deps, known.secrets, wanted);
    return { ...row, secret: new Secret({ ...known, secrets }) };
  };
  return updateEndpoint(changes, one, rolled, 'endpoint.secret_rolled');
}

/** `make` gives the endpoint as it is to be. */
export function updateEndpoint(
  changes: ConfigChanges,
  one: OneEndpoint,
  make: (row: EndpointRow) => EndpointRow,
  action: EndpointAction | ((row: EndpointRow) => EndpointAction) = 'endpoint.updated',
): Promise<EndpointRow> {
  return changes.change(one, async (change) => {
    const known = await endpointForUpdate(changes, change, one);
    const row = make(known);
    await keepAddress(changes, change, { scope: one.scope, known, row });
    const type = typeof action === 'string' ? action : action(row);
    const isDisabled = known.status !== 'inactive' && row.status === 'inactive';
    const metaEvents = [{ type }, ...(isDisabled ? [DISABLED] : [])] as const;
    await needNodesThatSendSo(change, row, known);
    const saved = await saveEndpoint(change, changes.deps.endpoints, row, metaEvents);
    if (saved.webhook_id !== known.webhook_id)
      await refuseOverlap(changes, change, { endpointId: saved.id, field: 'webhook_id' });
    const isInactive = (one: EndpointRow) => statusAt(one, changes.deps.now()) === 'inactive';
    const isEnabled = isInactive(known) && !isInactive(saved);
    await changes.moveAlerts(
      change,
      isEnabled ? [cleared('disabled', saved, ACTIVATED), cleared(OUTAGE, saved, ACTIVATED)] : [],
    );
    return { result: saved, audit: [changeOf(type, known, saved)] };
  });
}

/** Refuses a link another address, or to pull, where a function sends variables to the endpoint. */
async function keepAddress(
  changes: ConfigChanges,
  change: ConfigChange,
  { scope, known, row }: Pick<OneEndpoint, 'scope'> & { known: EndpointRow; row: EndpointRow },
): Promise<void> {
  const what = row.url !== known.url ? 'another url for' : 'another delivery for';
  const isKept =
    row.url === known.url && row.delivery === known.delivery && brokerOf(row) === brokerOf(known);
  if (scope === undefined || isKept) return;
  const senders = await subscriptions.allOf(change, change.projectId, known.id);
  await keepVariables(changes, change, { senders, what });
}

const brokerOf = ({ secret }: EndpointRow): string => JSON.stringify(secret.reveal().broker ?? null);

async function endpointForUpdate(
  { deps }: ConfigChanges,
  change: ConfigChange,
  { id, scope }: OneEndpoint,
): Promise<EndpointRow> {
  const row = await deps.endpoints.getForUpdate(change, change.projectId, id);
  return found(owned(scope, row), 'endpoint', id);
}

/** Deletes an endpoint and its subscriptions. */
export function deleteEndpoint(changes: ConfigChanges, one: OneEndpoint): Promise<null> {
  return changes.change(one, async (change) => {
    const row = await endpointForUpdate(changes, change, one);
    await deleteRow(change, changes.deps.endpoints, one.id);
    const deleted = await deleteSubscriptions(change, { column: 'endpoint_id', value: one.id });
    const ended = deleted.map((subscription) => changeOf('subscription.deleted', subscription, null));
    return { result: null, audit: [changeOf('endpoint.deleted', row, null), ...ended] };
  });
}

/** Gives endpoints without an owner to one, as part of a change. An endpoint of another owner is refused. */
export async function giveEndpoints(
  changes: ConfigChanges,
  change: ConfigChange,
  { ownerId, ids }: { ownerId: string; ids: readonly string[] },
): Promise<AuditNote[]> {
  const { endpoints } = changes.deps;
  const audit: AuditNote[] = [];
  for (const id of [...new Set(ids)].sort()) {
    const row = await endpoints.getForUpdate(change, change.projectId, asId(id));
    if (row === undefined)
      throw new AppError('not_in_project', { field: 'endpoints', resource: 'endpoint', id });
    if (row.owner_id === ownerId) continue;
    if (row.owner_id !== '')
      throw invalid('endpoints', `endpoint ${id} already belongs to owner ${row.owner_id}`);
    const given = { ...row, owner_id: ownerId };
    const saved = await saveEndpoint(change, endpoints, given, [{ type: 'endpoint.updated' }]);
    audit.push(changeOf('endpoint.updated', row, saved));
  }
  return audit;
}

/** Why the service makes an endpoint inactive, and how its last attempt ended. */
export interface DisableCause {
  reason: string;
  last: LastFailure;
  /** The version of the endpoint it is about. One that changed since stays as it is. Undefined: any version. */
  seen: number | undefined;
}

/** Makes endpoints inactive as part of a change, and raises their alerts. Returns the reasons of those that were not. */
export async function disableEndpoints(
  changes: ConfigChanges,
  change: ConfigChange,
  causes: ReadonlyMap<string, DisableCause>,
): Promise<Changed<Map<string, string>>> {
  const disabled = await disableRows(change, changes.deps.endpoints, causes);
  const done = disabled.map(({ before, after }) => {
    const { reason, last } = causes.get(after.id) as DisableCause;
    return { before, after, reason, last };
  });
  await changes.moveAlerts(change, done.map(disabledAlert));
  return {
    result: new Map(done.map(({ after, reason }) => [after.id, reason])),
    audit: done.map(({ before, after, reason }) => {
      const withReason = { ...after, reason };
      return changeOf('endpoint.disabled', before, withReason);
    }),
  };
}

/** Raises the alerts of endpoints that have expired, with their meta events, once over all nodes. */
export function tellExpired(
  changes: ConfigChanges,
  projectId: ProjectId,
  ids: readonly string[],
): Promise<void> {
  return changes.changeState(projectId, async (change) => {
    const { endpoints, now } = changes.deps;
    const rows = await endpoints.select(
      change,
      `project_id = $1 and id = any($2) and deleted_at is null and status <> 'inactive' order by id for update`,
      [projectId, ids],
    );
    // It may have got a later time meanwhile.
    const expired = rows.filter((row) => isExpired(row, now()));
    const alerts = expired.map((after) => disabledAlert({ after, reason: EXPIRED, last: null }));
    const moved = new Set((await changes.moveAlerts(change, alerts)).map(({ endpoint }) => endpoint.id));
    for (const row of expired) if (moved.has(row.id)) recordExpiry(change, row, EXPIRED);
  });
}

function disabledAlert(done: { after: EndpointRow; reason: string; last: LastFailure | null }): Alert {
  const summary = `It was made inactive: ${done.reason}.`;
  const about = { endpoint: done.after, subscription: null };
  return { kind: 'disabled', state: 'raised', summary, lastFailure: done.last, ...about };
}

/** The cleared alert of an endpoint that the service had disabled, or at which no attempt succeeded. */
export function cleared(kind: 'disabled' | typeof OUTAGE, endpoint: EndpointRow, summary: string): Alert {
  return { kind, state: 'cleared', endpoint, subscription: null, summary, lastFailure: null };
}
