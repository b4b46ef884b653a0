import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { httpSource, startTestApp, subscribe } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { Load } from '../../support/load.ts';
import { type Received, Receiver } from '../../support/servers/receiver.ts';
import { newestDelivery, shown } from '../../support/settled.ts';
import { shared } from '../../support/shared.ts';
import { needs } from '../../support/suite/parts.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());

const jsonOf = (requests: Received[]): Json[] => requests.map(({ json }) => json);

const broadcast = (type: string, data: unknown = {}): Promise<Json> =>
  app.project.post('/events/broadcast', { event_type: type, data });

const listen = (path: string, type: string, code: string, fields: object = {}) =>
  subscribe(app.project, `${receiver.url}${path}`, {
    eventTypes: [type],
    subscription: { function: code, ...fields },
  });

const deliveryWith = (event: Json, satisfied: (delivery: Json) => boolean): Promise<Json> =>
  eventually(
    async () => (await app.project.get(`/eventdeliveries?eventId=${event.uid}`)).content[0],
    (delivery) => delivery !== undefined && satisfied(delivery),
  );

const change = (subscription: Json, code: string) =>
  app.project.put(`/subscriptions/${subscription.uid}`, { function: code });

test('a function changed before a retry does not change the body: the first one is kept', async () => {
  const { subscription } = await listen(
    '/kept',
    'kept',
    'function transform() { return { made: "first" } }',
    {
      retry_config: { type: 'linear', interval_seconds: 1, retry_count: 3 },
    },
  );
  receiver.answerNext(500);
  const event = await broadcast('kept');
  await deliveryWith(event, (delivery) => delivery.metadata.num_trials === 1);
  await change(subscription, 'function transform() { return { made: "second" } }');
  await deliveryWith(event, (delivery) => delivery.status === 'Success');
  expect(jsonOf(receiver.at('/kept'))).toEqual([{ made: 'first' }, { made: 'first' }]);
  await broadcast('kept');
  expect((await receiver.received(3, '/kept'))[2]?.json).toEqual({ made: 'second' });
});

test('a failing function ends its own delivery, with the reason and no attempt, and no other; a resend runs the current one', async () => {
  const code = 'function transform() { throw new Error("no such customer") }';
  const { endpoint, subscription } = await listen('/again', 'again', code);
  const other = await subscribe(app.project, `${receiver.url}/other`, { eventTypes: ['again'] });
  await broadcast('again', { n: 1 });
  const failed = await newestDelivery(app.project, `endpointId=${endpoint.uid}`, 'Failure');
  expect([failed.metadata.num_trials, failed.description]).toEqual([
    0,
    expect.stringMatching(/function failed.*no such customer/),
  ]);
  await newestDelivery(app.project, `endpointId=${other.endpoint.uid}`, 'Success');
  expect(await app.project.get(`/eventdeliveries/${failed.uid}/deliveryattempts`)).toEqual([]);
  await change(subscription, 'function transform(p) { return { fixed: p.n } }');
  await app.project.put(`/eventdeliveries/${failed.uid}/resend`, undefined, 200);
  await shown(app.project, `/eventdeliveries/${failed.uid}`, { status: 'Success' });
  expect([jsonOf(receiver.at('/again')), jsonOf(receiver.at('/other'))]).toEqual([
    [{ fixed: 1 }],
    [{ n: 1 }],
  ]);
});

test('replaying an event that a function of its source failed runs the source’s functions again', async () => {
  const source = await httpSource(app.project, {
    body_function: 'function transform() { throw new Error("not yet") }',
  });
  await subscribe(app.project, `${receiver.url}/replayed`, { subscription: { source_id: source.uid } });
  const headers = { 'content-type': 'application/json' };
  expect((await fetch(source.url, { method: 'POST', body: '{"n":1}', headers })).status).toBe(200);
  const [event] = (await app.project.get(`/events?sourceId=${source.uid}`)).content;
  expect([event.status, event.failure_reason]).toEqual(['Failure', expect.stringContaining('not yet')]);
  await app.project.put(`/sources/${source.uid}`, {
    name: 'source',
    type: 'http',
    body_function: 'function transform(payload) { return { ...payload, late: true } }',
  });
  await app.project.put(`/events/${event.uid}/replay`, undefined, 200);
  expect(jsonOf(await receiver.received(1, '/replayed'))).toEqual([{ n: 1, late: true }]);
});

test('a replay that ran the source’s functions without a match does not run them on their own result', async () => {
  const source = await httpSource(app.project, {
    name: 'counting',
    body_function: 'function transform() { throw new Error("not yet") }',
  });
  const headers = { 'content-type': 'application/json' };
  expect((await fetch(source.url, { method: 'POST', body: '{"runs":0}', headers })).status).toBe(200);
  const [event] = (await app.project.get(`/events?sourceId=${source.uid}`)).content;
  await app.project.put(`/sources/${source.uid}`, {
    name: 'counting',
    type: 'http',
    body_function: 'function transform(payload) { return { runs: payload.runs + 1 } }',
  });
  await app.project.put(`/events/${event.uid}/replay`, undefined, 200);
  expect((await app.project.get(`/events/${event.uid}`)).data).toEqual({ runs: 1 });
  await subscribe(app.project, `${receiver.url}/once`, { subscription: { source_id: source.uid } });
  await app.project.put(`/events/${event.uid}/replay`, undefined, 200);
  expect(jsonOf(await receiver.received(1, '/once'))).toEqual([{ runs: 1 }]);
});

