import { describe, expect, test } from 'vitest';
import { startTestApp } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { shared } from '../../support/shared.ts';
import { storedRows } from '../../support/stored-rows.ts';

const app = await shared(startTestApp());
let number = 0;

/** A further project and its calls. */
async function newProject(config?: object): Promise<{ project: Json; client: ApiClient }> {
  number += 1;
  const wanted = { name: `project ${number}`, type: 'outgoing', ...(config && { config }) };
  const { project, api_key } = await app.instance.post('/projects', wanted);
  return { project, client: new ApiClient(`${app.url}/api/v1/projects/${project.uid}`, api_key.key) };
}

const id = expect.stringMatching(/^[0-9A-Z]{26}$/);
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

const DEFAULTS = {
  max_payload_read_size: 1_048_576,
  replay_attacks_prevention_enabled: false,
  add_event_id_trace_headers: false,
  disable_endpoint: false,
  hide_payload_from_viewers: false,
  user_agent: '',
  envelope: 'none',
  schema_check: 'off',
  require_second_factor: false,
  multiple_endpoint_subscriptions: true,
  verify_dynamic_events: false,
  allow_unmatched_dynamic_urls: true,
  portal_brokers: false,
  portal: {
    title: '',
    logo_url: '',
    logo_url_dark: '',
    font: '',
    accent: '',
    radius: 5,
    color_scheme: 'auto',
    language: '',
    frame_origins: [],
  },
  search_policy: '',
  webhook_origin: '',
  retention_policy: { policy: '', retention_policy_enabled: false },
  ratelimit: { count: 0, duration: 60 },
  strategy: { type: 'linear', duration: 100, retry_count: 10, schedule: [] },
  final_status_codes: [410],
  http_timeout: 10,
  disable_after: '',
  ssl: { enforce_secure_endpoints: false },
  signature: {
    header: 'X-Convoy-Signature',
    versions: [{ uid: id, hash: 'SHA256', encoding: 'hex', created_at: time }],
    schemes: ['convoy', 'standard'],
  },
  request_id_header: 'X-Convoy-Idempotency-Key',
  visible_headers: [],
  meta_event: { is_enabled: false, type: 'http', event_type: [], url: '', secret: '' },
  circuit_breaker: {
    sample_rate: 30,
    error_timeout: 30,
    failure_threshold: 70,
    success_threshold: 5,
    minimum_request_count: 10,
    observability_window: 5,
    consecutive_failure_threshold: 10,
  },
};

describe('a project', () => {
  test('is created with a working key and the documented settings', async () => {
    const { project, client } = await newProject();
    expect(project).toEqual({
      uid: id,
      name: `project ${number}`,
      type: 'outgoing',
      logo_url: '',
      organisation_id: '',
      config: DEFAULTS,
      variables: {},
      workload_credentials: [],
      statistics: null,
      retained_events: 0,
      created_at: time,
      updated_at: time,
      deleted_at: null,
    });
    const statistics = {
      events_exist: false,
      sources_exist: false,
      endpoints_exist: false,
      subscriptions_exist: false,
    };
    expect(await client.get('')).toEqual({ ...project, statistics });
    await client.post('/sources', { name: 's', type: 'rest_api' });
    const { uid } = await client.post('/endpoints', { name: 'e', url: 'https://example.org/' });
    expect((await client.get('')).statistics).toEqual({
      ...statistics,
      sources_exist: true,
      endpoints_exist: true,
    });
    await client.post('/events', { endpoint_id: uid, event_type: 'a', data: {} });
    expect(new Set(Object.values((await client.get('')).statistics))).toEqual(new Set([true]));
    // The next test compares all rows.
    await eventually(
      () => app.database.query('select 1 from delivery_attempts'),
      (rows) => rows.length > 0,
    );
  });

  test('can be made only with the instance key', async () => {
    const before = await storedRows(app.database);
    const call = new ApiClient(`${app.url}/api/v1`, app.project.key);
    const answer = await call.post('/projects', { name: 'mine', type: 'outgoing' }, 403);
    expect(answer.code).toBe('instance_key_required');
    expect(await storedRows(app.database)).toEqual(before);
  });

  test('is the only one visible to its key, while the instance key sees all', async () => {
    const { project, client } = await newProject();
    const uids = (list: Json) => list.map((item: Json) => item.uid);
    const own = new ApiClient(`${app.url}/api/v1`, client.key);
    expect(uids(await own.get('/projects'))).toEqual([project.uid]);
    expect(uids(await app.instance.get('/projects'))).toEqual(
      expect.arrayContaining([project.uid, app.projectId]),
    );
  });

  test('needs a unique name, also when many request the same one at once', async () => {
    const asked = Array.from({ length: 8 }, () =>
      app.instance.raw('POST', '/projects', { body: { name: 'wanted by many', type: 'incoming' } }),
    );
    const statuses = (await Promise.all(asked)).map(({ status }) => String(status)).sort();
    expect(statuses).toEqual(['201', ...Array<string>(7).fill('409')]);
    const { client } = await newProject();
    const before = await storedRows(app.database);
    expect((await client.put('', { name: 'wanted by many' }, 409)).code).toBe('name_taken');
    expect(await storedRows(app.database)).toEqual(before);
  });

  test('that is deleted loses its keys, and its name is free again', async () => {
    const { project, client } = await newProject();
    await client.delete('');
    await app.instance.get(`/projects/${project.uid}`, 404);
    await eventually(async () => (await client.raw('GET', '/endpoints')).status, 401);
    await app.instance.post('/projects', { name: project.name, type: 'incoming' });
  });
});

