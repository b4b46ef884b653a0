import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Endpoint, Posthorn, PosthornPortal, type Subscription } from '../../client/src/posthorn.ts';
import { type Document, type Method, methodsOf } from '../../scripts/client-operations.ts';
import { Journey, type Send } from '../conformance/journey.ts';
import { Listener } from '../pull/listener.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { MailServer } from '../support/servers/mail-server.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { callLine, missingOperations } from '../support/suite/operation-coverage.ts';
import { recordedFetch } from './clients.ts';
import { peopleJourney } from './people-journey.ts';
import { portalJourney } from './portal-journey.ts';

/** Every operation through the client, against the real server. The last test checks that none is missing. */
const document = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../openapi.json'), 'utf8'),
) as Document;
const calls: string[] = [];
let last: { status: number; answer: Json };
let app: TestApp;
let receiver: Receiver;
let mails: MailServer;
let instance: Posthorn;
let posthorn: Posthorn;

const watchedFetch: typeof fetch = async (input, init) => {
  const response = await recordedFetch(input, init);
  calls.push(callLine(init?.method ?? 'GET', new Request(input).url, response.status));
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  last = { status: response.status, answer: isJson ? await response.clone().json() : null };
  return response;
};

beforeAll(async () => {
  // Without the role that runs jobs, so that a job can be cancelled.
  mails = await MailServer.start();
  app = await startTestApp({
    POSTHORN_ROLES: 'api,ingest,deliver',
    POSTHORN_SMTP_URL: mails.url,
    POSTHORN_SMTP_FROM: 'posthorn@example.com',
  });
  receiver = await Receiver.start();
  const options = { url: app.url, fetch: watchedFetch };
  instance = new Posthorn({ ...options, key: app.instance.key });
  posthorn = new Posthorn({ ...options, key: app.project.key, project: app.projectId });
});

afterAll(async () => {
  await app?.stop();
  await receiver?.stop();
  await mails?.stop();
});

/** Opens a stream, and ends it when the server has answered. */
async function openStream(client: Posthorn | PosthornPortal): Promise<void> {
  const stop = new AbortController();
  const before = calls.length;
  const next = client.stream({ signal: stop.signal }).next();
  await eventually(
    async () => calls.slice(before),
    (lines) => lines.some((line) => line.includes('/stream')),
  );
  stop.abort();
  await next;
}

describe('the journey of the conformance tests', () => {
  const PROJECT = '/api/v1/projects/{projectID}';
  const routes = methodsOf(document)
    .map((method) => ({
      method,
      pattern: new RegExp(`^${method.path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`),
    }))
    .sort((a, b) => a.method.pathParameters.length - b.method.pathParameters.length);

  function argumentsOf({ pathParameters, body, query }: Method, groups: Record<string, string>, ask: object) {
    const { body: givenBody, query: givenQuery } = ask as { body?: unknown; query?: unknown };
    return [
      ...pathParameters.map((name) => groups[name]),
      ...(body === undefined ? [] : [givenBody]),
      ...(query === undefined ? [] : [givenQuery]),
    ];
  }

  /** Journeys name calls by method and path. This is the method of the client for it. */
  const send: Send = async (verb, path, ask = {}) => {
    // The journey sends what Convoy's clients send, with fields that are not of the interface.
    const client = new Posthorn({
      url: app.url,
      key: app.project.key,
      project: app.projectId,
      fetch: watchedFetch,
      strict: false,
    });
    const full = `${PROJECT.replace('{projectID}', app.projectId)}${path}`;
    const route = routes.find(({ method, pattern }) => method.verb === verb && pattern.test(full));
    if (route === undefined) throw new Error(`no method for ${verb} ${path}`);
    const { method, pattern } = route;
    const resource = `${method.resource[0]!.toLowerCase()}${method.resource.slice(1)}`;
    const operations = (client as unknown as Record<string, Record<string, (...args: unknown[]) => unknown>>)[
      resource
    ]!;
    const made = operations[method.name]!(...argumentsOf(method, pattern.exec(full)!.groups ?? {}, ask));
    const result = await (method.result.kind === 'list' ? (made as { page(): unknown }).page() : made);
    const { data, job } = last.answer;
    if (method.result.kind === 'answer') expect(result).toMatchObject({ data });
    else expect(result).toEqual(method.result.kind === 'job' ? job : data);
    return last;
  };

  it('gets the expected code and shape on every call, and each method returns the data', () =>
    new Journey(send, receiver.url).run());
});

