import { beforeAll, describe, expect, test } from 'vitest';
import { type MetaEventType, metaEventTypes } from '../../src/domain/meta-event.ts';
import { startTestApp } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { cases, prepareCall } from '../support/operations/cases.ts';
import { operations } from '../support/operations/documented.ts';
import { type Scene as Calls, newScene as newCalls } from '../support/operations/scene.ts';
import { Receiver } from '../support/servers/receiver.ts';
import {
  boolean,
  type Check,
  fields,
  id,
  integer,
  listOf,
  nothing,
  nullable,
  object,
  oneOf,
  text,
  time,
} from '../support/shape.ts';
import { shared } from '../support/shared.ts';
import { paths, type Scene } from './meta-event-paths.ts';

const app = await shared(startTestApp());
/** Only these fields, so that a later field of a resource, such as a secret, is not included by accident. */
const only =
  (checks: Record<string, Check>): Check =>
  (value, path) => [
    ...fields(checks)(value, path),
    ...Object.keys(value as object)
      .filter((name) => !(name in checks))
      .map((name) => `${path}.${name} is one too many`),
  ];

const times = { created_at: time, updated_at: time, deleted_at: nullable(time) };
/** A deleted endpoint has none. */
const state = {
  state: oneOf('failing', 'disabled', 'degraded', 'held', 'recovered', 'ok'),
  failing_since: nullable(time),
  recovered_at: nullable(time),
  sent_since: integer,
  held_by: oneOf('', 'circuit_breaker', 'paused', 'pending'),
  held_until: nullable(time),
};
const endpoint = {
  uid: id,
  project_id: id,
  owner_id: text,
  name: text,
  description: text,
  url: text,
  status: oneOf('active', 'paused', 'inactive', 'pending'),
  advanced_signatures: boolean,
  content_type: text,
  cloudevents: text,
  http_timeout: integer,
  final_status_codes: listOf(integer),
  rate_limit: integer,
  rate_limit_duration: integer,
  support_email: text,
  metadata: object,
  user_agent: text,
  envelope_fields: object,
  max_body_bytes: integer,
  verification: oneOf('none', 'challenge'),
  expires_at: nullable(time),
  envelope: oneOf('project', 'none', 'standard'),
  webhook_id: oneOf('delivery', 'event'),
  delivery: oneOf('push', 'pull'),
  key: text,
  ...times,
};
const delivery = {
  uid: id,
  project_id: id,
  event_id: id,
  endpoint_id: id,
  subscription_id: id,
  event_type: text,
  status: oneOf('Success', 'Failure', 'Discarded'),
  description: text,
  idempotency_key: text,
  url_query_params: text,
  metadata: only({
    data: object,
    strategy: text,
    num_trials: integer,
    interval_seconds: integer,
    retry_limit: integer,
    max_retry_seconds: integer,
  }),
  attempt: nullable(
    only({
      uid: id,
      url: text,
      ip_address: text,
      http_status: text,
      error: text,
      status: boolean,
      requested_at: time,
    }),
  ),
  acknowledged_at: time,
  created_at: time,
  updated_at: time,
};
const shapes: Record<string, Record<string, Check>> = {
  endpoint: { ...endpoint, ...state },
  eventdelivery: delivery,
  subscription: {
    uid: id,
    project_id: id,
    name: text,
    type: text,
    status: oneOf('active', 'inactive'),
    endpoint_id: id,
    source_id: text,
    delivery_mode: text,
    ttl_seconds: integer,
    filter_config: only({ event_types: listOf(text), filter: object }),
    alert_config: nullable(object),
    rate_limit_config: nullable(object),
    retry_config: nullable(object),
    ordering: nullable(object),
    batch: nullable(object),
    key: text,
    ...times,
  },
  source: {
    uid: id,
    project_id: id,
    name: text,
    type: text,
    provider: text,
    is_disabled: boolean,
    key: text,
    ...times,
  },
  project: { uid: id, name: text, type: text, logo_url: text, config: object, ...times },
  alert: {
    kind: oneOf('failures', 'breaker', 'disabled', 'certificate', 'ordering', 'outage'),
    project_id: id,
    endpoint_id: id,
    endpoint: only({ uid: id, name: text, url: text, ...state }),
    subscription_id: text,
    certificate: nothing,
    summary: text,
    last_status: text,
    last_reason: text,
    last_delivery_id: text,
    links: only({ endpoint: text, last_delivery: text }),
  },
};

async function newScene(type: string, listener: Receiver, receiver: Receiver): Promise<Scene> {
  const project = await app.newProject({
    strategy: { type: 'linear', duration: 1, retry_count: 3 },
    meta_event: { is_enabled: true, url: listener.url, secret: 'meta secret', event_type: [type] },
  });
  let isBroken = true;
  receiver.answerAlways(({ path }, response) => {
    const status = path === '/gone' ? 410 : path === '/broken' && isBroken ? 500 : 200;
    response.writeHead(status).end();
  });
  const mend = () => {
    isBroken = false;
  };
  const alerts = () => app.database.query('select * from alerts where project_id = $1', [project.projectId]);
  return { project, receiver, mend, alerts };
}

const sorted = (ids: unknown[]): string[] => ids.map(String).sort((a, b) => (a < b ? -1 : 1));
const subject = ({ data }: Json): string => data.uid ?? data.endpoint_id;

/** Nothing is left that could still make or send a meta event. */
const quiet = (projectId: string) =>
  eventually(
    () =>
      app.database.query(
        `select (select count(*) from delivery_queue where project_id = $1)
           + (select count(*) from jobs where project_id = $1 and status in ('queued', 'running')) as open`,
        [projectId],
      ),
    ([row]) => Number(row?.['open']) === 0,
  );

