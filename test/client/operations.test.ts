import { beforeAll, describe, expect, it } from 'vitest';
import { type Job, type ListEventsQuery, Posthorn, PosthornPortal } from '../../client/src/posthorn.ts';
import { type Method, methodsOf } from '../../scripts/client-operations.ts';
import { startTestApp } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { containing, eventually, some } from '../support/eventually.ts';
import { type Call, prepareCall } from '../support/operations/cases.ts';
import { document, operations } from '../support/operations/documented.ts';
import { newScene, type Scene } from '../support/operations/scene.ts';
import { MailServer } from '../support/servers/mail-server.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { SessionClient } from '../support/session-client.ts';
import { shared } from '../support/shared.ts';
import { callLine, missingOperations } from '../support/suite/operation-coverage.ts';
import { callMethod, recordedFetch } from './clients.ts';

/** Every operation through the client, against the real server. The last test checks that none is missing. */
const mails = await shared(MailServer.start());
// Without the role that runs jobs, so that a job can be cancelled.
const app = await shared(
  startTestApp({
    POSTHORN_ROLES: 'api,ingest,deliver',
    POSTHORN_SMTP_URL: mails.url,
    POSTHORN_SMTP_FROM: 'posthorn@example.com',
  }),
);
const receiver = await shared(Receiver.start());
const calls: string[] = [];
let answer: Json;
let scene: Scene;

const watchedFetch: typeof fetch = async (input, init) => {
  const response = await recordedFetch(input, init);
  calls.push(callLine(init?.method ?? 'GET', new Request(input).url, response.status));
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  answer = isJson ? await response.clone().json() : null;
  return response;
};
const options = { url: app.url, fetch: watchedFetch };
const instance = new Posthorn({ ...options, key: app.instance.key });
const posthorn = new Posthorn({ ...options, key: app.project.key, project: app.projectId });

beforeAll(async () => {
  scene = await newScene(app, receiver);
});

/** A client with the key of a caller, or as a page of the server that its browser shows. */
function clientFor({ caller }: Call): Posthorn {
  if (!(caller instanceof SessionClient))
    return new Posthorn({ ...options, key: caller.key, project: app.projectId });
  const { cookie, origin } = caller;
  const browserFetch: typeof fetch = (input, init) =>
    watchedFetch(input, { ...init, headers: { ...(init?.headers as object), cookie, origin } });
  return new Posthorn({ url: app.url, fetch: browserFetch, project: app.projectId });
}

function expectResult({ result: { kind } }: Method, result: unknown): void {
  const { status, message: _, warnings, ...parts } = answer;
  expect([status, warnings]).toEqual([true, undefined]);
  if (kind === 'answer') expect(result).toMatchObject(parts);
  else expect(result).toEqual(kind === 'job' ? parts.job : parts.data);
}

const methods = methodsOf(document);
const operationOf = (id: string) => operations.find((operation) => operation.id === id);

