import { isObject } from '../../platform/json/is-object.ts';
import {
  configOf,
  type ForeignEndpoint,
  getJson,
  ONE_OWNER,
  placeOf,
  requireList,
} from './foreign-endpoints.ts';
import type { ForeignConfig, ForeignPlace, ForeignService } from './foreign-service.ts';
import { type Fields } from './project-document.ts';

/** An Outpost. `--url` ends where its API begins. Each of its tenants becomes an owner of endpoints. */
export const outpost: ForeignService = { name: 'Outpost', keyVariable: 'OUTPOST_API_KEY', read };

interface Destination {
  id: string;
  type: string;
  topics: '*' | string[];
  filter?: Fields | null;
  disabled_at?: string | null;
  config: { url?: string; custom_headers?: string };
  credentials: { secret?: string; previous_secret?: string };
  delivery_metadata?: Fields | null;
  metadata?: Fields | null;
}

async function read(at: ForeignPlace): Promise<ForeignConfig> {
  const tenants = at.project === undefined ? await listTenants(at) : [at.project];
  const endpoints: ForeignEndpoint[] = [];
  const others: string[] = [];
  for (const tenant of tenants) {
    const path = `/tenants/${encodeURIComponent(tenant)}/destinations`;
    for (const one of await getList<Destination>(at, path)) {
      if (one.type === 'webhook') endpoints.push(endpointOf(tenant, one));
      else
        others.push(`The destination ${one.id} of the tenant ${tenant}, which is of the type ${one.type}.`);
    }
  }
  const topics = await getList<string>(at, '/topics');
  const { answers, lost } = configOf(
    endpoints,
    topics.map((name) => ({ name })),
  );
  return {
    answers,
    lost: [
      ...others,
      ...lost,
      ONE_OWNER,
      'The signature header of Outpost: deliveries have X-Convoy-Signature and webhook-signature.',
      'Events, attempts, metadata of tenants and portal access stay in Outpost.',
    ],
  };
}

async function getList<T>(at: ForeignPlace, path: string): Promise<T[]> {
  const items = await getJson<T[]>(at, path);
  requireList(at, items, path);
  return items;
}

async function listTenants(at: ForeignPlace): Promise<string[]> {
  const ids: string[] = [];
  for (let next: string | null = null; ; ) {
    const query: string = `limit=100${next === null ? '' : `&next=${encodeURIComponent(next)}`}`;
    const page: { models: { id: string }[]; pagination: { next?: string | null } } = await getJson(
      at,
      `/tenants?${query}`,
    );
    requireList(at, page.models, '/tenants');
    ids.push(...page.models.map(({ id }) => id));
    next = page.pagination.next ?? null;
    if (next === null) return ids;
  }
}

function endpointOf(tenant: string, one: Destination): ForeignEndpoint {
  const { url = '', custom_headers } = one.config;
  const { secret = '', previous_secret } = one.credentials;
  const filter = one.filter ?? {};
  const headers = headersOf(custom_headers);
  const isKnown = Object.keys(filter).every((scope) => scope === 'data') && hasOurOperators(filter);
  return {
    id: one.id,
    name: `${tenant} ${placeOf(url)}`.slice(0, 200),
    url,
    owner: tenant,
    secret: secret.includes('*') ? '' : secret,
    isActive: one.disabled_at == null,
    perSecond: 0,
    headers: headers ?? {},
    metadata: one.metadata ?? {},
    eventTypes: one.topics === '*' || one.topics.includes('*') ? ['*'] : one.topics,
    body: isKnown ? ((filter['data'] ?? {}) as Fields) : {},
    differs: [
      ...(isKnown ? [] : [`write its filter ${JSON.stringify(filter)} as a filter or a function.`]),
      ...(headers === undefined ? ['its custom headers are not JSON.'] : []),
      ...(secret === '' || secret.includes('*') ? ['its secret is not shown.'] : []),
    ],
    lost: [
      ...(previous_secret ? ['its previous secret'] : []),
      ...(Object.keys(one.delivery_metadata ?? {}).length === 0 ? [] : ['its delivery metadata']),
    ],
  };
}

/** The service keeps them as the text of an object. Undefined: the text is none. */
function headersOf(text = ''): Record<string, string> | undefined {
  try {
    const value: unknown = JSON.parse(text || '{}');
    return isObject(value) ? (value as Record<string, string>) : undefined;
  } catch {
    return undefined;
  }
}

const OPERATORS = new Set([
  '$eq',
  '$neq',
  '$gt',
  '$gte',
  '$lt',
  '$lte',
  '$in',
  '$nin',
  '$exist',
  '$or',
  '$and',
]);

/** Whether every operator in a filter is one of ours, with the same meaning. */
function hasOurOperators(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(hasOurOperators);
  if (!isObject(value)) return true;
  return Object.entries(value).every(
    ([name, inner]) => (!name.startsWith('$') || OPERATORS.has(name)) && hasOurOperators(inner),
  );
}