describe('the variables of a project', () => {
  test('are masked in every answer, kept under their mask, and replaced as a whole', async () => {
    const { api_key, project } = await app.instance.post('/projects', {
      name: 'with variables',
      type: 'outgoing',
      variables: { KEPT: 'first', GONE: 'second' },
    });
    const client = new ApiClient(`${app.url}/api/v1/projects/${project.uid}`, api_key.key);
    const seen = async () => {
      const code =
        'export const version = 2; const transform = (p, c) => ({ body: Object.entries(c.variables).join() })';
      return (await client.post('/subscriptions/test_function', { function: code }, 200)).payload;
    };
    const masked = { KEPT: '***', GONE: '***' };
    expect([project.variables, (await client.get('')).variables]).toEqual([masked, masked]);
    expect(await seen()).toBe('KEPT,first,GONE,***');
    await client.put('', { name: 'with other variables' });
    const changed = await client.put('', { variables: { KEPT: '***', NEW: 'x' } });
    expect(changed.variables).toEqual({ KEPT: '***', NEW: '***' });
    expect(await seen()).toBe('KEPT,first,NEW,x');
    expect((await client.put('', { variables: {} })).variables).toEqual({});
    expect(await seen()).toBe('');
  });

  test.each([
    [{ '1a': 'x' }, '"1a" is no name'],
    [JSON.parse('{"__proto__": "x"}'), '"__proto__" is no name'],
    [{ 'a-b': 'x' }, 'is no name'],
    [{ ['a'.repeat(65)]: 'x' }, 'is no name'],
    [{ A: '***' }, 'variables.A: has no value'],
    [{ A: 1 }, 'variables'],
    [{ A: 'x'.repeat(4_097) }, 'variables'],
    [Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`v${n}`, ''])), 'at most 100'],
    [Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`v${n}`, 'x'.repeat(4_096)])), 'at most 32768'],
    ['text', 'variables'],
  ])('%j is refused and changes nothing', async (variables, problem) => {
    const before = await storedRows(app.database);
    expect((await app.project.put('', { variables }, 400)).message).toContain(problem);
    expect(await storedRows(app.database)).toEqual(before);
  });
});

