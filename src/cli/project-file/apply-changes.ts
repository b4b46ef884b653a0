import type { CreateEventType, Posthorn, UpdateProjectBody } from '../../../client/src/posthorn.ts';
import { isObject } from '../../platform/json/is-object.ts';
import { StartupError } from '../../platform/startup-error.ts';
import type { Change } from './make-plan.ts';
import { type Fields, fieldsOf, isSame, type KeyedKind } from './project-document.ts';
import type { ProjectState } from './read-project.ts';

/** Where changes go, and the ids of what is there: new items join them. */
export interface Target {
  posthorn: Posthorn;
  projectId: string;
  ids: ProjectState['ids'];
  /** Endpoints whose secret the service made. */
  generated: string[];
  /** Each item is sent once, to be checked, and not made. */
  isDryRun?: true;
}

export async function applyChange(target: Target, change: Change): Promise<void> {
  const { posthorn, projectId, ids } = target;
  const { kind, key, action, wanted = {} } = change;
  if (kind === 'settings') {
    const { variables, ...config } = pick(wanted, change.fields);
    const fields = { config, ...(variables !== undefined && { variables }) };
    await posthorn.projects.update(projectId, fields as UpdateProjectBody);
    return;
  }
  const id = ids[kind].get(key) ?? '';
  if (action === 'delete' || action === 'deprecate') {
    if (target.isDryRun) return;
    await (kind === 'event_types' ? posthorn.eventTypes.deprecate(id) : posthorn[kind].delete(id));
    return;
  }
  const body = pick(wanted, action === 'create' ? Object.keys(wanted) : change.fields);
  if (kind === 'event_types') return saveEventType(target, { key, id, body });
  if (kind === 'sources') return saveSource(target, { key, id, body });
  if (kind === 'endpoints') return saveEndpoint(target, { key, id, body });
  return saveSubscription(target, { key, id, body, wanted });
}

interface Save {
  key: string;
  /** Empty: it is created. */
  id: string;
  /** The fields that change. */
  body: Fields;
}

async function saveItem(
  { posthorn, ids, isDryRun }: Target,
  kind: KeyedKind,
  { key, id, body }: Save,
): Promise<{ uid: string; status?: unknown }> {
  const fields = { ...body, key } as never;
  const saved = await (id === '' ? posthorn[kind].create(fields) : posthorn[kind].update(id, fields));
  if (!isDryRun) ids[kind].set(key, saved.uid);
  return saved;
}

async function saveEventType(target: Target, { key, id, body }: Save): Promise<void> {
  const { posthorn, ids, isDryRun } = target;
  const { deprecated, json_schema, key: _key, ...rest } = body;
  // An empty schema removes the stored one.
  const schema = json_schema === null ? {} : json_schema;
  const fields = { ...rest, ...(isObject(schema) && { json_schema: schema }) } as Omit<
    CreateEventType,
    'name'
  >;
  const known = (await posthorn.eventTypes.list()).find(({ name }) => name === key);
  const uid =
    id !== '' || known !== undefined
      ? (await posthorn.eventTypes.update(id || (known?.uid ?? ''), fields)).uid
      : (await posthorn.eventTypes.create({ name: key, ...fields })).uid;
  if (isDryRun) return;
  ids.event_types.set(key, uid);
  if (deprecated === true && known?.deprecated_at == null) await posthorn.eventTypes.deprecate(uid);
}

async function saveSource(target: Target, { key, id, body }: Save): Promise<void> {
  const { provider, pub_sub, db_change_stream, schedule, cloudevents = null, ...rest } = body;
  if (id !== '' && provider !== undefined)
    throw new StartupError(`the provider of source ${key} cannot be changed; give the source another key`);
  const fields = {
    ...rest,
    ...(id === '' && { provider }),
    ...(cloudevents !== null && { cloudevents }),
    ...(isObject(pub_sub) && { pub_sub }),
    ...(isObject(db_change_stream) && { db_change_stream }),
    ...(isObject(schedule) && { schedule }),
  };
  await saveItem(target, 'sources', { key, id, body: fields });
}

/** An empty object removes a part. Null removes an expiry. */
const cleared = (kind: KeyedKind, body: Fields): Fields =>
  Object.fromEntries(
    Object.entries(body).map(([name, value]) => {
      const isRemoved = value === null && fieldsOf[kind][name] === null && name !== 'expires_at';
      return [name, isRemoved ? {} : value];
    }),
  );

async function saveEndpoint(target: Target, { key, id, body }: Save): Promise<void> {
  const { posthorn, generated } = target;
  const { status, secret, ...rest } = body;
  const fields = {
    ...cleared('endpoints', rest),
    ...(typeof secret === 'string' && secret !== '' && { secret }),
  };
  const saved = await saveItem(target, 'endpoints', { key, id, body: fields });
  if (target.isDryRun) return;
  if (id === '' && !secret) generated.push(key);
  if (!status || status === saved.status || saved.status === 'pending') return;
  // Only an active endpoint can be paused.
  if (status === 'active' || saved.status === 'inactive') await posthorn.endpoints.activate(saved.uid);
  if (status === 'paused') await posthorn.endpoints.pause(saved.uid);
  if (status === 'inactive') await posthorn.endpoints.update(saved.uid, { is_disabled: true });
}

async function saveSubscription(
  target: Target,
  { key, id, body, wanted }: Save & { wanted: Fields },
): Promise<void> {
  const { posthorn, ids } = target;
  const { endpoint, source, status, event_types, filter, filters: _filters, retry_config, ...rest } = body;
  const isMatched = event_types !== undefined || filter !== undefined;
  const fields = {
    ...cleared('subscriptions', rest),
    ...(endpoint !== undefined && { endpoint_id: ids.endpoints.get(endpoint as string) }),
    ...(source !== undefined && { source_id: ids.sources.get(source as string) ?? '' }),
    ...(isMatched && { filter_config: { event_types: wanted['event_types'], filter: wanted['filter'] } }),
    ...(retry_config !== undefined && { retry_config: retryConfig(retry_config as Fields | null) }),
  };
  const saved = await saveItem(target, 'subscriptions', { key, id, body: fields });
  if (target.isDryRun) return;
  if (status !== undefined && status !== saved.status) await posthorn.subscriptions.toggleStatus(saved.uid);
  await saveFilters(posthorn, saved.uid, wanted);
}

/** The answer has the seconds as duration. A request takes them as interval_seconds. */
function retryConfig(given: Fields | null): Fields {
  if (given === null) return {};
  const { duration, ...rest } = given;
  return typeof duration === 'number' ? { ...rest, interval_seconds: duration } : given;
}

/** The filter of each event type: its own, or that of the subscription. */
async function saveFilters(posthorn: Posthorn, subscription: string, wanted: Fields): Promise<void> {
  const own = new Map((wanted['filters'] as Fields[]).map((filter) => [filter['event_type'], filter]));
  for (const stored of await posthorn.filters.list(subscription)) {
    const {
      enabled = true,
      event_type: _type,
      ...given
    } = own.get(stored.event_type) ?? (wanted['filter'] as Fields);
    const conditions = { body: {}, headers: {}, query: {}, path: {}, ...given };
    const { raw_body: body, raw_headers: headers, raw_query: query, raw_path: path } = stored;
    const isEnabled = stored.enabled_at !== null;
    if (isSame(conditions, { body, headers, query, path }) && isEnabled === enabled) continue;
    await posthorn.filters.update(subscription, stored.uid, {
      ...conditions,
      ...(isEnabled !== enabled && { enabled_at: enabled ? new Date().toISOString() : null }),
    });
  }
}

function pick(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, fields[name]]));
}
