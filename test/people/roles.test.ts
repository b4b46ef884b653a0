import { beforeAll, describe, expect, test } from 'vitest';
import type { Role } from '../../src/domain/role.ts';
import { httpSource, startTestApp, subscribe } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { containing, eventually } from '../support/eventually.ts';
import { type Operation, operations, pathWith } from '../support/operations/documented.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { member } from '../support/session-client.ts';
import { shared } from '../support/shared.ts';

/** Every operation of the document, called with every role, by a person and by a key. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());

const ranks: readonly Role[] = ['viewer', 'developer', 'admin'];
type Who = Role | 'instance';
const callers = (['viewer', 'developer', 'admin', 'instance'] as const).flatMap((role) =>
  (['person', 'key'] as const).map((kind) => ({ name: `${role} ${kind}`, role, kind })),
);
type CallerOf = (typeof callers)[number];

function isAllowed({ access }: Operation, { role, kind }: { role: Who; kind: 'person' | 'key' }): boolean {
  if (access === 'public' || access === 'any') return true;
  if (access === 'session') return kind === 'person';
  if (role === 'instance') return true;
  return access !== 'instance' && ranks.indexOf(role) >= ranks.indexOf(access);
}

const clients = new Map<string, ApiClient>();

async function makeCaller({ name, role, kind }: CallerOf, project: ApiClient): Promise<void> {
  if (kind === 'person') clients.set(name, (await member(app, role, project)).client);
  else if (role === 'instance') clients.set(name, app.instance);
  else {
    const { key } = await project.post('/keys', { name, role });
    clients.set(name, new ApiClient(project.base, key));
  }
}

/** The client of a caller, at the root of the service. */
function clientOf(name: string): ApiClient {
  const client = clients.get(name) as ApiClient & { at?(base: string): ApiClient };
  return client.at?.(app.url) ?? new ApiClient(app.url, client.key);
}

beforeAll(async () => {
  for (const caller of callers) await makeCaller(caller, app.project);
});

const pathOf = (operation: Operation, projectID = app.projectId) => pathWith(operation, { projectID });

test('every operation declares what it needs', () => {
  expect(operations.filter(({ access }) => access === undefined)).toEqual([]);
  const declared = (access: Operation['access']) =>
    operations
      .filter((one) => one.access === access && !one.path.startsWith('/portal-api'))
      .map(({ id }) => id);
  expect(declared('instance').sort()).toEqual([
    'createProject',
    'createSignInLink',
    'inviteToInstance',
    'listAccounts',
    'listInstanceAudit',
    'listNodes',
    'listSettings',
    'updateAccount',
  ]);
  expect(declared('any')).toEqual(['listProjects']);
  expect(declared('public').sort()).toEqual([
    'checkLink',
    'listProviders',
    'requestReset',
    'signIn',
    'signOut',
    'useLink',
  ]);
  // All may read, and not all may change.
  const reading = ['testFilter', 'tryFilters'];
  const viewers = operations.filter(({ access }) => access === 'viewer');
  expect(
    viewers.filter(({ method, id }) => method !== 'GET' && !reading.includes(id.replace('InPortal', ''))),
  ).toEqual([]);
});

// Deleting a project and ending sessions would take the scene away.
const destructive = new Set(['deleteProject', 'endOtherSessions', 'signOut', 'requestReset']);
// A stream does not end by itself; it has a test of its own.
const calm = operations.filter(
  ({ id, path }) => !destructive.has(id) && !id.startsWith('stream') && !path.startsWith('/portal-api'),
);

