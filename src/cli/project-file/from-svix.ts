import type { EventType } from '../../../client/src/posthorn.ts';
import { isObject } from '../../platform/json/is-object.ts';
import { StartupError } from '../../platform/startup-error.ts';
import {
  configOf,
  type ForeignEndpoint,
  getJson,
  ONE_OWNER,
  placeOf,
  requireList,
} from './foreign-endpoints.ts';
import {
  type ForeignConfig,
  type ForeignPlace,
  ForeignRefusal,
  type ForeignService,
} from './foreign-service.ts';
import { type Fields } from './project-document.ts';

/** A Svix, hosted or not. Each of its applications becomes an owner of endpoints. */
export const svix: ForeignService = { name: 'Svix', keyVariable: 'SVIX_API_KEY', read };

interface Application {
  id: string;
  uid?: string | null;
  name: string;
  throttleRate?: number | null;
  rateLimit?: number | null;
}

interface SvixEndpoint {
  id: string;
  uid?: string | null;
  url: string;
  description?: string;
  disabled?: boolean;
  filterTypes?: string[] | null;
  channels?: string[] | null;
  /** Its name before version 2 of the libraries is rateLimit. */
  throttleRate?: number | null;
  rateLimit?: number | null;
  metadata?: Fields;
}

interface SvixEventType {
  name: string;
  description?: string;
  deprecated?: boolean;
  groupName?: string | null;
  /** By version. */
  schemas?: Fields | null;
}

async function read(at: ForeignPlace): Promise<ForeignConfig> {
  const applications = await list<Application>(at, '/api/v1/app');
  const chosen = applications.filter(
    ({ id, uid }) => at.project === undefined || at.project === id || at.project === uid,
  );
  if (at.project !== undefined && chosen.length === 0)
    throw new StartupError(`there is no application ${at.project}; check --project`);
  const endpoints: ForeignEndpoint[] = [];
  for (const application of chosen) {
    const path = `/api/v1/app/${encodeURIComponent(application.id)}/endpoint`;
    for (const one of await list<SvixEndpoint>(at, path))
      endpoints.push(await endpointOf(at, `${path}/${encodeURIComponent(one.id)}`, { application, one }));
  }
  const types = await list<SvixEventType>(at, '/api/v1/event-type?with_content=true');
  const { answers, lost } = configOf(endpoints, types.map(eventTypeOf));
  return {
    answers,
    lost: [
      ...chosen
        .filter(({ throttleRate, rateLimit }) => throttleRate ?? rateLimit)
        .map(({ name }) => `The rate limit of the application ${name}: endpoints have theirs.`),
      ...lost,
      ONE_OWNER,
      'The headers svix-id, svix-timestamp and svix-signature: deliveries have webhook-id, webhook-timestamp and webhook-signature, with the same signature.',
      'Messages, attempts, ingest sources, connectors, operational webhooks and portal access stay in Svix.',
    ],
  };
}

/** Every item of a list. */
async function list<T>(at: ForeignPlace, path: string): Promise<T[]> {
  const items: T[] = [];
  for (let iterator: string | null = null; ; ) {
    const query: string = `limit=250${iterator === null ? '' : `&iterator=${encodeURIComponent(iterator)}`}`;
    const page: { data: T[]; iterator: string | null; done: boolean } = await getJson(
      at,
      path + (path.includes('?') ? '&' : '?') + query,
    );
    requireList(at, page.data, path);
    items.push(...page.data);
    if (page.done || page.iterator === null) return items;
    ({ iterator } = page);
  }
}

async function endpointOf(
  at: ForeignPlace,
  path: string,
  { application, one }: { application: Application; one: SvixEndpoint },
): Promise<ForeignEndpoint> {
  const { key } = await getJson<{ key: string }>(at, `${path}/secret`);
  const { headers, sensitive } = await getJson<{ headers: Record<string, string>; sensitive: string[] }>(
    at,
    `${path}/headers`,
  );
  const isSymmetric = key.startsWith('whsec_');
  const channels = one.channels ?? [];
  return {
    id: one.id,
    name: `${application.name} ${one.uid || one.description || placeOf(one.url)}`.slice(0, 200),
    url: one.url,
    owner: application.uid || application.id,
    secret: isSymmetric ? key : '',
    isActive: one.disabled !== true,
    perSecond: one.throttleRate ?? one.rateLimit ?? 0,
    headers,
    metadata: one.metadata ?? {},
    eventTypes: one.filterTypes?.length ? one.filterTypes : ['*'],
    body: {},
    differs: [
      ...(channels.length === 0 ? [] : [`it took only the channels ${channels.join(', ')}.`]),
      ...((await hasTransformation(at, path)) ? ['its transformation stays in Svix.'] : []),
      ...(isSymmetric ? [] : ['its key of asymmetric signatures stays in Svix.']),
    ],
    lost: sensitive.map((name) => `its header ${name}, whose value Svix does not show`),
  };
}

/** A server that people run themselves has no transformations. */
async function hasTransformation(at: ForeignPlace, path: string): Promise<boolean> {
  try {
    const { code, enabled } = await getJson<{ code?: string | null; enabled?: boolean }>(
      at,
      `${path}/transformation`,
    );
    return enabled === true && Boolean(code);
  } catch (error) {
    if (error instanceof ForeignRefusal && error.status === 404) return false;
    throw error;
  }
}

function eventTypeOf({ name, description = '', deprecated, groupName, schemas }: SvixEventType) {
  const versions = Object.keys(schemas ?? {}).sort((a, b) => Number(a) - Number(b));
  const schema = schemas?.[versions.at(-1) ?? ''];
  return {
    name,
    description,
    category: groupName ?? '',
    ...(isObject(schema) && { json_schema: schema as EventType['json_schema'] }),
    ...(deprecated === true && { deprecated_at: new Date(0).toISOString() }),
  };
}
