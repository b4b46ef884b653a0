import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { fetchOpenApi } from '../support/openapi.ts';
import { shared } from '../support/shared.ts';
import { hostileJson, type Known, type Schema, seeds, spoiltValue, validValue } from './schema-arbitrary.ts';

/** Random bodies for every operation that takes one: right ones come back, wrong ones are refused by name. */
const app = await shared(startTestApp());
let paths: Record<string, Record<string, { requestBody?: Json; responses: object }>>;
const ids = {
  endpointID: '',
  sourceID: '',
  subscriptionID: '',
  portalLinkID: '',
  eventTypeID: '',
  filterID: '',
};

beforeAll(async () => {
  ({ paths } = await fetchOpenApi(app.url));
  const endpoint = { name: 'e', url: 'http://127.0.0.1:1', owner_id: 'owner' };
  ids.endpointID = (await app.project.post('/endpoints', endpoint)).uid;
  await app.project.put(`/endpoints/${ids.endpointID}/pause`);
  ids.sourceID = (await app.project.post('/sources', { name: 's', type: 'rest_api' })).uid;
  const subscription = { name: 's', endpoint_id: ids.endpointID, filter_config: { event_types: ['one'] } };
  ids.subscriptionID = (await app.project.post('/subscriptions', subscription)).uid;
  ids.filterID = (await app.project.get(`/subscriptions/${ids.subscriptionID}/filters`))[0].uid;
  ids.portalLinkID = (await app.project.post('/portal-links', { name: 'p', owner_id: 'owner' })).uid;
  ids.eventTypeID = (await app.project.get('/event-types'))[0].uid;
});

const ROOT = '/api/v1/projects/{projectID}';
const url = fc.webUrl({ validSchemes: ['http', 'https'] }).filter((text) => text.length < 200);
const functionText = fc.constantFrom('', 'function transform(payload) { return payload; }');
const conditions = fc.dictionary(fc.constantFrom('a', 'b.c'), fc.oneof(fc.integer(), fc.constant('text')));
const headers = fc.dictionary(fc.stringMatching(/^x-[a-z]{1,8}$/), fc.stringMatching(/^[a-z ]{0,10}$/));
const none = fc.constant(undefined);
const eventRules: Known = {
  custom_headers: headers,
  source_id: none,
  idempotency_key: none,
  deliver_at: none,
  delay_seconds: fc.nat(3_600),
  expires_at: none,
  ttl_seconds: fc.integer({ min: 1, max: 3_600 }),
};

/** The create operations, with what their schemas do not tell. `shown`: fields that the answer repeats. */
const creations: Record<string, { known: () => Known; shown: string[] }> = {
  '/endpoints': {
    known: () => ({
      url,
      slack_webhook_url: none,
      teams_webhook_url: none,
      authentication: none,
      mtls_client_cert: none,
      signing_key: none,
      secret: none,
      broker: none,
      delivery: fc.constantFrom('push', 'pull'),
      headers,
      expires_at: none,
      metadata: fc.dictionary(
        fc.stringMatching(/^[a-z._-]{1,8}$/),
        fc.string({ maxLength: 20 }).filter((text) => !text.includes('\u0000')),
        { maxKeys: 20 },
      ),
      envelope_fields: fc.constantFrom({}, { eventId: 'id', kind: 'type', payload: 'data', nothing: 'null' }),
      subscriptions: none,
      key: fc.uuid(),
    }),
    shown: [
      'name',
      'key',
      'url',
      'description',
      'owner_id',
      'support_email',
      'http_timeout',
      'rate_limit',
      'rate_limit_duration',
      'advanced_signatures',
      'headers',
      'metadata',
      'user_agent',
      'envelope_fields',
      'max_body_bytes',
    ],
  },
  '/sources': {
    known: () => ({
      type: fc.constantFrom('http', 'rest_api'),
      provider: none,
      pub_sub: none,
      verifier: none,
      idempotency_keys: fc.subarray(['request.body.id', 'request.header.x-id']),
      event_type_location: none,
      forward_headers: fc.subarray(['x-one', 'x-two']),
      custom_response: none,
      body_function: functionText,
      header_function: functionText,
      key: fc.uuid(),
    }),
    shown: [
      'name',
      'key',
      'type',
      'is_disabled',
      'idempotency_keys',
      'forward_headers',
      'cloudevents',
      'body_function',
    ],
  },
  '/subscriptions': {
    known: () => ({
      endpoint_id: fc.constant(ids.endpointID),
      app_id: none,
      source_id: none,
      function: functionText,
      key: fc.uuid(),
      alert_config: fc.record({ count: fc.nat(9), threshold: fc.constantFrom('1h', '90s', '1h3m') }),
      rate_limit_config: fc.record({ count: fc.nat(9), duration: fc.nat(60) }),
      retry_config: none,
      ordering: fc.record({
        key: fc.constantFrom('endpoint', '$.body.account.id', '$.headers.X-Account'),
        on_failure: fc.constantFrom('hold', 'skip'),
      }),
      batch: fc.record({
        max: fc.integer({ min: 1, max: 1_000 }),
        max_bytes: fc.integer({ min: 1, max: 10_000_000 }),
        max_wait_seconds: fc.nat(300),
      }),
      filter_config: fc.record({
        event_types: fc.uniqueArray(fc.constantFrom('a', 'b.*', 'c'), { minLength: 1 }),
        filter: fc.record({ body: conditions, headers: fc.constant({}) }),
      }),
    }),
    shown: [
      'name',
      'key',
      'function',
      'alert_config',
      'rate_limit_config',
      'ordering',
      'batch',
      'ttl_seconds',
    ],
  },
  '/event-types': {
    known: () => ({
      name: fc.uuid(),
      json_schema: fc.constantFrom({ type: 'object' }, { minimum: 1 }),
    }),
    shown: ['name', 'category', 'description', 'json_schema'],
  },
  '/portal-links': {
    known: () => ({
      owner_id: fc.constant('owner'),
      endpoints: fc.subarray([ids.endpointID]),
      expires_at: none,
    }),
    shown: ['name', 'owner_id', 'can_manage_endpoint'],
  },
  '/keys': {
    known: () => ({ expires_at: fc.constantFrom('2090-01-01T00:00:00.000Z', undefined) }),
    shown: ['name'],
  },
  '/events': {
    known: () => ({ ...eventRules, endpoint_id: fc.constant(ids.endpointID), app_id: none }),
    shown: ['event_type', 'data', 'metadata', 'acknowledged_at'],
  },
  '/events/broadcast': {
    known: () => eventRules,
    shown: ['event_type', 'data', 'metadata', 'acknowledged_at'],
  },
  '/events/fanout': {
    known: () => ({ ...eventRules, owner_id: fc.constant('owner') }),
    shown: ['event_type', 'data', 'metadata', 'acknowledged_at'],
  },
  '/events/dynamic': {
    known: () => ({
      ...eventRules,
      url: fc.constant('http://127.0.0.1:1/dynamic'),
      event_types: fc.constant(['*']),
      secret: none,
    }),
    shown: ['event_type', 'data', 'metadata', 'acknowledged_at'],
  },
};