describe.each(callers)('a $name', (caller) => {
  test('may use what the document says, and nothing else', async () => {
    expect(calm.length).toBeGreaterThan(80);
    const wrong: string[] = [];
    for (const operation of calm) {
      const client = clientOf(caller.name);
      const response = await client.raw(operation.method, pathOf(operation), {
        ...(operation.method !== 'GET' && { body: {} }),
      });
      const { code = '' } = (await response.json()) as Json;
      const isRefused = response.status === 403 && /^(role|instance_key|session)_required$/.test(code);
      const isOdd = response.status === 401 && operation.access !== 'public';
      if (isOdd || isRefused === isAllowed(operation, caller))
        wrong.push(`${operation.name} (${operation.access}): ${response.status} ${code}`);
    }
    expect(wrong).toEqual([]);
  });

  test('may use no operation of a project without a role there', async () => {
    const other = await app.newProject();
    const inside = calm.filter(({ path }) => path.includes('{projectID}'));
    const isEverywhere = caller.role === 'instance';
    for (const operation of inside) {
      if (isEverywhere && operation.access !== 'viewer') continue;
      const response = await clientOf(caller.name).raw(operation.method, pathOf(operation, other.projectId), {
        ...(operation.method !== 'GET' && { body: {} }),
      });
      const { code = '' } = (await response.json()) as Json;
      const isRefused = response.status === 403 && code === 'project_forbidden';
      expect([operation.name, isRefused]).toEqual([operation.name, !isEverywhere]);
    }
  });

  test('deletes a project only as its administrator', async () => {
    const project = await app.newProject();
    const mayDelete = caller.role === 'admin' || caller.role === 'instance';
    const before = clients.get(caller.name) as ApiClient;
    await makeCaller(caller, project);
    const response = await clientOf(caller.name).raw('DELETE', `/api/v1/projects/${project.projectId}`);
    expect(response.status).toBe(mayDelete ? 200 : 403);
    clients.set(caller.name, before);
  });
});

test('a key of a role has it on the paths of the portal as well', async () => {
  const inPortal = operations.filter(
    ({ path, id }) => path.startsWith('/portal-api') && id !== 'getOwnPortalLink' && !id.startsWith('stream'),
  );
  const wrong: string[] = [];
  for (const caller of callers.filter(({ role, kind }) => kind === 'key' && role !== 'instance'))
    for (const operation of inPortal) {
      const response = await clientOf(caller.name).raw(operation.method, pathOf(operation), {
        ...(operation.method !== 'GET' && { body: {} }),
      });
      if ((response.status === 403) === isAllowed(operation, caller))
        wrong.push(`${caller.name}: ${operation.name}`);
    }
  expect(wrong).toEqual([]);
});

test('a stream is open to every role of its project, and to no other caller', async () => {
  for (const role of ['viewer', 'instance'] as const) {
    const { client } = await member(app, role);
    const ending = new AbortController();
    const response = await fetch(`${client.base}/stream`, {
      headers: client.headers(),
      signal: ending.signal,
    });
    expect([role, response.status]).toEqual([role, 200]);
    ending.abort();
  }
  const stranger = await member(app, 'admin', await app.newProject());
  expect((await stranger.client.at(app.project.base).raw('GET', '/stream')).status).toBe(403);
});

test('a person reaches several projects, each with a role of its own', async () => {
  const { client, uid, auth, email } = await member(app, 'viewer');
  const other = await app.newProject();
  await app.instance.post(`/projects/${other.projectId}/people`, { email, role: 'developer' });
  expect((await auth.get('/me')).projects.map(({ uid: id, role }: Json) => [id, role])).toEqual([
    [other.projectId, 'developer'],
    [app.projectId, 'viewer'],
  ]);
  const body = { name: `type.of.${uid.toLowerCase()}` };
  await client.post('/event-types', body, 403);
  await client.at(other.base).post('/event-types', body);
  const projects = await client.at(`${app.url}/api/v1`).get('/projects');
  expect(projects.map(({ uid: id }: Json) => id)).toEqual([other.projectId, app.projectId]);
});

test('a key shows its role, and is refused an unknown one', async () => {
  const { role } = await app.project.post('/keys', { name: 'reader', role: 'viewer' });
  expect(role).toEqual({ type: 'project_viewer', project: app.projectId });
  const usual = await app.project.post('/keys', { name: 'usual' });
  expect(usual.role.type).toBe('project_admin');
  await app.project.post('/keys', { name: 'no', role: 'owner' }, 400);
});

