import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { firstIdAt } from '../../src/domain/ids.ts';
import type { App } from '../../src/start/app.ts';
import { ensurePartitions } from '../../src/store/upkeep/partitions.ts';
import { removeExpiredOfProjects } from '../../src/store/upkeep/project-retention.ts';
import { removeExpired } from '../../src/store/upkeep/row-remover.ts';
import { scrape } from '../metrics/scrape.ts';
import { startTestApp, subscribe } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { linesOf } from '../support/log-lines.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shown } from '../support/settled.ts';
import { shared } from '../support/shared.ts';
import { upkeep } from '../support/upkeep.ts';

const DAY_MS = 86_400_000;
const { log, lines } = linesOf('info');
const directory = temporaryFolder(afterAll);
// Upkeep is done once, by each node with that role as it starts.
const ROLES = 'api,ingest,deliver,broker';
const app = await shared(startTestApp({ POSTHORN_ROLES: ROLES }, log));
const tidying: Promise<App>[] = [];
let again: NodeJS.Timeout | undefined;
const receiver = await shared(Receiver.start());
let listener: Receiver;
let project: ApiClient;
let projectId: string;
beforeEach(async () => {
  listener = await Receiver.start();
  await makeProject();
  return async () => {
    clearInterval(again);
    // Its upkeep would end what the next test stores, before the node of that test. With the lock no run is cut short.
    await eventually(
      () => upkeep(app.app.db, stopTidying).catch((error: Error) => error.message),
      (problem) => problem !== 'another node has the upkeep lock',
    );
    await listener.stop();
  };
});

async function makeProject(config: object = {}): Promise<void> {
  const meta_event = { is_enabled: true, url: `${listener.url}/meta`, event_type: ['eventdelivery.*'] };
  project = await app.newProject({ meta_event, ...config });
  ({ projectId } = project);
}

const idAt = (ageDays: number) =>
  firstIdAt(Date.now() - ageDays * DAY_MS).slice(0, 10) +
  projectId.slice(10, 22) +
  String(Math.random()).slice(2, 6).padEnd(4, '0');

/** An event of some age, with a delivery to an endpoint if one is named, that is due. */
async function storeOld(ageDays: number, endpointId?: string): Promise<string> {
  const id = idAt(ageDays);
  await ensurePartitions(app.app.db, Date.now() - ageDays * DAY_MS, DAY_MS);
  await app.database.query(
    `insert into events (id, project_id, event_type, status, is_duplicate, endpoints, payload, acknowledged_at)
     values ($1, $2, 'old', 'Success', false, '{}', '{"n":1.0}', now())`,
    [id, projectId],
  );
  if (endpointId === undefined) return id;
  await app.database.query(
    `with d as (
       insert into event_deliveries (id, project_id, event_id, endpoint_id, event_type, status, is_at_most_once, is_exponential,
         interval_seconds, max_retry_seconds, retry_limit, updated_at)
       values ($1, $2, $1, $3, 'old', 'Scheduled', false, false, 1, 2, 3, now()))
     insert into delivery_queue (delivery_id, event_id, project_id, key, lane, due_at) values ($1, $1, $2, $3, 0, now())`,
    [id, projectId, endpointId],
  );
  return id;
}

/**
 * A node that does upkeep as it starts. It gives up on what is locked for 2 s, as happens on a busy machine, and would
 * look again in 10 min. So others follow it.
 */
async function addTidyingNode(env: Record<string, string> = {}): Promise<App> {
  const add = () => {
    const node = app.addNode({ POSTHORN_ROLES: `${ROLES},janitor`, ...env });
    tidying.push(node);
    return node;
  };
  clearInterval(again);
  again = setInterval(() => void add(), 20_000);
  return add();
}

async function stopTidying(): Promise<void> {
  await Promise.all(tidying.splice(0).map(async (node) => (await node).stop()));
}

const deliveryOf = (id: string) => project.get(`/eventdeliveries/${id}`);
const discarded = (id: string) => shown(project, `/eventdeliveries/${id}`, { status: 'Discarded' });
const isStored = async (id: string) =>
  (await app.database.query('select id from events where id = $1', [id])).length === 1;
const removed = (id: string) => eventually(() => isStored(id), false);

async function closedEndpoint(gate: 'paused' | 'breaker'): Promise<string> {
  const { endpoint } = await subscribe(project, receiver.url);
  if (gate === 'paused') await project.put(`/endpoints/${endpoint.uid}/pause`);
  else
    await app.database.query(
      `with p as (update projects set version = version + 1 where id = $2 returning version)
       insert into endpoint_breakers (endpoint_id, project_id, version, state, trips, changed_at)
       select $1, $2, version, 'open', 1, now() + interval '1 day' from p`,
      [endpoint.uid, projectId],
    );
  // Known to the node that sends, or it would send.
  await eventually(
    () => project.get(`/endpoints/${endpoint.uid}`),
    (seen) => gate === 'breaker' || seen.status === 'paused',
  );
  await app.app.db.query("select pg_notify('posthorn_config', $1)", [projectId]);
  return endpoint.uid;
}

