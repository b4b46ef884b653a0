import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/*
 * Answers of the public APIs of Svix and Outpost, in the shapes of their OpenAPI documents, served from a socket. Pages
 * are short, so that every list has several.
 */
export const RECORDED_KEY = 'a key of theirs';

export interface RecordedService {
  url: string;
  requests: string[];
  stop(): Promise<void>;
}

const REFUSED = 429;

export async function startRecorded(
  answer: (path: string, query: URLSearchParams) => unknown,
): Promise<RecordedService> {
  const requests: string[] = [];
  const server = createServer(({ method = '', url = '', headers }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://recorded');
    requests.push(`${method} ${pathname}`);
    const found = headers.authorization === `Bearer ${RECORDED_KEY}` ? answer(pathname, searchParams) : 401;
    const status = typeof found === 'number' ? found : found === undefined ? 404 : 200;
    const retry = status === REFUSED ? { 'retry-after': '0.01' } : {};
    response.writeHead(status, { 'content-type': 'application/json', ...retry });
    response.end(JSON.stringify(status === 200 ? found : { code: 'refused', detail: 'refused' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const times = { createdAt: '2024-01-31T12:00:00Z', updatedAt: '2024-01-31T12:00:00Z' };
const svixEndpoint = {
  description: '',
  disabled: false,
  filterTypes: null,
  channels: null,
  metadata: {},
  uid: null,
  throttleRate: null,
  ...times,
};
const svixLists: Record<string, object[]> = {
  '/api/v1/app': [
    { id: 'app_1', uid: 'acme', name: 'Acme', throttleRate: null, metadata: {}, ...times },
    { id: 'app_2', uid: null, name: 'Bolt', throttleRate: 50, metadata: {}, ...times },
  ],
  '/api/v1/app/app_1/endpoint': [
    {
      ...svixEndpoint,
      id: 'ep_1',
      url: 'http://127.0.0.1:9/acme',
      description: 'billing',
      filterTypes: ['invoice.paid'],
      throttleRate: 7,
      metadata: { team: 'a' },
    },
    { ...svixEndpoint, id: 'ep_2', url: 'http://127.0.0.1:9/some', channels: ['project_1'] },
    { ...svixEndpoint, id: 'ep_3', url: 'http://127.0.0.1:9/off', uid: 'off', disabled: true },
  ],
  '/api/v1/app/app_2/endpoint': [{ ...svixEndpoint, id: 'ep_4', url: 'http://127.0.0.1:9/bolt' }],
  '/api/v1/event-type': [
    {
      name: 'invoice.paid',
      description: 'Paid',
      deprecated: false,
      groupName: 'billing',
      schemas: { 1: { type: 'object' }, 2: { type: 'object', required: ['id'] } },
      ...times,
    },
    { name: 'invoice.old', description: '', deprecated: true, schemas: null, ...times },
  ],
};
const svixItems: Record<string, unknown> = {
  'ep_1/secret': { key: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD' },
  'ep_1/headers': {
    headers: {
      'x-team': 'a',
      authorization: 'Bearer b',
      'user-agent': 'Acme/1',
      'content-type': 'application/json',
    },
    sensitive: ['x-hidden'],
  },
  'ep_1/transformation': { code: null, enabled: false, updatedAt: null },
  'ep_4/secret': {
    key: 'whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==',
  },
  'ep_4/transformation': { code: 'function handler(webhook) { return webhook }', enabled: true },
};

/** The first request of all is refused as one too many. */
export function startRecordedSvix(): Promise<RecordedService> {
  let calls = 0;
  return startRecorded((path, query) => {
    calls += 1;
    if (calls === 1) return REFUSED;
    const items = svixLists[path];
    if (items !== undefined) {
      const from = Number(query.get('iterator') ?? 0);
      const done = from + 1 >= items.length;
      return { data: items.slice(from, from + 1), iterator: String(from + 1), prevIterator: null, done };
    }
    const [, name = ''] = /([^/]+\/(?:secret|headers|transformation))$/.exec(path) ?? [];
    if (name.endsWith('/headers')) return svixItems[name] ?? { headers: {}, sensitive: [] };
    if (name.endsWith('/secret')) return svixItems[name] ?? { key: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' };
    return svixItems[name];
  });
}

const destination = {
  type: 'webhook',
  topics: '*',
  filter: null,
  disabled_at: null,
  created_at: '2024-01-31T12:00:00Z',
  updated_at: '2024-01-31T12:00:00Z',
  credentials: { secret: 'a secret of outpost' },
  delivery_metadata: null,
  metadata: null,
};
const destinations: Record<string, object[]> = {
  acme: [
    {
      ...destination,
      id: 'des_1',
      topics: ['user.created', 'user.updated'],
      filter: { data: { amount: { $gte: 100 } } },
      config: { url: 'http://127.0.0.1:9/acme', custom_headers: '{"x-api-key":"of acme","x-tenant":"acme"}' },
      credentials: { secret: 'a secret of outpost', previous_secret: 'an old one' },
    },
    { ...destination, id: 'des_2', type: 'aws_sqs', config: { queue_url: 'https://sqs' }, credentials: {} },
    {
      ...destination,
      id: 'des_3',
      filter: { data: { name: { $startsWith: 'a' } } },
      config: { url: 'http://127.0.0.1:9/filtered' },
    },
  ],
  bolt: [
    {
      ...destination,
      id: 'des_4',
      topics: ['*'],
      disabled_at: '2024-01-31T12:00:00Z',
      config: { url: 'http://127.0.0.1:9/bolt', custom_headers: '{' },
      credentials: { secret: 'some***********' },
      metadata: { team: { of: 'b' } },
    },
  ],
};

/** Its API is under /api/v1. */
export function startRecordedOutpost(): Promise<RecordedService> {
  return startRecorded((path, query) => {
    if (path === '/api/v1/topics') return ['user.created', 'user.updated'];
    const tenants = Object.keys(destinations).map((id) => ({ id, created_at: '2024-01-31T12:00:00Z' }));
    if (path === '/api/v1/tenants') {
      const from = Number(query.get('next') ?? 0);
      const next = from + 1 < tenants.length ? String(from + 1) : null;
      return { models: tenants.slice(from, from + 1), pagination: { limit: 1, next, prev: null }, count: 2 };
    }
    const [, tenant = ''] = /^\/api\/v1\/tenants\/([^/]+)\/destinations$/.exec(path) ?? [];
    return destinations[tenant];
  });
}