test('functions of a rest_api source run on events by API before they are matched', async () => {
  const source = await app.project.post('/sources', {
    name: 'rest',
    type: 'rest_api',
    body_function: 'function transform(payload) { return { kind: "seen", was: payload } }',
    header_function: 'function transform(headers) { return { ...headers, "X-Added": "yes" } }',
  });
  await subscribe(app.project, `${receiver.url}/rest`, {
    subscription: {
      source_id: source.uid,
      filter_config: {
        event_types: ['rest'],
        filter: { body: { kind: 'seen' }, headers: { 'x-added': 'yes' } },
      },
    },
  });
  await app.project.post('/events/broadcast', {
    event_type: 'rest',
    data: { n: 1.5 },
    source_id: source.uid,
  });
  const [request] = await receiver.received(1, '/rest');
  expect([request?.json, request?.headers['x-added']]).toEqual([{ kind: 'seen', was: { n: 1.5 } }, 'yes']);
});

test(
  'a lost sandbox uses no retry: the delivery is sent later, at its first attempt',
  needs('ps'),
  async () => {
    await listen(
      '/lost',
      'lost',
      'function transform() { let n = 0; while (n < 1e7) n++; return { fine: true } }',
      {
        retry_config: { type: 'linear', interval_seconds: 1, retry_count: 0 },
      },
    );
    killSandboxes();
    const killing = setInterval(killSandboxes, 5);
    try {
      const event = await broadcast('lost');
      await deliveryWith(event, (delivery) => delivery.description?.startsWith('Not sent:') === true);
      clearInterval(killing);
      const sent = await deliveryWith(event, (delivery) => delivery.status === 'Success');
      expect(sent.metadata.num_trials).toBe(1);
      expect(await app.project.get(`/eventdeliveries/${sent.uid}/deliveryattempts`)).toHaveLength(1);
      expect(jsonOf(receiver.at('/lost'))).toEqual([{ fine: true }]);
    } finally {
      clearInterval(killing);
    }
  },
);

/** The processes of the sandbox: children of this one that run its worker. */
function killSandboxes(): void {
  const children = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n');
  for (const line of children) {
    const [pid, ppid] = line.trim().split(/\s+/).map(Number);
    if (ppid === process.pid && line.includes('sandbox/worker-main')) process.kill(pid as number, 'SIGKILL');
  }
}

test('functions that never end or exhaust memory fail alone; a healthy one and the node continue', async () => {
  // More of each than there are sandbox processes.
  const hostile = 5;
  const loop = await listen('/loop', 'both', 'function transform() { for (;;); }');
  const bomb = await listen(
    '/bomb',
    'both',
    'function transform() { const all = []; for (;;) all.push(new Array(1e6).fill(1)); }',
  );
  const healthy = await subscribe(app.project, `${receiver.url}/healthy`, {
    eventTypes: ['both', 'load'],
    subscription: { function: 'function transform(p) { return { n: p.n } }' },
  });
  const load = new Load([app.project], 400, 8);
  const served = countServed();
  const events = await Promise.all(
    Array.from({ length: hostile }, (_, n) => broadcast('both', { n: `both ${n}` })),
  );
  await load.done;
  await receiver.received(load.accepted.size + hostile, '/healthy');
  const reported = new Set<string>();
  for (const event of events) {
    // After the first of each kind they run at a low priority, which a busy machine may give no time to.
    const all = await eventually(
      async () => (await app.project.get(`/eventdeliveries?eventId=${event.uid}`)).content as Json[],
      (found) =>
        found.length === 3 &&
        found.every(
          ({ status, description }) =>
            ['Success', 'Failure'].includes(status) || /too busy/.test(description),
        ),
    );
    const of = ({ endpoint }: { endpoint: Json }) => all.find((each) => each.endpoint_id === endpoint.uid);
    expect(of(healthy).status).toBe('Success');
    expect(of(loop).description).toMatch(/100 ms of CPU time|too busy/);
    expect(of(bomb).description).toMatch(/32 MiB of memory|too busy/);
    for (const each of [loop, bomb]) reported.add(of(each).description.replace(/.* its /, ''));
  }
  expect([...reported]).toEqual(expect.arrayContaining(['100 ms of CPU time', '32 MiB of memory']));
  expect([load.refused.size, await served()]).toEqual([0, 'answered all']);
  expect(receiver.at('/loop').length + receiver.at('/bomb').length).toBe(0);
  const numbers = receiver.at('/healthy').map((request) => request.json.n);
  expect(new Set(numbers).size).toBe(load.accepted.size + hostile);
});

/** Asks the API again and again, at least once. The result waits for the answer under way. */
function countServed(): () => Promise<string> {
  let isOver = false;
  const ask = async (): Promise<string> => {
    for (;;) {
      const answer = await app.project.raw('GET', '/endpoints');
      await answer.text();
      if (answer.status !== 200) return `answered ${answer.status}`;
      if (isOver) return 'answered all';
    }
  };
  // A test that fails before it asks for the result leaves no rejection behind.
  const asking = ask().catch((error: unknown) => `failed: ${String(error)}`);
  return () => {
    isOver = true;
    return asking;
  };
}
