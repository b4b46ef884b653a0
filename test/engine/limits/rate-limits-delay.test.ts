import { expect, type TestContext, test } from 'vitest';
import { subscribe } from '../../support/app.ts';
import type { ApiClient } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { heldUpMs, type LimitScene, shareOfLimit, slowToConnect, startScene } from './limit-scene.ts';

/**
 * A database that becomes slow while limited endpoints are busy. Each endpoint always has five seconds of work, no more:
 * a delivery must be found, claimed and prepared in less. At the same time half-open breakers are probed and meta events are
 * sent, both of which need round trips of their own.
 */
const LIMIT = 10;
const WAITING = 5 * LIMIT;
const BEFORE = 2 * LIMIT;
const AFTER = 12 * LIMIT;
const SLOW_MS = 500;
const LEAST_SHARE = 0.95;
const FAILING = 10;
const limited = { rate_limit: LIMIT, rate_limit_duration: 1 };
const FUNCTION = 'function transform(payload) { return { ...payload, made: true }; }';

/** An endpoint that gets a new event for each one that arrives. */
class Busy {
  readonly arrivals: number[] = [];
  readonly #posts: Promise<unknown>[] = [];
  readonly #clients: readonly ApiClient[];
  readonly #eventType: string;
  #isStopped = false;

  constructor(clients: readonly ApiClient[], eventType: string) {
    this.#clients = clients;
    this.#eventType = eventType;
  }

  post(): void {
    if (this.#isStopped) return;
    const client = this.#clients[this.#posts.length % this.#clients.length] as ApiClient;
    this.#posts.push(client.post('/events/broadcast', { event_type: this.#eventType, data: {} }));
  }

  arrived(): void {
    this.arrivals.push(performance.now());
    this.post();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#posts);
  }
}

async function subscribeBusy(context: TestContext, { app, receiver, clients }: LimitScene) {
  const busy = new Map(
    ['plain', 'function', 'credentials', 'connect'].map((name) => [name, new Busy(clients, name)]),
  );
  receiver.answerAlways(({ path }, response) => {
    if (path === '/token') setTimeout(() => response.end('{"access_token":"t","expires_in":3600}'), 1_000);
    else if (path === '/failing') response.writeHead(500).end();
    else response.end();
    busy.get(path.slice(1))?.arrived();
  });
  const slow = await slowToConnect(context, 700, () => busy.get('connect')?.arrived());
  const oauth2 = {
    url: `${receiver.url}/token`,
    client_id: 'me',
    authentication_type: 'shared_secret',
    client_secret: 'hush',
  };
  const extra: Record<string, { endpoint?: object; subscription?: object }> = {
    function: { subscription: { function: FUNCTION } },
    credentials: { endpoint: { authentication: { type: 'oauth2', oauth2 } } },
  };
  for (const name of busy.keys())
    await subscribe(app.project, `${name === 'connect' ? slow : receiver.url}/${name}`, {
      ...extra[name],
      eventTypes: [name],
      endpoint: { ...limited, ...extra[name]?.endpoint },
    });
  return busy;
}

/** Endpoints of another project that are probed all the time, each probe with a meta event. */
async function probeOthers({ app, receiver }: LimitScene): Promise<void> {
  const others = await app.newProject({
    strategy: { type: 'linear', duration: 1, retry_count: 1_000 },
    circuit_breaker: { sample_rate: 1, error_timeout: 1, minimum_request_count: 1 },
    meta_event: {
      is_enabled: true,
      type: 'http',
      url: `${receiver.url}/meta`,
      secret: 'meta',
      event_type: ['eventdelivery.retry'],
    },
  });
  for (let n = 0; n < FAILING; n += 1) await subscribe(others, `${receiver.url}/failing`);
  for (let n = 0; n < 5; n += 1) await others.post('/events/broadcast', { event_type: 'a', data: {} });
  await eventually(
    () => app.database.query(`select from endpoint_breakers where state = 'open' and trips > 0`),
    { length: FAILING },
  );
}

for (const nodes of [1, 3])
  test(`${nodes} node(s): a limit stays fully used when the database becomes slow`, async (context) => {
    const scene = await startScene(context, nodes);
    const busy = await subscribeBusy(context, scene);
    await probeOthers(scene);
    for (const endpoint of busy.values()) for (let n = 0; n < WAITING; n += 1) endpoint.post();
    const each = [...busy.values()];
    await eventually(
      async () => each.map(({ arrivals }) => arrivals.length),
      (counts) => counts.every((count) => count >= BEFORE),
    );
    const stillBeforeMs = heldUpMs();
    const slowFrom = performance.now();
    scene.relay.slow(SLOW_MS);
    const after = ({ arrivals }: Busy) => arrivals.filter((at) => at >= slowFrom).slice(0, AFTER);
    await eventually(
      async () => each.map((endpoint) => after(endpoint).length),
      (counts) => counts.every((count) => count === AFTER),
    );
    const stillMs = heldUpMs() - stillBeforeMs;
    scene.relay.slow(0);
    for (const endpoint of each) await endpoint.stop();
    for (const [name, endpoint] of busy) {
      const times = after(endpoint);
      const share = shareOfLimit(times, { count: LIMIT, durationMs: 1_000 }, stillMs);
      const shown = `${name}: ${stillMs} ms still, ${times.map((at) => Math.round(at - slowFrom)).join(' ')}`;
      expect(share, shown).toBeGreaterThanOrEqual(LEAST_SHARE);
    }
  });