describe('a delivery that is open for twice the retention', () => {
  test.each([
    ['paused', 'the endpoint is paused'],
    ['breaker', 'the circuit breaker of the endpoint is open'],
  ] as const)(
    'ends as discarded, with the reason and one meta event, when its gate is %s',
    async (gate, reason) => {
      const endpointId = await closedEndpoint(gate);
      const [tooOld, old] = [await storeOld(61, endpointId), await storeOld(59, endpointId)];
      await addTidyingNode();
      const ended = await discarded(tooOld);
      expect(ended.description).toBe(`Open for more than 1440 hours, twice the retention: ${reason}.`);
      expect((await deliveryOf(old)).status).toBe('Scheduled');
      const [reported] = await listener.received(1);
      expect(reported?.json).toMatchObject({
        event_type: 'eventdelivery.discarded',
        data: {
          uid: tooOld,
          event_id: tooOld,
          status: 'Discarded',
          description: ended.description,
          attempt: null,
        },
      });
      expect(reported?.body.toString()).toContain('"data":{"n":1.0}');
      // The next run removes the blocked data, and creates no second meta event.
      await addTidyingNode();
      await removed(tooOld);
      expect(await isStored(old)).toBe(true);
      expect(
        await app.database.query('select from meta_events where project_id = $1', [projectId]),
      ).toHaveLength(1);
      expect(receiver.requests).toEqual([]);
      await app.database.query('delete from delivery_queue where project_id = $1', [projectId]);
    },
  );

  test('is counted by the retention of its project if that is shorter, many in chunks', async () => {
    await makeProject({ retention_policy: { policy: '24h' } });
    const endpointId = await closedEndpoint('paused');
    const old: string[] = [];
    for (let n = 0; n < 45; n += 1) old.push(await storeOld(2.1, endpointId));
    const young = await storeOld(1.9, endpointId);
    await addTidyingNode();
    await discarded(old.at(-1) ?? '');
    expect((await deliveryOf(old[0] ?? '')).description).toContain('more than 48 hours');
    expect((await deliveryOf(young)).status).toBe('Scheduled');
    await listener.received(45);
    const reported = listener.requests.map(({ json }): string => json.data.uid);
    expect(reported).toHaveLength(45);
    expect(new Set(reported)).toEqual(new Set(old));
  });

  test('creates no meta event in a project without them', async () => {
    await makeProject({ meta_event: { is_enabled: false } });
    const id = await storeOld(61, await closedEndpoint('paused'));
    await addTidyingNode();
    await discarded(id);
    expect(await app.database.query('select from meta_events where project_id = $1', [projectId])).toEqual(
      [],
    );
  });

  test('also if it is a meta event, without another meta event about it', async () => {
    const id = idAt(61);
    await ensurePartitions(app.app.db, Date.now() - 61 * DAY_MS, DAY_MS);
    await app.database.query(
      `with m as (
         insert into meta_events (id, project_id, event_type, status, payload, is_exponential, interval_seconds,
           max_retry_seconds, retry_limit, updated_at)
         values ($1, $2, 'endpoint.created', 'Retry', '{}', false, 1, 2, 3, now()))
       insert into delivery_queue (delivery_id, event_id, project_id, key, lane, kind, due_at)
       values ($1, $1, $2, 'meta:' || $2, 0, 1, now() + interval '1 day')`,
      [id, projectId],
    );
    await addTidyingNode();
    await shown(project, `/meta-events/${id}`, { status: 'Discarded' });
    expect(
      await app.database.query('select from meta_events where project_id = $1', [projectId]),
    ).toHaveLength(1);
    expect(await app.database.query('select from delivery_queue where project_id = $1', [projectId])).toEqual(
      [],
    );
  });
});

test('an open delivery past the retention keeps no other row, is delivered later, and then goes too', async () => {
  const endpointId = await closedEndpoint('paused');
  const [open, ended] = [await storeOld(40, endpointId), await storeOld(40)];
  const holder = project;
  await makeProject();
  const other = await storeOld(40);
  await addTidyingNode();
  await removed(other);
  await removed(ended);
  expect(await isStored(open)).toBe(true);
  expect((await holder.get(`/eventdeliveries/${open}`)).status).toBe('Scheduled');
  await holder.put(`/endpoints/${endpointId}/pause`);
  await shown(holder, `/eventdeliveries/${open}`, { status: 'Success' });
  expect(receiver.requests.map(({ body }) => body.toString())).toContain('{"n":1.0}');
  await addTidyingNode();
  await removed(open);
});