describe('the settings of a project', () => {
  test('given in part, on create or update, change only those', async () => {
    const { project, client } = await newProject({ strategy: { retry_count: 3 }, search_policy: '720h' });
    const expected = {
      ...DEFAULTS,
      strategy: { ...DEFAULTS.strategy, retry_count: 3 },
      search_policy: '720h',
    };
    expect(project.config).toEqual(expected);
    const config = { circuit_breaker: { error_timeout: 7 }, signature: { header: 'X-Mine' } };
    const changed = await client.put('', { name: project.name, config });
    expect(changed.config).toEqual({
      ...expected,
      circuit_breaker: { ...DEFAULTS.circuit_breaker, error_timeout: 7 },
      signature: { ...project.config.signature, header: 'X-Mine' },
    });
    expect((await client.get('')).config).toEqual(changed.config);
    expect((await client.put('', { name: 'renamed' })).config).toEqual(changed.config);
    expect((await client.post('', { name: 'renamed twice' }, 202)).name).toBe('renamed twice');
  });

  // differs Requests and answers: A `retention_policy` without `retention_policy_enabled` holds. convoy-go does
  //   not know the flag.
  test('have a retention policy like that of Convoy', async () => {
    const { project, client } = await newProject({ retention_policy: { policy: '48h' } });
    const policy = async () => (await client.get('')).config.retention_policy;
    expect(project.config.retention_policy).toEqual({ policy: '48h', retention_policy_enabled: true });
    await client.put('', { config: { retention_policy: { retention_policy_enabled: false } } });
    expect(await policy()).toEqual({ policy: '48h', retention_policy_enabled: false });
    await client.put('', { config: { retention_policy: { policy: '' } } });
    expect(await policy()).toEqual({ policy: '', retention_policy_enabled: false });
  });

  test('name each unknown key, a few of many, and store none', async () => {
    const { client } = await newProject();
    const config = Object.fromEntries(Array.from({ length: 30_000 }, (_, n) => [`${'k'.repeat(90)}${n}`, n]));
    const refused = await client.put('', { config }, 400);
    expect(refused.message.match(/is not a setting of a project/g)).toHaveLength(10);
    expect(refused.message.length).toBeLessThan(2_000);
  });

  // differs Requests and answers: Unknown keys of a project's `config` are refused, except `replay_attacks`,
  //   `is_retention_policy_enabled`, `signature.hash` and `meta_event.pub_sub`, which clients send. A typo
  //   should not look set.
  test('accept the extra fields of convoy-go, and store none of them', async () => {
    const { project, client } = await newProject();
    const config = {
      ratelimit: null,
      strategy: { type: 'exponential', duration: 5, retry_count: 6 },
      signature: { header: 'X-Mine', hash: 'SHA256' },
      retention_policy: { policy: '72h' },
      disable_endpoint: false,
      replay_attacks: false,
      is_retention_policy_enabled: false,
    };
    const updated = await client.put('', { name: project.name, type: 'outgoing', config });
    expect(updated.config).toEqual({
      ...project.config,
      strategy: { ...config.strategy, schedule: [] },
      signature: { ...project.config.signature, header: 'X-Mine' },
      retention_policy: { policy: '72h', retention_policy_enabled: true },
    });
  });

  test('changed by several callers at once all apply', async () => {
    const { project, client } = await newProject();
    const changes = [
      { search_policy: '1h' },
      { retention_policy: { policy: '2h' } },
      { max_payload_read_size: 3 },
      { strategy: { duration: 4 } },
      { ratelimit: { count: 5 } },
      { request_id_header: 'X-Six' },
      { disable_endpoint: true },
      { ssl: { enforce_secure_endpoints: true } },
    ];
    await Promise.all(changes.map((config) => client.put('', { name: project.name, config })));
    expect((await client.get('')).config).toMatchObject(Object.assign({}, ...changes));
  });

  test('get ids for new signature versions, and a secret for meta events if none is given', async () => {
    const config = {
      signature: { versions: [{ hash: 'SHA512', encoding: 'base64' }] },
      meta_event: { is_enabled: true, url: 'https://example.org/meta', event_type: ['*'] },
    };
    const { project } = await newProject(config);
    expect(project.config.signature.versions).toEqual([
      { uid: id, hash: 'SHA512', encoding: 'base64', created_at: time },
    ]);
    expect(project.config.meta_event.secret).toMatch(/^.{25}$/);
  });

  test.each([
    [{ strategy: { type: 'sometimes' } }, 'config.strategy.type'],
    [{ strategy: { retry_count: 0 } }, 'config.strategy.retry_count'],
    [{ strategy: { duration: 1.5 } }, 'config.strategy.duration'],
    [{ ratelimit: { count: -1 } }, 'config.ratelimit.count'],
    [{ signature: { versions: [{ hash: 'ROT13', encoding: 'hex' }] } }, 'config.signature.versions.0.hash'],
    [{ signature: { versions: [{ hash: 'SHA256' }] } }, 'config.signature.versions.0.encoding'],
    [{ signature: { header: 'two words' } }, 'config.signature.header'],
    [{ signature: { header: 'webhook-id' } }, 'config.signature.header'],
    [{ signature: { schemes: ['morse'] } }, 'config.signature.schemes.0'],
    [{ request_id_header: 'Content-Length' }, 'config.request_id_header'],
    [{ request_id_header: 'Expect' }, 'config.request_id_header'],
    [{ signature: { header: 'TE' } }, 'config.signature.header'],
    [{ search_policy: 'a week' }, 'config.search_policy'],
    [{ visible_headers: ['X Key'] }, 'config.visible_headers'],
    [{ visible_headers: ['AUTHORIZATION'] }, 'config.visible_headers'],
    [{ visible_headers: ['X-Sort-Key', 'Cookie'] }, 'config.visible_headers'],
    [{ retention_policy: '720h' }, 'config.retention_policy'],
    [{ retention_policy: { policy: '-1h' } }, 'config.retention_policy.policy'],
    [{ retention_policy: { retention_policy_enabled: true } }, 'config.retention_policy.policy'],
    [{ max_payload_read_size: '1MB' }, 'config.max_payload_read_size'],
    [{ meta_event: { is_enabled: true } }, 'config.meta_event.url'],
    [{ meta_event: { type: 'pigeon' } }, 'config.meta_event.type'],
    [{ meta_event: { url: 'http://169.254.169.254/' } }, 'config.meta_event.url'],
    [{ meta_event: { is_enabled: true, url: 'http://[fe80::1]/meta' } }, 'config.meta_event.url'],
    [{ meta_event: { url: 'https://user:password@example.org/' } }, 'config.meta_event.url'],
    [{ meta_event: { event_type: ['*', 'eventdelivery.retrying'] } }, 'config.meta_event.event_type'],
    [{ circuit_breaker: { failure_threshold: 101 } }, 'config.circuit_breaker.failure_threshold'],
    [{ max_payload: 5 }, 'config.max_payload'],
    [{ strategy: { durations: 5 } }, 'config.strategy.durations'],
    [{ __proto__x: 1, toString: 2 }, 'config.toString'],
    [
      { signature: { versions: [{ hash: 'SHA256', encoding: 'hex', salt: 1 }] } },
      'config.signature.versions.0.salt',
    ],
    ['everything', 'config'],
  ])('refuse %j', async (config, field) => {
    const before = await storedRows(app.database);
    const made = await app.instance.post('/projects', { name: 'bad', type: 'outgoing', config }, 400);
    expect(made).toMatchObject({ code: 'validation_failed', message: expect.stringContaining(`${field}: `) });
    const updated = await app.project.put('', { name: 'default', config }, 400);
    expect(updated.message).toBe(made.message);
    expect(await storedRows(app.database)).toEqual(before);
  });

  test('keep a meta event that is never sent where it is stored, and globs of it', async () => {
    const client = await app.newProject();
    const event_type = ['endpoint.*', 'eventdelivery.retrying'];
    await app.database.query(
      `update projects set config = jsonb_set(config, '{meta_event,event_type}', $2::jsonb) where id = $1`,
      [client.projectId, JSON.stringify(event_type)],
    );
    const { name, config } = await client.get('');
    expect(config.meta_event.event_type).toEqual(event_type);
    const kept = await client.put('', { name, config });
    expect(kept.config.meta_event.event_type).toEqual(event_type);
    for (const types of [['*'], ['eventdelivery.*'], ['eventdelivery.retrying*']])
      await client.put('', { name, config: { meta_event: { event_type: types } } });
    const again = { meta_event: { event_type } };
    expect((await client.put('', { name, config: again }, 400)).message).toContain(
      'retrying is not sent yet',
    );
  });

  test('with a missing or invalid name or type are refused', async () => {
    for (const body of [
      {},
      { name: '', type: 'outgoing' },
      { name: 'x'.repeat(257), type: 'outgoing' },
      { name: 'x', type: 'both' },
    ])
      expect((await app.instance.post('/projects', body, 400)).code).toBe('validation_failed');
  });
});
