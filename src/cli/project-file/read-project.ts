import type {
  Endpoint,
  EventType,
  Filter,
  Posthorn,
  Project,
  Source,
  Subscription,
} from '../../../client/src/posthorn.ts';
import { isObject } from '../../platform/json/is-object.ts';
import {
  type Document,
  type Fields,
  fieldsOf,
  type Item,
  isSame,
  type KeyedKind,
  type Kind,
  ofEachKind,
  secretPaths,
  valueAt,
  withoutValues,
  withValue,
} from './project-document.ts';

/** A project as it is: what a file would say, the ids, and the secrets, which only an update may need. */
export interface ProjectState {
  document: Document;
  /** By kind and key. */
  ids: Record<Kind, Map<string, string>>;
  /** With the secrets, by kind and key. */
  whole: Record<Kind, Map<string, Item>>;
  settings: Fields;
  /** The kinds and ids of items whose key was made here and is not stored. */
  newKeys: { kind: KeyedKind; id: string; key: string }[];
}

/** The answers that an export is made of. */
export interface Answers {
  project: Project;
  eventTypes: EventType[];
  sources: Source[];
  endpoints: Endpoint[];
  subscriptions: Subscription[];
  filters: Map<string, Filter[]>;
}

/** Every item of a list. */
export async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of list) items.push(item);
  return items;
}

export async function readAnswers(posthorn: Posthorn, projectId: string): Promise<Answers> {
  // First: it has the version of the config, which must not be newer than the rest.
  const project = await posthorn.projects.get(projectId);
  const subscriptions = (await all(posthorn.subscriptions.list())).filter(({ type }) => type !== 'cli');
  const filters = new Map<string, Filter[]>();
  for (const { uid } of subscriptions) filters.set(uid, (await posthorn.filters.list(uid)) ?? []);
  return {
    project,
    eventTypes: (await posthorn.eventTypes.list()) ?? [],
    sources: await all(posthorn.sources.list()),
    endpoints: await all(posthorn.endpoints.list()),
    subscriptions,
    filters,
  };
}

export function stateOf(answers: Answers): ProjectState {
  const newKeys: ProjectState['newKeys'] = [];
  const ids = ofEachKind(() => new Map<string, string>());
  const whole = ofEachKind(() => new Map<string, Item>());
  const keyById = new Map<string, string>();
  const add = (kind: Kind, { uid, ...rest }: { uid: string; key?: string; name: string }, fields: Fields) => {
    const key = kind === 'event_types' ? rest.name : rest.key || freeKey(rest.name, whole[kind]);
    if (kind !== 'event_types' && !rest.key) newKeys.push({ kind, id: uid, key });
    ids[kind].set(key, uid);
    keyById.set(uid, key);
    whole[kind].set(key, { ...fields, key });
  };
  // Items with a key first, so that a new key never takes one that is stored.
  const inOrder = <T extends { uid: string; key?: string }>(items: T[]) =>
    items.toSorted((a, b) => Number(!a.key) - Number(!b.key) || (a.uid < b.uid ? -1 : 1));
  for (const type of answers.eventTypes) add('event_types', type, eventTypeItem(type));
  for (const source of inOrder(answers.sources)) add('sources', source, sourceItem(source));
  for (const endpoint of inOrder(answers.endpoints)) add('endpoints', endpoint, endpointItem(endpoint));
  for (const one of inOrder(answers.subscriptions))
    add('subscriptions', one, subscriptionItem(one, keyById, answers.filters.get(one.uid) ?? []));
  const settings = settingsOf(answers.project);
  const document = {
    version: 1 as const,
    settings: withoutSecrets('settings', settings),
    ...ofEachKind((kind) =>
      [...whole[kind].values()].map((item) => withoutSecrets(kind, item) as Item).sort(byKey),
    ),
  };
  return { document, ids, whole, settings, newKeys };
}

const byKey = (a: Item, b: Item): number => (a.key < b.key ? -1 : 1);

export function withoutSecrets(kind: Kind | 'settings', item: Fields): Fields {
  const left = secretPaths[kind].reduce((rest, path) => withValue(rest, path, undefined), item);
  return kind === 'settings' ? withoutValues(left) : left;
}

/** A key from a name: `My shop` becomes my-shop, or my-shop-2 where that is taken. */
function freeKey(name: string, taken: ReadonlyMap<string, unknown>): string {
  const base =
    name
      .toLowerCase()
      .replaceAll(/[^a-z0-9._]+/g, '-')
      .replaceAll(/^[-._]+|-+$/g, '')
      .slice(0, 100) || 'item';
  let key = base;
  for (let count = 2; taken.has(key); count++) key = `${base}-${count}`;
  return key;
}

function eventTypeItem({ category, description, json_schema, deprecated_at }: EventType): Fields {
  const schema = isObject(json_schema) && Object.keys(json_schema).length > 0 ? json_schema : null;
  return {
    category: category ?? '',
    description: description ?? '',
    json_schema: schema,
    deprecated: deprecated_at !== null,
  };
}