describe('a method returns the data of the answer:', () => {
  /** Reads share what they read. */
  let known: Record<string, string> = {};

  it.each(methods.filter(({ id }) => operationOf(id)?.isPortal === false))(
    '$resource $name',
    async (method) => {
      const call = await prepareCall(scene, operationOf(method.id)!, method.verb === 'GET' ? known : {});
      if (method.verb === 'GET') known = { ...known, ...call.ids };
      expectResult(method, await callMethod(clientFor(call), method, call));
    },
  );

  it.each(methods.filter(({ isInPortal }) => isInPortal))('$resource $name of a portal', async (method) => {
    const operation = operationOf(`${method.id}InPortal`) ?? operationOf(method.id)!;
    const call = await prepareCall(scene, operation, method.verb === 'GET' ? known : {});
    const portal = new PosthornPortal({ ...options, token: scene.holder.key });
    expectResult(method, await callMethod(portal, method, call));
  });

  it('a list, page by page', async () => {
    const seen = [];
    for await (const { uid } of posthorn.endpoints.list({ perPage: 7 })) seen.push(uid);
    const { content } = await posthorn.endpoints.list({ perPage: 1000 }).page();
    expect(content.length).toBeGreaterThan(7);
    expect(seen).toEqual(content.map(({ uid }) => uid));
  });

  it('a dry run', async () => {
    const { dry_run } = await posthorn.eventDeliveries.batchRetry({ dry_run: true });
    expect(dry_run?.total).toBeGreaterThan(0);
    const waiting = await posthorn.eventDeliveries.sendNow({ dry_run: true, status: ['Retry'] });
    expect(waiting).toMatchObject({ type: 'send_now', status: 'dry_run' });
  });

  it('a job is waited for until it ends, with its progress', async () => {
    const items = Array.from({ length: 120 }, (_, n) => ({ name: `waited ${n}`, url: receiver.url }));
    const onboard = await posthorn.endpoints.onboard({ items });
    // From here on a node runs jobs.
    await app.addNode({ POSTHORN_ROLES: 'janitor' });
    const shown: Job[] = [];
    const waited = await posthorn.jobs.wait(onboard as Job, { onProgress: (job) => void shown.push(job) });
    expect(waited).toMatchObject({ status: 'completed', total: 120, done: 120 });
    expect(shown.at(-1)).toEqual(waited);
    const steps = shown.map(({ status, done }) => `${status} ${done}`);
    expect(new Set(steps).size).toBe(steps.length);
    // A job that has ended is not waited for. One that fails or is cancelled is a result too.
    expect(await posthorn.jobs.wait(waited.uid)).toEqual(waited);
    await expect(posthorn.jobs.wait('none')).rejects.toMatchObject({ code: 'not_found' });
    const stop = () => {
      throw new Error('seen enough');
    };
    await expect(posthorn.jobs.wait(waited, { onProgress: stop })).rejects.toThrow('seen enough');
    const ended = AbortSignal.abort(new Error('no time'));
    await expect(posthorn.jobs.wait(waited, { signal: ended })).rejects.toThrow('no time');
  });

  it('dates, one id in place of a list, and events without duplicates', async () => {
    const from = new Date(Date.now() - 60_000);
    const endpoint = await posthorn.endpoints.create({ name: 'dated', url: receiver.url });
    const first = await posthorn.events.create({
      endpoint_id: endpoint.uid,
      event_type: 'dated',
      data: {},
      idempotency_key: 'dated',
      acknowledged_at: from,
    });
    expect(first.acknowledged_at).toBe(from.toISOString());
    const again = { event_type: 'dated', data: {}, idempotency_key: 'dated' };
    const repeat = await posthorn.events.broadcast(again);
    const found = async (query: ListEventsQuery) => {
      const { content } = await posthorn.events.list({ idempotencyKey: 'dated', ...query }).page();
      return content.map(({ uid }) => uid);
    };
    const window = { startDate: from, endDate: new Date(Date.now() + 60_000) };
    expect(await found(window)).toEqual([repeat.uid, first.uid]);
    expect(await found({ ...window, duplicates: false })).toEqual([first.uid]);
    expect(await found({ ...window, endpointId: endpoint.uid })).toEqual([first.uid]);
    expect(await found({ endDate: new Date(from.getTime() - 3_600_000) })).toEqual([]);
    const expires = new Date(Date.now() + 3_600_000);
    const key = await instance.inProject(app.projectId).keys.create({ name: 'dated', expires_at: expires });
    expect(key.expires_at).toBe(expires.toISOString());
  });

  it('says who would get an event, of each kind, and stores nothing', async () => {
    const endpoint = await posthorn.endpoints.create({ name: 'dry', url: receiver.url, owner_id: 'dry' });
    const event = { event_type: 'dry', data: {} };
    const before = (await posthorn.events.list().page()).content.length;
    const direct = await posthorn.events.dryRun({ ...event, kind: 'direct', endpoint_id: endpoint.uid });
    expect(direct).toMatchObject({
      deliveries: 1,
      changes: [{ resource: 'subscription', action: 'create' }],
    });
    const dynamic = await posthorn.events.dryRun({ ...event, kind: 'dynamic', url: `${receiver.url}/dry` });
    expect(dynamic.changes.map(({ resource }) => resource)).toContain('endpoint');
    const fanout = await posthorn.events.dryRun({ ...event, kind: 'fanout', owner_id: 'dry' });
    expect(fanout).toMatchObject({ status: 'Failure', deliveries: 0 });
    const wide = await posthorn.events.dryRun({ ...event, kind: 'broadcast' });
    expect(wide.subscriptions.length).toBeGreaterThan(0);
    await expect(posthorn.events.dryRun({ ...event, kind: 'direct' })).rejects.toMatchObject({ status: 400 });
    expect((await posthorn.events.list().page()).content).toHaveLength(before);
    await posthorn.endpoints.delete(endpoint.uid);
  });

  it.each([
    ['project', posthorn],
    ['portal link', null],
  ])('the stream of a %s', async (_name, ofProject) => {
    const client = ofProject ?? new PosthornPortal({ ...options, token: scene.holder.key });
    const stop = new AbortController();
    const before = calls.length;
    const next = client.stream({ signal: stop.signal }).next();
    await eventually(async () => calls.slice(before), some(containing('/stream')));
    stop.abort();
    await next;
  });
});

describe('the errors of the real server', () => {
  const body = { name: 'e', url: 'http://127.0.0.1:1' };

  it.each<[string, number, () => Promise<unknown>]>([
    ['validation_failed', 400, () => posthorn.endpoints.create({ name: '', url: '' })],
    ['validation_failed', 400, () => posthorn.endpoints.create({ ...body, colour: 'red' } as typeof body)],
    ['bad_query', 400, () => posthorn.events.list({ startDate: 'never' }).page()],
    ['not_in_project', 400, () => posthorn.subscriptions.create({ name: 's', endpoint_id: 'none' })],
    [
      'wrong_state',
      400,
      async () => {
        const { uid } = await posthorn.eventDeliveries.cancel({ endpointId: ['none'] });
        await posthorn.jobs.cancel(uid);
        await posthorn.jobs.cancel(uid);
      },
    ],
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
