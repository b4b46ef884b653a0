import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { httpSource, subscribe } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import type { Program } from '../support/program.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { askingOf, type Scene, setScene } from './scene.ts';

/**
 * The program killed while changes of every kind are made. What its database then holds is compared with its meta
 * events, and these with what their listener got.
 */
const KILL_AT = 150;
const WORKERS = 8;

/** Calls of all kinds until the program is gone. Each change has a name of its own. */
class Changes {
  /** Names that updates gave endpoints and that were answered. */
  readonly answered = new Set<string>();
  /** All names that updates tried to give. */
  readonly tried = new Set<string>();
  readonly done: Promise<void>;
  readonly #client: ApiClient;
  readonly #url: string;
  #calls = 0;
  #isOver = false;
  #reached = () => {};

  constructor(client: ApiClient, url: string) {
    this.#client = client;
    this.#url = url;
    this.done = Promise.all(Array.from({ length: WORKERS }, (_, n) => this.#work(n))).then(() => {});
  }

  reached(calls: number): Promise<void> {
    return new Promise((resolve) => {
      this.#reached = () => {
        if (this.#calls >= calls) resolve();
      };
    });
  }

  end(): void {
    this.#isOver = true;
  }

  async #work(worker: number): Promise<void> {
    for (let n = 0; !this.#isOver; n++) {
      try {
        await this.#round(`${worker}-${n}`);
      } catch (error) {
        // A call that the kill cut off; any other failure is one of this test.
        if (!(error instanceof TypeError)) throw error;
        await delay(20);
      }
    }
  }

  async #round(name: string): Promise<void> {
    const client = this.#client;
    const call = async <T>(made: Promise<T>): Promise<T> => {
      const answer = await made;
      this.#calls += 1;
      this.#reached();
      return answer;
    };
    const endpoint: Json = await call(client.post('/endpoints', { name, url: this.#url }));
    await call(client.post('/events', { endpoint_id: endpoint.uid, event_type: 'e', data: { name } }));
    const source: Json = await call(httpSource(client, { name }));
    const subscription = { name, endpoint_id: endpoint.uid, source_id: source.uid };
    await call(client.post('/subscriptions', subscription));
    const dynamic = { url: `${this.#url}/${name}`, event_types: ['e'], event_type: 'e', data: {} };
    await call(client.post('/events/dynamic', dynamic));
    this.tried.add(`renamed ${name}`);
    await call(client.put(`/endpoints/${endpoint.uid}`, { name: `renamed ${name}`, url: this.#url }));
    this.answered.add(`renamed ${name}`);
    await call(client.post('/events/broadcast', { event_type: 'held', data: { name } }));
    await call(client.post('/eventdeliveries/cancel', { eventType: 'held' }, 200));
    await call(client.delete(`/sources/${source.uid}`));
    await call(client.delete(`/endpoints/${endpoint.uid}`));
  }
}

async function prepare(scene: Scene, program: Program, listener: Receiver): Promise<ApiClient> {
  const client = await scene.client(program);
  const { endpoint } = await subscribe(client, `${scene.receiver.url}/held`, { eventTypes: ['held'] });
  await client.put(`/endpoints/${endpoint.uid}/pause`);
  const meta_event = { is_enabled: true, url: listener.url, secret: 's', event_type: ['*'] };
  await client.put('', { name: 'default', config: { meta_event } });
  return client;
}

/** The expected meta events, from the rows of the changes. */
const TRUTH = `
select 'endpoint.created' as type, id from endpoints where version > $1
union all select 'endpoint.deleted', id from endpoints where deleted_at is not null
union all select 'subscription.created', id from subscriptions where version > $1
union all select 'subscription.deleted', id from subscriptions where deleted_at is not null
union all select 'source.created', id from sources
union all select 'source.deleted', id from sources where deleted_at is not null
union all select 'eventdelivery.success', id from event_deliveries where status = 'Success'
union all select 'eventdelivery.failed', id from event_deliveries where status = 'Failure'
union all select 'eventdelivery.discarded', id from event_deliveries where status = 'Discarded'
order by 1, 2`;

/** Ids of meta events and how often they came in. */
function arrivals(requests: Receiver['requests']): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { headers } of requests) {
    const id = String(headers['webhook-id']);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

test('a node killed during config changes: each change has one meta event, which is received', async (context) => {
  const scene = await setScene(context);
  const listener = await Receiver.start();
  context.onTestFinished(() => listener.stop());
  listener.answerAlways((_, response) => {
    setTimeout(() => response.writeHead(200).end(), 15);
  });
  const program = await scene.start();
  const client = await prepare(scene, program, listener);
  const [{ version }] = (await askingOf(program)('select version from projects')) as [{ version: string }];

  const changes = new Changes(client, scene.receiver.url);
  const items = Array.from({ length: 300 }, (_, n) => ({
    name: `onboarded ${n}`,
    url: scene.receiver.url,
    event_type: 'none',
  }));
  await client.post('/onboard', { items }, 202);
  await changes.reached(KILL_AT);
  await program.kill();
  changes.end();
  await changes.done;
  // Its database is still there: what it calls sent must not come again.
  const recorded = await askingOf(program)("select id from meta_events where status = 'Success'");
  const before = listener.requests.length;

  const again = await scene.start();
  const ask = askingOf(again);
  // The paused endpoint still has deliveries that were not cancelled.
  await (await scene.client(again)).post('/eventdeliveries/cancel', { eventType: 'held' }, 200);
  await eventually(
    () =>
      ask(
        "select (select count(*) from delivery_queue) + (select count(*) from jobs where status in ('queued', 'running')) as open",
      ),
    ([row]) => Number(row?.open) === 0,
  );

  const events = (await ask(
    "select id, event_type as type, status, num_trials, convert_from(payload, 'UTF8') as payload from meta_events order by id",
  )) as { id: string; type: string; status: string; num_trials: number; payload: string }[];
  const told = events.map(({ type, payload }) => ({ type, data: JSON.parse(payload).data }));
  const truth = (await ask(TRUTH.replaceAll('$1', version))) as { type: string; id: string }[];
  const named = (rows: { type: string; id: string }[]) => rows.map(({ type, id }) => `${type} ${id}`).sort();
  const ofRows = told.filter(({ type }) => truth.some((row) => row.type === type));
  expect(named(ofRows.map(({ type, data }) => ({ type, id: data.uid })))).toEqual(named(truth));
  for (const type of [
    'endpoint.created',
    'subscription.deleted',
    'eventdelivery.success',
    'eventdelivery.discarded',
  ])
    expect(truth.filter((row) => row.type === type).length).toBeGreaterThan(5);

  const updates = told
    .filter(({ type }) => type === 'endpoint.updated')
    .map(({ data }) => data.name as string);
  expect(new Set(updates).size).toBe(updates.length);
  expect([...changes.answered].filter((name) => !updates.includes(name))).toEqual([]);
  expect(updates.filter((name) => !changes.tried.has(name))).toEqual([]);

  const arrived = arrivals(listener.requests);
  expect([...arrived.keys()].sort()).toEqual(events.map(({ id }) => id).sort());
  expect(Math.max(...arrived.values())).toBeLessThanOrEqual(2);
  expect(new Set(events.map(({ status, num_trials }) => `${status} ${num_trials}`))).toEqual(
    new Set(['Success 1']),
  );
  const later = arrivals(listener.requests.slice(before));
  expect(recorded.length).toBeGreaterThan(0);
  expect(recorded.filter(({ id }) => later.has(id))).toEqual([]);
});
