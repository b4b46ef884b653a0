import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { Posthorn } from '../../client/src/posthorn.ts';
import { methodsOf } from '../../scripts/client-operations.ts';
import { callMethod, recordedFetch } from '../client/clients.ts';
import { FlakyServer } from '../client/flaky-server.ts';
import { startTestApp } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { cases, prepareCall } from '../support/operations/cases.ts';
import { document, operations } from '../support/operations/documented.ts';
import { newScene, type Scene } from '../support/operations/scene.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

// Without a janitor jobs wait, so that none changes anything meanwhile.
const roles = { POSTHORN_ROLES: 'api,ingest,deliver' };
const app = await shared(startTestApp(roles));
const other = await app.addNode(roles);
const withoutHost = (data: unknown): Json => JSON.parse(JSON.stringify(data).replaceAll(other.url, app.url));
const receiver = await shared(Receiver.start());
let scene: Scene;

beforeAll(async () => {
  scene = await newScene(app, receiver);
});

const creating = operations.filter(({ path, method }) =>
  document.paths[path]?.[method.toLowerCase()]?.parameters?.some(({ name }) => name === 'Idempotency-Key'),
);

const keyed = (key: string) => ({ 'idempotency-key': key });
const entries = async () => (await app.database.query('select id from audit_entries')).length;
const body = (name: string) => ({ name, url: 'http://127.0.0.1:9/hook' });
const create = (key: string, given: object, expected = 201, client = app.project): Promise<Json> =>
  client.call('POST', '/endpoints', { body: given, headers: keyed(key), expected });
const named = async (name: string): Promise<Json[]> =>
  (await app.project.get(`/endpoints?q=${encodeURIComponent(name)}`)).content;

/** Another body. Calls that act know no other fields. */
const another = (given: Json): Json =>
  Array.isArray(given)
    ? [...given, ...given]
    : given.items
      ? { items: another(given.items) }
      : { ...given, unknown: 1 };

test('every operation that creates config takes a key', () => {
  const made = operations.filter(
    ({ method, status, caseId }) =>
      method === 'POST' && status === 201 && !/event$|second|recovery|deprecate/i.test(caseId),
  );
  expect(made.length).toBeGreaterThan(12);
  const names = creating.map(({ id }) => id);
  expect(made.filter(({ id }) => !names.includes(id)).map(({ id }) => id)).toEqual([]);
});

describe.each(creating)('$id', (operation) => {
  test('is made once by calls with one key on two nodes, and shown again later', async () => {
    const { caller, path, body: given } = await prepareCall(scene, operation);
    const before = await entries();
    const headers = { ...caller.headers(), ...keyed(randomUUID()), 'content-type': 'application/json' };
    const send = (node: string, sent: unknown) =>
      fetch(`${node}${path}`, { method: 'POST', headers, body: JSON.stringify(sent) });
    const call = async (node: string) => {
      const response = await send(node, given);
      const { data, message } = (await response.json()) as Json;
      expect([response.status, message]).toEqual([operation.status, message]);
      return { data: withoutHost(data), isRepeat: response.headers.get('idempotency-replayed') === 'true' };
    };
    // Another node may learn of the endpoints of a portal link a moment later.
    const there = operation.isPortal ? app.url : other.url;
    const [first, second] = await Promise.all([call(app.url), call(there)]);
    expect([first, second].filter(({ isRepeat }) => isRepeat)).toHaveLength(1);
    expect(second.data).toEqual(first.data);
    expect(await call(there)).toEqual({ data: first.data, isRepeat: true });
    const { audit } = cases[operation.caseId] ?? {};
    expect((await entries()) - before).toBe(Array.isArray(audit) ? audit.length : 0);
    const refused = await send(app.url, another(given as Json));
    expect([refused.status, ((await refused.json()) as Json).code]).toEqual([409, 'idempotency_key_used']);
  });
});

describe('a client behind a proxy that loses every second answer', async () => {
  const proxy = await shared(FlakyServer.start(app.url, { isLossy: true }));

  test.each(methodsOf(document).filter(({ creates }) => creates))(
    'creates once: $resource $name',
    async (method) => {
      const operation = operations.find(({ id }) => id === method.id)!;
      const call = await prepareCall(scene, operation);
      const before = await entries();
      const lost = proxy.counts.get('dropped after') ?? 0;
      const options = { url: proxy.url, fetch: recordedFetch, firstDelay: 1 };
      const client = new Posthorn({ ...options, key: call.caller.key, project: app.projectId });
      await callMethod(client, method, call);
      const { audit } = cases[operation.caseId] ?? {};
      expect((await entries()) - before).toBe(Array.isArray(audit) ? audit.length : 0);
      expect((proxy.counts.get('dropped after') ?? 0) - lost).toBe(1);
    },
  );
});