const bodySchema = (path: string, method = 'post'): Schema =>
  paths[`${ROOT}${path}`]?.[method]?.requestBody.content['application/json'].schema;

describe.each(Object.keys(creations))('POST %s', (path) => {
  const { known, shown } = creations[path]!;

  test.each(seeds)('accepts any valid body and returns it (seed %i)', async (seed) => {
    await fc.assert(
      fc.asyncProperty(validValue(bodySchema(path), known()), async (body) => {
        const answer = await app.project.post(path, body);
        // The wire format is JSON: undefined is absent, -0 is 0.
        const sent = JSON.parse(JSON.stringify(body)) as Json;
        // A field that is null counts as absent. A payload may be null.
        for (const field of shown)
          if (field in sent && (sent[field] !== null || field === 'data'))
            expect([field, answer[field]]).toEqual([field, sent[field]]);
      }),
      { seed, numRuns: 12 },
    );
  });

  test.each(seeds)('refuses a body with one wrong field by its name (seed %i)', async (seed) => {
    await fc.assert(
      fc.asyncProperty(spoiltValue(bodySchema(path), known()), async ({ body, field }) => {
        const answer = await app.project.post(path, body, 400);
        expect(answer).toMatchObject({ status: false, message: expect.stringContaining(field) });
      }),
      { seed, numRuns: 20 },
    );
  });
});

describe('every operation that takes a body', () => {
  test.each(seeds)('answers any JSON without an internal error (seed %i)', async (seed) => {
    const operations = Object.entries(paths)
      .filter(([path]) => path.startsWith(ROOT))
      .flatMap(([path, methods]) =>
        Object.entries(methods)
          .filter(([, operation]) => operation.requestBody !== undefined)
          .map(([method]): [string, string] => [
            method.toUpperCase(),
            path.slice(ROOT.length).replaceAll(/\{(\w+)\}/g, (_, name) => ids[name as 'filterID'] ?? 'other'),
          ]),
      );
    expect(operations.length).toBeGreaterThan(25);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...operations), hostileJson, async ([method, path], json) => {
        const response = await app.project.raw(method, path, { body: JSON.stringify(json) });
        const answer = (await response.json()) as Json;
        expect([method, path, answer.code]).not.toContain('internal_error');
        expect(response.status).toBeLessThan(500);
      }),
      { seed, numRuns: 250 },
    );
  });

  test.each(seeds)(
    'answers valid bodies with one hostile value without an internal error (seed %i)',
    async (seed) => {
      const texts = fc.constantFrom('\u0000', 'a\u0000b', '\ud800', '9'.repeat(300), '%', '__proto__', ' ');
      const cases = fc
        .constantFrom(...Object.keys(creations))
        .chain((path) =>
          fc.tuple(
            fc.constant(path),
            validValue(bodySchema(path), creations[path]!.known()),
            fc.constantFrom(...Object.keys(bodySchema(path).properties ?? {})),
            texts,
          ),
        );
      await fc.assert(
        fc.asyncProperty(cases, async ([path, body, field, value]) => {
          const spoilt = { ...(body as object), [field]: value };
          const response = await app.project.raw('POST', path, { body: spoilt });
          expect([path, field, value, response.status >= 500 ? await response.text() : '']).toEqual([
            path,
            field,
            value,
            '',
          ]);
        }),
        { seed, numRuns: 250 },
      );
    },
  );

  // differs Requests and answers: Text with a zero character is 400 and named. The database cannot hold it.
  test.each(['/endpoints', '/sources', '/subscriptions', '/portal-links', '/event-types', '/keys'])(
    'POST %s names the field with a zero character',
    async (path) => {
      const [body] = fc.sample(validValue(bodySchema(path), creations[path]!.known()), {
        seed: 1,
        numRuns: 1,
      });
      const answer = await app.project.post(path, { ...(body as object), name: 'a\u0000b' }, 400);
      expect(answer.message).toBe('name: contains a zero character, which cannot be stored');
    },
  );
});