describe('the further operations', () => {
  let endpoint: Endpoint;
  let subscription: Subscription;

  beforeAll(async () => {
    endpoint = await posthorn.endpoints.create({ name: 'e', url: receiver.url, owner_id: 'customer' });
    subscription = await posthorn.subscriptions.create({
      name: 's',
      endpoint_id: endpoint.uid,
      filter_config: { event_types: ['order'] },
      retry_config: { type: 'linear', duration: '1s', retry_count: 0 },
    });
  });

  it('projects and keys', async () => {
    const { project, api_key } = await instance.projects.create({ name: 'other', type: 'outgoing' });
    const other = instance.inProject(project.uid);
    expect((await instance.projects.list()).map(({ uid }) => uid)).toContain(project.uid);
    expect((await instance.projects.get(project.uid)).name).toBe('other');
    await instance.projects.update(project.uid, { name: 'renamed' });
    const key = await other.keys.create({ name: 'second' });
    expect((await other.keys.list()).map(({ uid }) => uid).sort()).toEqual([api_key.uid, key.uid].sort());
    expect(await other.keys.revoke(key.uid)).toBeNull();
    await instance.projects.delete(project.uid);
  });

  it('endpoints', async () => {
    await posthorn.endpoints.pause(endpoint.uid);
    expect((await posthorn.endpoints.activate(endpoint.uid)).status).toBe('active');
    expect((await posthorn.endpoints.test(endpoint.uid)).status).toBe(true);
    const rates = await posthorn.endpoints.getPeriodFailureRates({ endpointId: [endpoint.uid] });
    expect(rates.map(({ uid }) => uid)).toEqual([endpoint.uid]);
    receiver.answerNext((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('{"access_token":"t","token_type":"Bearer","expires_in":60}');
    });
    const oauth2 = {
      url: receiver.url,
      client_id: 'c',
      grant_type: 'client_credentials',
      authentication_type: 'shared_secret' as const,
      client_secret: 's',
    };
    expect(await posthorn.endpoints.testOAuth2({ oauth2 })).toMatchObject({ success: true });
  });

  it('pull endpoints', async () => {
    const pulled = await posthorn.endpoints.create({ name: 'p', delivery: 'pull' });
    await posthorn.events.create({ endpoint_id: pulled.uid, event_type: 'pulled', data: { n: 1 } });
    const { deliveries } = await posthorn.endpoints.pull(pulled.uid, { wait_seconds: 30 });
    const results = deliveries.map(({ uid, lease }) => ({ uid, lease, ok: true }));
    const answer = await posthorn.endpoints.reportResults(pulled.uid, { results });
    expect(answer.results.map(({ state }) => state)).toEqual(['recorded']);
  });

  it('devices', async () => {
    const listener = await Listener.start(app.project, { host_name: 'client' });
    const devices = await posthorn.devices.list().page();
    expect(devices.content.map(({ host_name }) => host_name)).toEqual(['client']);
    await posthorn.devices.delete(devices.content[0]!.uid);
    await listener.close();
  });

  it('jobs', async () => {
    const job = await posthorn.eventDeliveries.cancel({ endpointId: ['none'] });
    expect((await posthorn.jobs.cancel(job.uid)).status).toBe('cancelled');
    expect((await posthorn.jobs.get(job.uid)).status).toBe('cancelled');
    await expect(posthorn.jobs.cancel(job.uid)).rejects.toMatchObject({ code: 'wrong_state' });
    const onboard = await posthorn.endpoints.onboard({ items: [{ name: 'i', url: receiver.url }] });
    expect('uid' in onboard && onboard.type).toBe('onboard');
    const seen = [];
    for await (const one of posthorn.jobs.list({ perPage: 1 })) seen.push(one.uid);
    expect(seen).toContain(job.uid);
  });

  it('sources, subscriptions and event types', async () => {
    const fn = 'function transform(payload) { return payload; }';
    expect((await posthorn.sources.testFunction({ payload: { a: 1 }, function: fn })).payload).toEqual({
      a: 1,
    });
    const kafka = { brokers: ['127.0.0.1:1'], consumer_group_id: 'g', topic_name: 't' };
    const source = await posthorn.sources.create({
      name: 'broker',
      type: 'pub_sub',
      is_disabled: true,
      pub_sub: { type: 'kafka', workers: 1, kafka },
    });
    expect(await posthorn.sources.testConnection(source.uid)).toMatchObject({ ok: false });
    expect(await posthorn.subscriptions.preview(subscription.uid, {})).toMatchObject({ events: [] });
    const tried = await posthorn.subscriptions.testFilter({
      request: { body: { a: 1 } },
      schema: { body: { a: 2 } },
    });
    expect(tried).toMatchObject({ data: false, explain: { matched: false, path: 'a' } });
    const spec = JSON.stringify({
      openapi: '3.1.0',
      webhooks: { 'invoice.paid': { post: { summary: 'paid' } } },
    });
    expect((await posthorn.eventTypes.import({ spec })).map(({ name }) => name)).toContain('invoice.paid');
  });

  it('events, deliveries, dashboard, audit and portal links', async () => {
    receiver.answerAlways(500);
    const event = await posthorn.events.broadcast({ event_type: 'order', data: { n: 1 } });
    expect((await posthorn.events.explain(event.uid)).event_id).toBe(event.uid);
    const { content } = await eventually(
      () => posthorn.eventDeliveries.list({ eventId: event.uid, status: ['Failure'] }).page(),
      (page) => page.content.length > 0,
    );
    receiver.answerAlways(200);
    await posthorn.eventDeliveries.countBatchRetry({ status: ['Failure'] });
    await posthorn.eventDeliveries.resend(content[0]!.uid);
    expect((await posthorn.dashboard.getSummary()).apps).toBeGreaterThan(0);
    expect((await posthorn.dashboard.getStatusTotals()).Success).toBeGreaterThanOrEqual(0);
    expect((await posthorn.eventDeliveries.getWaitingTotals()).paused).toBeGreaterThanOrEqual(0);
    expect((await posthorn.dashboard.getTimeSeries()).points.length).toBeGreaterThan(0);
    expect((await posthorn.eventDeliveries.listFailures()).complete).toBe(true);
    const group = { endpoint_id: content[0]!.endpoint_id, outcome: 'http_500' };
    await posthorn.eventDeliveries.unmuteFailures((await posthorn.eventDeliveries.muteFailures(group)).uid);
    expect((await posthorn.dashboard.search({ q: 'nothing at all' })).hits).toEqual([]);
    await openStream(posthorn);
    const view = await posthorn.views.save({ page: 'events', name: 'mine', query: '' });
    expect(await posthorn.views.list()).toHaveLength(1);
    await posthorn.views.delete(view.uid);
    expect((await instance.nodes.list()).length).toBe(1);
    expect((await instance.nodes.listSettings()).map(({ name }) => name)).toContain('POSTHORN_PORT');
    expect((await posthorn.endpoints.try({ endpoint: { url: receiver.url } })).status).toBe(true);
    expect((await posthorn.endpoints.getReceiver()).url).toContain('receiver');
    expect(
      (await posthorn.eventDeliveries.batchRetry({ dry_run: true })).dry_run?.total,
    ).toBeGreaterThanOrEqual(0);
    expect((await posthorn.audit.list({ perPage: 1 }).page()).content).toHaveLength(1);
    expect((await instance.audit.listInstance().page()).content.length).toBeGreaterThan(1);
    const link = await posthorn.portalLinks.create({
      name: 'l',
      owner_id: 'customer',
      auth_type: 'refresh_token',
    });
    expect((await posthorn.portalLinks.refreshToken(link.uid)).length).toBeGreaterThan(20);
  });
});