describe('POSTHORN_EXPORT_DIR', () => {
  async function exportedLines(id: string): Promise<Json[]> {
    const names = (await readdir(directory)).filter((name) => /^events_.*gz$/.test(name));
    const texts = await Promise.all(names.map((name) => readFile(join(directory, name))));
    const stored = texts.flatMap((text) => gunzipSync(text).toString().split('\n'));
    return stored.filter((line) => line.includes(id)).map((line) => JSON.parse(line));
  }

  // proves Instance: POSTHORN_EXPORT_DIR
  test('gets the data before it is removed', async () => {
    const id = await storeOld(40);
    await addTidyingNode({ POSTHORN_EXPORT_DIR: directory });
    await removed(id);
    // It can no longer be seen a moment before it is there.
    const exported = await eventually(() => exportedLines(id), { length: atLeast(1) });
    expect(exported).toMatchObject([{ id, project_id: projectId, payload: '{"n":1.0}' }]);
  });

  test('that is not writable prevents removal, and the log and the metrics report it', async () => {
    const id = await storeOld(50);
    const missing = join(directory, 'missing');
    const node = await addTidyingNode({ POSTHORN_EXPORT_DIR: missing });
    const failing = async () => (await scrape(node.url)).value('posthorn_export_failing');
    await eventually(failing, 1);
    expect(await isStored(id)).toBe(true);
    expect((await project.get(`/events/${id}`)).uid).toBe(id);
    const said = lines().filter(({ msg }) => msg.includes('export failed: nothing is removed'));
    expect(said.map(({ problem }) => problem)).toEqual([expect.stringContaining(missing)]);
    expect((await fetch(`${node.url}/readyz`)).status).toBe(200);
    // Another node can, and does.
    const well = await addTidyingNode({ POSTHORN_EXPORT_DIR: directory });
    await removed(id);
    expect((await scrape(well.url)).value('posthorn_export_failing')).toBe(0);
  });
});

test('an audit entry is removed at the retention of events', async () => {
  const [old, young] = [idAt(31), idAt(29)];
  await app.database.query(
    `insert into audit_entries (id, project_id, actor_type, action, resource_type)
     select id, $2, 'instance', 'endpoint.disabled', 'endpoint' from unnest($1::text[]) as e(id)`,
    [[old, young], projectId],
  );
  const listed = async (): Promise<string[]> =>
    (await project.get('/audit?action=endpoint.disabled')).content.map(({ uid }: Json) => uid);
  expect((await listed()).toSorted()).toEqual([old, young]);
  await addTidyingNode();
  expect(await eventually(listed, (uids) => !uids.includes(old))).toEqual([young]);
});

describe('an idempotency key', () => {
  const post = (key: string): Promise<Json> =>
    project.post('/events', { endpoint_id: endpointId, event_type: 'e', data: {}, idempotency_key: key });
  const keys = async () =>
    (
      await app.database.query('select key from event_keys where project_id = $1 order by key', [projectId])
    ).map((row) => row['key']);
  let endpointId: string;

  beforeEach(async () => {
    endpointId = (await subscribe(project, receiver.url)).endpoint.uid;
  });

  /** Makes an event, and its key with it, a few days older. */
  async function age(event: Json, days: number): Promise<void> {
    const id = idAt(days);
    await ensurePartitions(app.app.db, Date.now() - days * DAY_MS, DAY_MS);
    await app.database.query('delete from event_deliveries where event_id = $1', [event.uid]);
    await app.database.query('update events set id = $2 where id = $1', [event.uid, id]);
    await app.database.query('update event_keys set event_id = $2 where event_id = $1', [event.uid, id]);
  }

  async function postAndDeliver(key: string): Promise<Json> {
    const event = await post(key);
    await eventually(
      () => app.database.query('select from delivery_queue where event_id = $1', [event.uid]),
      { length: 0 },
    );
    return event;
  }

  test.each(['its partition', "its project's retention"])(
    'detects duplicates while its event is kept, and is free once it is removed with %s',
    async (by) => {
      if (by !== 'its partition') {
        await makeProject({ retention_policy: { policy: '48h' } });
        endpointId = (await subscribe(project, receiver.url)).endpoint.uid;
      }
      const [gone, kept] = [await postAndDeliver('gone'), await postAndDeliver('kept')];
      await age(gone, by === 'its partition' ? 9 : 3);
      await age(kept, by === 'its partition' ? 6 : 1);
      expect((await post('gone')).is_duplicate_event).toBe(true);
      await eventually(
        () =>
          upkeep<unknown>(app.app.db, (options) =>
            by === 'its partition'
              ? removeExpired(options, { ms: Date.now() - 7.5 * DAY_MS })
              : removeExpiredOfProjects(options, Date.now()),
          ).then(keys),
        { length: 1 },
      );
      expect(await keys()).toEqual(['kept']);
      expect((await post('kept')).is_duplicate_event).toBe(true);
      expect((await post('gone')).is_duplicate_event).toBe(false);
      expect((await post('gone')).is_duplicate_event).toBe(true);
    },
  );

  test('stays with an event past the retention whose partition is still there', async () => {
    await age(await postAndDeliver('late'), 3);
    await upkeep(app.app.db, (options) =>
      // In the middle of the partition.
      removeExpired(options, { ms: Math.floor((Date.now() - 3 * DAY_MS) / DAY_MS) * DAY_MS + DAY_MS - 1 }),
    );
    expect(await keys()).toEqual(['late']);
    expect((await post('late')).is_duplicate_event).toBe(true);
  });
});