describe('a viewer', () => {
  const HUSH = 'hush-hush';
  const PAYLOAD = 'payload-text';
  /** One set of ids for each walk over the reads. */
  const walks: Record<string, string>[] = [];
  let project: ApiClient;
  let viewer: ApiClient;
  let developer: ApiClient;

  beforeAll(async () => {
    project = await app.newProject({
      meta_event: {
        is_enabled: true,
        event_type: ['endpoint.*', 'eventdelivery.failed'],
        url: receiver.url,
        secret: `${HUSH} meta`,
      },
      strategy: { type: 'linear', duration: 1, retry_count: 1 },
    });
    const { endpoint, subscription } = await subscribe(project, receiver.url, {
      endpoint: {
        secret: `${HUSH} signing`,
        authentication: { type: 'basic_auth', basic_auth: { username: 'u', password: `${HUSH} basic` } },
        slack_webhook_url: `${receiver.url}/${HUSH}`,
        headers: { 'X-Request-Id': `${HUSH} header` },
      },
      subscription: { function: `function transform(input) { return input; } // ${HUSH} subscription` },
    });
    const source = await project.post('/sources', {
      name: 's',
      type: 'http',
      verifier: {
        type: 'hmac',
        hmac: { header: 'X-Sig', hash: 'SHA256', encoding: 'hex', secret: `${HUSH} hmac` },
      },
      body_function: `function transform(input) { return input; } // ${HUSH} body`,
      header_function: `function transform(input) { return input; } // ${HUSH} header`,
    });
    const broker = await project.post('/sources', {
      name: 'b',
      type: 'pub_sub',
      pub_sub: {
        type: 'sqs',
        workers: 1,
        sqs: { access_key_id: 'id', secret_key: `${HUSH} sqs`, default_region: 'eu-west-1', queue_name: 'q' },
      },
    });
    const [filter] = await project.get(`/subscriptions/${subscription.uid}/filters`);
    const config = {
      endpointID: endpoint.uid,
      subscriptionID: subscription.uid,
      sourceID: source.uid,
      brokerID: broker.uid,
      filterID: filter.uid,
    };
    /** An event, and its delivery to the endpoint when that has ended. */
    const sent = async (type: string, status: string) => {
      const event = await project.post('/events/broadcast', { event_type: type, data: { plan: PAYLOAD } });
      const { content } = await eventually(
        () => project.get(`/eventdeliveries?eventId=${event.uid}`),
        (page) => page.content.some((one: Json) => one.status === status),
      );
      const eventDeliveryID = content.find((one: Json) => one.status === status).uid;
      const [attempt] = await project.get(`/eventdeliveries/${eventDeliveryID}/deliveryattempts`);
      return { ...config, eventID: event.uid, eventDeliveryID, deliveryAttemptID: attempt?.uid ?? 'none' };
    };
    walks.push(await sent('x', 'Success'));
    // An endpoint that repeats what it gets, a filter that does not match, and functions that quote their input.
    receiver.answerNext((request, response) => response.writeHead(500).end(request.body));
    walks.push(await sent('echoed', 'Failure'));
    const other = await subscribe(project, receiver.url, {
      eventTypes: ['quoted'],
      subscription: { function: 'function transform(input) { throw new Error(JSON.stringify(input)); }' },
    });
    walks.push(await sent('quoted', 'Failure'));
    await project.put(`/subscriptions/${other.subscription.uid}`, {
      filter_config: { event_types: ['filtered'], filter: { body: { plan: 'another' } } },
    });
    const unmatched = await project.post('/events/broadcast', {
      event_type: 'filtered',
      data: { plan: PAYLOAD },
    });
    const quoting = await httpSource(project, {
      body_function: 'function transform(input) { throw new Error(JSON.stringify(input)); }',
    });
    await fetch(`${app.url}/ingest/${quoting.mask_id}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ plan: PAYLOAD }),
    });
    const { content: refused } = await eventually(
      () => project.get(`/events?sourceId=${quoting.uid}`),
      (page) => page.content[0]?.failure_reason !== undefined,
    );
    // Failures are found by counts, which follow a little later.
    await eventually(async () => JSON.stringify(await project.get('/failures')), containing(PAYLOAD));
    walks.push({ ...config, eventID: unmatched.uid }, { ...config, eventID: refused[0].uid });
    const withRole = async (role: Role) =>
      new ApiClient(project.base, (await project.post('/keys', { name: role, role })).key);
    viewer = await withRole('viewer');
    developer = await withRole('developer');
  });

  /** The text of every answer to a read that viewers may make. */
  async function readings(client: ApiClient): Promise<Map<string, string>> {
    const root = '/api/v1/projects/{projectID}';
    const texts = new Map<string, string>();
    for (const { access, method, path, name } of operations) {
      if (access !== 'viewer' || method !== 'GET' || !path.startsWith(root) || path.endsWith('/stream'))
        continue;
      const filled = walks.map((ids) =>
        path.slice(root.length).replaceAll(/\{(\w+)\}/g, (_, id: string) => ids[id] ?? 'none'),
      );
      const read = async (at: string) => (await client.raw('GET', at)).text();
      texts.set(name, (await Promise.all([...new Set(filled)].map(read))).join('\n'));
    }
    texts.set('search', JSON.stringify((await client.get(`/search?q=${PAYLOAD}`)).hits));
    texts.set('stream', await streamed(client));
    texts.set('broker', await (await client.raw('GET', `/sources/${walks[0]?.['brokerID']}`)).text());
    texts.set(
      'projects',
      JSON.stringify(await new ApiClient(`${app.url}/api/v1`, client.key).get('/projects')),
    );
    return texts;
  }

  /** The messages of the stream about the events of the walks. */
  async function streamed(client: ApiClient): Promise<string> {
    const all = walks.map(({ eventID = '' }) => eventID);
    const ending = new AbortController();
    const response = await fetch(`${client.base}/stream`, {
      headers: { ...client.headers(), 'last-event-id': all[0] ?? '' },
      signal: ending.signal,
    });
    let text = '';
    for await (const chunk of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (all.every((id) => text.includes(id))) break;
    }
    ending.abort();
    return text;
  }

  test('sees no secret anywhere; a developer does', async () => {
    const seen = await readings(viewer);
    expect([...seen].filter(([, text]) => text.includes(HUSH)).map(([name]) => name)).toEqual([]);
    const shown = [...(await readings(developer)).values()].join('\n');
    for (const secret of ['meta', 'signing', 'basic', 'hmac', 'sqs', 'subscription', 'body', 'header'])
      expect(shown).toContain(`${HUSH} ${secret}`);
    expect(shown).toContain(`${receiver.url}/${HUSH}`);
    // Fields that are not secret stay.
    expect(seen.get('broker')).toContain('eu-west-1');
    expect([...seen.values()].join()).toContain(PAYLOAD);
  });

  test('sees whether there is a function; a developer who writes back what a viewer saw keeps it', async () => {
    const { subscriptionID, sourceID } = walks[0] as Record<string, string>;
    for (const [path, names] of [
      [`/subscriptions/${subscriptionID}`, ['function']],
      [`/sources/${sourceID}`, ['body_function', 'header_function']],
    ] as const) {
      const before = await developer.get(path);
      const seen = await viewer.get(path);
      for (const name of names) expect(seen[name]).toBe('***');
      const after = await developer.put(path, Object.fromEntries(names.map((name) => [name, seen[name]])));
      for (const name of names) expect(after[name]).toBe(before[name]);
    }
    await developer.post('/sources', { name: 'masked', type: 'http', body_function: '***' }, 400);
  });

  // proves Projects: hide_payload_from_viewers
  test('sees no payload where the project hides it, and cannot search it', async () => {
    const { name } = await project.get('');
    await project.put('', { name, config: { hide_payload_from_viewers: true } });
    const seen = await readings(viewer);
    expect([...seen].filter(([, text]) => text.includes(PAYLOAD)).map(([one]) => one)).toEqual([]);
    const search = `/events?body=${encodeURIComponent(JSON.stringify({ plan: PAYLOAD }))}`;
    expect((await viewer.get(search, 403)).code).toBe('role_required');
    expect((await developer.get(search)).content.length).toBe(walks.length);
    const shown = await readings(developer);
    const quoting = ['GET /api/v1/projects/{projectID}/failures', 'search', 'stream'];
    expect(quoting.filter((one) => shown.get(one)?.includes(PAYLOAD) !== true)).toEqual([]);
  });
});