function endpointItem(endpoint: Endpoint): Fields {
  const { secrets, signing_key, mtls_client_cert, authentication, status } = endpoint;
  const live = (secrets ?? []).filter(({ expires_at }) => expires_at === null);
  return {
    ...plainFields('endpoints', endpoint),
    authentication: authentication?.type ? chosen(authentication) : null,
    mtls_client_cert: mtls_client_cert ?? null,
    broker: endpoint.broker ? chosen(endpoint.broker) : null,
    signing_key: signing_key?.type ? { type: signing_key.type } : null,
    content_type: endpoint.content_type || 'application/json',
    secret: live.at(-1)?.value ?? '',
    // A pending endpoint becomes active by itself.
    status: status === 'active' || status === 'pending' ? '' : status,
  };
}

/** The fields of a resource, or their defaults: services may leave out what is empty. */
function plainFields(kind: Kind, resource: object): Fields {
  return Object.fromEntries(
    Object.entries(fieldsOf[kind]).map(([name, usual]) => [name, (resource as Fields)[name] ?? usual]),
  );
}

/** Keeps the type and its fields, of a choice such as {type: hmac, hmac: {...}, basic_auth: null}. */
function chosen(choice: { type?: string }): Fields {
  const type = choice.type ?? '';
  const inner = (choice as Fields)[type];
  return { type, ...(inner !== undefined && inner !== null && { [type]: inner }) };
}

function sourceItem(source: Source): Fields {
  const { pub_sub, verifier, custom_response } = source;
  return {
    ...plainFields('sources', source),
    custom_response: { body: custom_response?.body ?? '', content_type: custom_response?.content_type ?? '' },
    verifier: verifier?.type ? chosen(verifier) : { type: 'noop' },
    pub_sub: pub_sub?.type ? brokerItem(pub_sub) : null,
  };
}

/** The answer names the exchange of AMQP otherwise than the request. */
function brokerItem(pubSub: Source['pub_sub']): Fields {
  const item: Fields = { ...chosen(pubSub), workers: pubSub.workers };
  if (pubSub.amqp === null || pubSub.type !== 'amqp') return item;
  const { bindedExchange, routingKey, vhost, deadLetterExchange, auth, ...amqp } = pubSub.amqp;
  // A service may leave out an exchange that is not there.
  const bound = bindedExchange ? { bindExchange: { exchange: bindedExchange, routingKey } } : {};
  return {
    ...item,
    amqp: {
      ...amqp,
      ...bound,
      ...(vhost && { vhost }),
      ...(deadLetterExchange && { deadLetterExchange }),
      ...(auth && { auth }),
    },
  };
}

const SCOPES = ['body', 'headers', 'query', 'path'] as const;

function subscriptionItem(
  subscription: Subscription,
  keyById: ReadonlyMap<string, string>,
  filters: readonly Filter[],
): Fields {
  const { endpoint_metadata, source_metadata, filter_config, retry_config } = subscription;
  const filter = conditionsOf((scope) => filter_config?.filter?.[scope]);
  return {
    ...plainFields('subscriptions', subscription),
    endpoint: keyById.get(endpoint_metadata?.uid ?? '') ?? '',
    source: keyById.get(source_metadata?.uid ?? '') ?? '',
    // A service may give an empty mode.
    delivery_mode: subscription.delivery_mode || 'at_least_once',
    event_types: filter_config?.event_types ?? ['*'],
    filter,
    filters: filters
      .map((one) => filterItem(one, filter))
      .filter((one) => one !== undefined)
      .sort((a, b) => (String(a['event_type']) < String(b['event_type']) ? -1 : 1)),
    // The other fields describe the list.
    retry_config: retry_config?.schedule ? { schedule: retry_config.schedule } : (retry_config ?? null),
  };
}

/** A filter of one event type, if it says more than that of the subscription. */
function filterItem(one: Filter, usual: Fields): Fields | undefined {
  const own = conditionsOf((scope) => one[`raw_${scope}`] ?? one[scope]);
  const isEnabled = one.enabled_at !== null;
  if (isSame(own, usual) && isEnabled) return undefined;
  return { event_type: one.event_type, ...own, ...(!isEnabled && { enabled: false }) };
}

function conditionsOf(read: (scope: (typeof SCOPES)[number]) => Fields | undefined): Fields {
  const entries = SCOPES.map((scope) => [scope, read(scope) ?? {}] as const);
  return Object.fromEntries(entries.filter(([, conditions]) => Object.keys(conditions).length > 0));
}

/** The settings of the project. Versions of signatures have ids and times of their own service, which are left out. */
function settingsOf({ config, variables }: Pick<Project, 'config'> & Partial<Project>): Fields {
  const versions = valueAt(config as unknown as Fields, 'signature.versions');
  const plain = Array.isArray(versions)
    ? versions.map(({ hash, encoding }: { hash: string; encoding: string }) => ({ hash, encoding }))
    : undefined;
  return {
    ...withValue(config as unknown as Fields, 'signature.versions', plain),
    variables: variables ?? {},
  };
}