it('a portal link has the methods that are open to it', async () => {
  const link = await posthorn.portalLinks.create({
    name: 'portal',
    owner_id: 'portal-customer',
    can_manage_endpoint: true,
    can_create_events: true,
  });
  const portal = new PosthornPortal({ url: app.url, token: link.token, fetch: watchedFetch });
  await portalJourney(portal, { project: posthorn, receiver, openStream });
});

describe('the errors of the real server', () => {
  const body = { name: 'e', url: 'http://127.0.0.1:1' };

  it.each<[string, number, () => Promise<unknown>]>([
    ['validation_failed', 400, () => posthorn.endpoints.create({ name: '', url: '' })],
    ['validation_failed', 400, () => posthorn.endpoints.create({ ...body, colour: 'red' } as typeof body)],
    ['bad_query', 400, () => posthorn.events.list({ startDate: 'never' }).page()],
    ['not_in_project', 400, () => posthorn.subscriptions.create({ name: 's', endpoint_id: 'none' })],
    ['not_found', 404, () => posthorn.endpoints.get('none')],
    ['project_not_found', 404, () => instance.projects.get('none')],
    ['key_rejected', 401, () => new Posthorn({ url: app.url, key: 'none' }).projects.list()],
    [
      'project_forbidden',
      403,
      () => posthorn.inProject('01ARZ3NDEKTSV4RRFFQ69G5FAV').endpoints.list().page(),
    ],
    ['instance_key_required', 403, () => posthorn.projects.create({ name: 'p', type: 'outgoing' })],
    [
      'body_too_large',
      413,
      () => posthorn.events.broadcast({ event_type: 'x', data: 'x'.repeat(12_000_000) }),
    ],
    [
      'name_taken',
      409,
      async () => {
        const project = { name: 'taken', type: 'outgoing' } as const;
        await instance.projects.create(project);
        await instance.projects.create(project);
      },
    ],
  ])('%s, %i', async (code, status, call) => {
    const error = await call().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({
      name: 'PosthornError',
      code,
      status,
      requestId: expect.stringMatching(/./),
    });
  });

  it('names each wrong field', async () => {
    const error = await posthorn.endpoints
      .create({ name: '', url: 'no' })
      .catch((thrown: { fields: { field: string }[] }) => thrown.fields.map(({ field }) => field));
    expect(error).toEqual(expect.arrayContaining(['name']));
  });
});

it('people are invited, sign in without a key, and are removed', () =>
  peopleJourney(app, { instance, project: posthorn, send: watchedFetch }));

describe('the coverage', () => {
  it('includes every operation with a success, except the second verbs of three', () => {
    const missing = missingOperations(document, calls).filter((line) => line.endsWith('no success'));
    expect(missing).toEqual([
      'POST /api/v1/projects/{projectID}/sources/{sourceID}: no success',
      'POST /api/v1/projects/{projectID}/subscriptions/{subscriptionID}/filters/bulk_update: no success',
      'POST /api/v1/projects/{projectID}: no success',
      'POST /portal-api/subscriptions/{subscriptionID}/filters/bulk_update: no success',
    ]);
  });
});