/** All that is stored was received, once, and has the fields of its type and no others. */
async function expectReceived(project: ApiClient, listener: Receiver): Promise<void> {
  const ids = listener.requests.map(({ headers }) => headers['webhook-id']);
  const stored: Json[] = (await project.get('/meta-events?perPage=1000')).content;
  expect(sorted(stored.map(({ uid }) => uid))).toEqual(sorted(ids));
  expect(new Set(stored.map(({ status }) => status))).toEqual(new Set(['Success']));
  const problems = listener.requests.flatMap(({ json }) => {
    const type: string = json.event_type;
    const [family = ''] = type.split('.');
    const reason = type === 'endpoint.disabled' ? { reason: text } : {};
    const shape = type === 'endpoint.deleted' ? endpoint : shapes[family];
    return only({ event_type: oneOf(type), data: only({ ...shape, ...reason }) })(json, type);
  });
  expect(problems).toEqual([]);
}

describe.each(Object.entries(paths))('%s', (type, ways) => {
  test.each(Object.entries(ways))('by %s is received once per change', async (_name, change) => {
    const [listener, receiver] = [await Receiver.start(), await Receiver.start()];
    try {
      const scene = await newScene(type, listener, receiver);
      const changed = await change(scene);
      expect(changed.length).toBeGreaterThan(0);
      await listener.received(changed.length);
      scene.mend();
      await quiet(scene.project.projectId);

      const received = listener.requests.map(({ json }) => json);
      expect(sorted(received.map(subject))).toEqual(sorted(changed));
      expect(new Set(received.map(({ event_type }) => event_type))).toEqual(new Set([type]));
      await expectReceived(scene.project, listener);
    } finally {
      await listener.stop();
      await receiver.stop();
    }
  });
});

/** The meta event of an audited action. A change of a filter is one of its subscription. */
function typeOf(action: string): MetaEventType | undefined {
  const type = /^filter\.|^subscription\.(de)?activated$/.test(action) ? 'subscription.updated' : action;
  return metaEventTypes.find((each) => each === type);
}

const listener = await shared(Receiver.start());
const receiver = await shared(Receiver.start());

describe('the meta events of a call are those of its audit entries:', () => {
  const types = ['endpoint.*', 'source.*', 'subscription.*', 'project.*'];
  let scene: Calls;
  beforeAll(async () => {
    scene = await newCalls(app, receiver, await app.newProject());
    const meta_event = { is_enabled: true, url: listener.url, secret: 'meta secret', event_type: types };
    await scene.project.put('', { config: { meta_event } });
  });

  const changing = operations.filter(({ caseId }) => {
    const audit = cases[caseId]?.audit;
    return Array.isArray(audit) && audit.some(({ action }) => typeOf(action) !== undefined);
  });

  test.each(changing)('$name', async (operation) => {
    const { caller, ids, path, body } = await prepareCall(scene, operation);
    const last = async (list: string) => (await scene.project.get(`${list}?perPage=1`)).content[0].uid;
    const after = async (list: string, uid: string): Promise<Json[]> =>
      (await scene.project.get(`${list}?perPage=100`)).content.filter((row: Json) => row.uid > uid);
    const [lastEntry, lastMetaEvent] = [await last('/audit'), await last('/meta-events')];
    await caller.call(operation.method, path, { body, expected: operation.status });
    const wanted = (await after('/audit', lastEntry)).flatMap(({ action, resource }) => {
      const uid = resource.type === 'filter' ? ids['subscriptionID'] : resource.uid;
      const type = typeOf(action);
      return type === undefined ? [] : [`${type} ${uid}`];
    });
    const made = await after('/meta-events', lastMetaEvent);
    expect(wanted.length).toBeGreaterThan(0);
    expect(sorted(made.map((row) => `${row.event_type} ${subject(row.metadata.data)}`))).toEqual(
      sorted([...new Set(wanted)]),
    );
  });

  test('each is received once', async () => {
    await quiet(scene.project.projectId);
    await expectReceived(scene.project, listener);
    const received = listener.requests.map(({ json }) => json.event_type);
    expect(new Set([...received, ...Object.keys(paths)])).toEqual(new Set(metaEventTypes));
  });
});

test('a meta event that keeps failing creates no meta event or alert and disables nothing, with every type enabled', async () => {
  const [listener, receiver] = [await Receiver.start(), await Receiver.start()];
  try {
    const { project } = await newScene('*', listener, receiver);
    listener.answerAlways((_, response) => response.writeHead(500).end());
    const { uid, name } = await project.get('');
    await project.put('', {
      name,
      config: {
        disable_endpoint: true,
        strategy: { type: 'linear', duration: 1, retry_count: 2 },
        circuit_breaker: { sample_rate: 1, minimum_request_count: 1, failure_threshold: 1 },
      },
    });
    await quiet(uid);
    // Time for the check of failures each second.
    await eventually(
      () =>
        app.database.query(
          'select now() - max(updated_at) > $2 as passed from meta_events where project_id = $1',
          [uid, '3s'],
        ),
      [{ passed: true }],
    );
    const stored: Json[] = (await project.get('/meta-events')).content;
    expect(stored.map(({ event_type, status }) => [event_type, status])).toEqual([
      ['project.updated', 'Failure'],
    ]);
    expect(listener.requests).toHaveLength(2);
    expect(await app.database.query('select 1 from alerts where project_id = $1', [uid])).toEqual([]);
    expect(await app.database.query('select 1 from endpoint_breakers where project_id = $1', [uid])).toEqual(
      [],
    );
  } finally {
    await listener.stop();
    await receiver.stop();
  }
});