describe('a key', () => {
  test('counts per credential', async () => {
    const key = randomUUID();
    const { key: secret } = await app.project.post('/keys', { name: 'another' });
    const another = new ApiClient(app.project.base, secret);
    const first = await create(key, body('per credential'));
    const second = await create(key, body('per credential'), 201, another);
    expect(second.uid).not.toBe(first.uid);
    expect(await named('per credential')).toHaveLength(2);
  });

  test('of a refused call can be used again', async () => {
    const key = randomUUID();
    await create(key, { name: '', url: 'nonsense' }, 400);
    expect((await create(key, body('after a refusal'))).name).toBe('after a refusal');
  });

  test('is free again after a day', async () => {
    const key = randomUUID();
    const first = await create(key, body('a day'));
    await app.database.query("update idempotency_keys set made_at = now() - interval '25 hours'");
    const second = await create(key, body('a day'));
    expect(second.uid).not.toBe(first.uid);
    expect((await create(key, body('a day'))).uid).toBe(second.uid);
  });

  test('of a create on a version of the config gets the answer again, and so the next version', async () => {
    const client = await app.newProject();
    const version = (await client.raw('GET', '')).headers.get('x-posthorn-config-version') ?? '';
    const on = (wanted: string, key: string) =>
      client.raw('POST', '/endpoints', {
        body: body('versioned'),
        headers: { ...keyed(key), 'x-posthorn-config-version': wanted },
      });
    const answers = [await on(version, 'one'), await on(version, 'one')];
    const next = answers.map(({ status, headers }) => [status, headers.get('x-posthorn-config-version')]);
    expect(next).toEqual([
      [201, String(Number(version) + 1)],
      [201, String(Number(version) + 1)],
    ]);
    expect([(await on(version, 'two')).status, (await on(String(next[1]?.[1]), 'two')).status]).toEqual([
      412, 201,
    ]);
  });

  test('of an uploaded file is not that of another file', async () => {
    const upload = async (csv: string) => {
      const form = new FormData();
      form.set('file', new Blob([csv], { type: 'text/csv' }), 'endpoints.csv');
      const headers = { ...app.project.headers(), ...keyed('upload') };
      const response = await fetch(`${app.project.base}/onboard`, { method: 'POST', headers, body: form });
      return [response.status, ((await response.json()) as Json).data?.uid];
    };
    const first = await upload('name,url\na,http://127.0.0.1:9/a\n');
    expect(first).toEqual([202, expect.any(String)]);
    expect(await upload('name,url\na,http://127.0.0.1:9/a\n')).toEqual(first);
    expect(await upload('name,url\nb,http://127.0.0.1:9/b\n')).toEqual([409, undefined]);
  });

  test('of something that was deleted since is not found', async () => {
    const key = randomUUID();
    const { uid } = await create(key, body('deleted'));
    await app.project.delete(`/endpoints/${uid}`);
    await create(key, body('deleted'), 404);
    expect(await named('deleted')).toEqual([]);
  });

  test.each(['x'.repeat(256), 'with space', 'ümlaut'])('that is not readable is refused: %s', async (key) => {
    const bytes = Buffer.from(key).toString('latin1');
    expect((await create(bytes, body('unreadable'), 400)).fields[0].field).toBe('Idempotency-Key');
    expect(await named('unreadable')).toEqual([]);
  });

  test('keeps ids, and secrets only sealed', async () => {
    const headers = keyed(randomUUID());
    const options = { body: { name: 'sealed' }, headers, expected: 201 };
    const made = await app.project.call('POST', '/keys', options);
    expect((await app.project.call('POST', '/keys', options)).key).toBe(made.key);
    const [row] = await app.database.query(
      'select sealed, to_jsonb(k)::text as row from idempotency_keys k where $1 = any(ids)',
      [made.uid],
    );
    const { sealed, row: text } = row as { sealed: Buffer; row: string };
    expect(sealed.length).toBeGreaterThan(64);
    expect([text.includes(made.key.split('.')[2]), sealed.includes(made.key)]).toEqual([false, false]);
  });

  test('of an event is its idempotency_key, and the body must not name another', async () => {
    const event = { event_type: 'keyed', data: {} };
    const stored = (await app.database.query('select 1 from idempotency_keys')).length;
    const send = (given: object, expected = 201) =>
      app.project.call('POST', '/events/broadcast', { body: given, headers: keyed('event-key'), expected });
    expect((await send(event)).idempotency_key).toBe('event-key');
    expect((await send({ ...event, idempotency_key: 'event-key' })).is_duplicate_event).toBe(true);
    expect((await send({ ...event, idempotency_key: 'another' }, 400)).message).toContain('Idempotency-Key');
    expect((await app.database.query('select 1 from idempotency_keys')).length).toBe(stored);
  });
});
