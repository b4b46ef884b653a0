import { describe, expect } from 'vitest';
import { scrape } from '../metrics/scrape.ts';
import { subscribe, type TestApp } from '../support/app.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import type { Program } from '../support/program.ts';
import { startDatabaseRelay } from '../support/servers/database-relay.ts';
import { Receiver } from '../support/servers/receiver.ts';
import type { BrokerDriver } from './broker-driver.ts';
import {
  BROADCAST,
  BrokerScene,
  fieldsOf,
  numbered,
  numberedFrom,
  PATIENCE_MS,
  range,
  startBrokerNode,
  startScene,
} from './broker-scene.ts';
import { brokerTests } from './broker-tests.ts';

/**
 * The tests that every kind of broker must pass: received = stored, each once, whatever dies when. `isOrdered`: a queue keeps the
 * order of what is published to one part of it. `isEnvelope`: messages say themselves what they are and where they go;
 * rows of a database do not.
 */
export interface Conformance {
  /** As metrics name it. */
  broker: string;
  start(): Promise<BrokerDriver | string>;
  isOrdered: boolean;
  /** Messages may be any bytes, not only text. */
  takesBytes: boolean;
  isEnvelope?: boolean;
  /** The number of messages in the large test. */
  messages?: number;
  /** Most messages that a worker has at a time, where the broker knows. */
  maxHeld?: number;
}

export function conformance(
  kind: string,
  {
    broker,
    start,
    isOrdered,
    takesBytes,
    isEnvelope = true,
    messages: many = 10_000,
    maxHeld = 0,
  }: Conformance,
): void {
  describe(kind, () => {
    let driver: BrokerDriver;
    let app: TestApp;
    const { check, checkAtOnce } = brokerTests(start, (given) => {
      app = given.app;
      driver = given.closing(given.facts);
    });

    // proves Sources: pub_sub.*
    check('messages are stored once, delivered, and acknowledged after that', async () => {
      const scene = await BrokerScene.on(app);
      const receiver = await Receiver.start();
      await subscribe(scene.project, receiver.url);
      const queue = await driver.open();
      const source = await scene.source(queue.settings);
      await queue.publish(numberedFrom(0, 300));
      await scene.waitFor(source, 300);
      await eventually(queue.depth, 0, PATIENCE_MS);
      const numbers = await scene.numbers(source);
      expect(isOrdered ? numbers : numbers.toSorted((a, b) => a - b)).toEqual(range(0, 300));
      await receiver.received(300);
      const status = await scene.status(source, 'running', (shown) => shown.last_message_at !== null);
      expect(status).toMatchObject({ reason: '', last_error: '' });
      expect(Date.parse(status.last_message_at)).toBeGreaterThan(Date.now() - 600_000);
      await receiver.stop();
    });

    const checkEnvelope = isEnvelope ? check : () => {};

    checkEnvelope('a message says where it goes, and its headers come along', async () => {
      const scene = await BrokerScene.on(app);
      const receiver = await Receiver.start();
      const { endpoint } = await subscribe(scene.project, `${receiver.url}/one`);
      await subscribe(scene.project, `${receiver.url}/owned`, { endpoint: { owner_id: 'acme' } });
      const lone = await scene.project.post('/endpoints', {
        name: 'no subscription',
        url: `${receiver.url}/lone`,
      });
      const queue = await driver.open();
      const source = await scene.source(queue.settings);
      const body = (fields: object) => JSON.stringify({ event_type: 'a.b', data: { amount: 1 }, ...fields });
      const typed = (type: string) => ({ 'X-Convoy-Message-Type': type, 'X-Mine': 'broker' });
      // An endpoint without a subscription that is sent an event gets one, for every event. It has it before the others.
      await queue.publish([{ body: body({ endpoint_id: lone.uid }) }]);
      await scene.waitFor(source, 1);
      await queue.publish([
        {
          body: body({
            endpoint_id: endpoint.uid,
            custom_headers: { 'x-mine': 'theirs', 'X-Other': 'kept' },
          }),
          headers: { 'X-Mine': 'broker' },
        },
        { body: body({ owner_id: 'acme' }), headers: typed('fanout') },
        { body: body({ idempotency_key: 'k' }), headers: typed('broadcast') },
        { body: body({ idempotency_key: 'k' }), headers: typed('broadcast') },
      ]);
      await scene.waitFor(source, 5);
      const requests = await eventually(
        async () => [...new Map(receiver.requests.map((one) => [one.headers['webhook-id'], one])).values()],
        { length: atLeast(6) },
      );
      const shown = requests.map(({ path, headers }) =>
        [path, headers['x-mine'] ?? '-', headers['x-other'] ?? '-'].join(' '),
      );
      expect(shown.toSorted()).toEqual([
        '/lone - -',
        '/lone broker -',
        '/one broker -',
        '/one broker kept',
        '/owned broker -',
        '/owned broker -',
      ]);
      expect(requests.map(({ json }) => json)).toEqual(requests.map(() => ({ amount: 1 })));
      expect((await scene.stored(source)).filter((event) => event.is_duplicate)).toHaveLength(1);
      await receiver.stop();
    });

    // differs Brokers: A message that can never be an event is stored as failed. Convoy drops it, or loops.
    checkEnvelope(
      'a message that can never be an event is stored as failed with its bytes; those after it are taken',
      async () => {
        const scene = await BrokerScene.on(app);
        await scene.project.put('', { config: { max_payload_read_size: 100_000 } });
        const queue = await driver.open();
        const source = await scene.source(queue.settings);
        const bad = [
          ['not JSON', 'not JSON'],
          ['[1]', 'not a JSON object'],
          [JSON.stringify({ event_type: 'a', data: 1, other: 1 }), 'unknown field: other'],
          [JSON.stringify({ data: 1 }), 'no event_type'],
          [JSON.stringify({ event_type: 'a' }), 'no data'],
          [JSON.stringify({ event_type: 'a\u0000b', data: 1 }), 'cannot be stored'],
          ['x'.repeat(150_000), '150000 bytes'],
        ] as const;
        await queue.publish([
          ...bad.map(([body]) => ({ body, headers: BROADCAST })),
          ...(takesBytes ? [{ body: Buffer.from([0xff, 0x00, 0xfe]), headers: BROADCAST }] : []),
          { body: JSON.stringify({ event_type: 'a', data: 1 }) },
          numbered(7),
        ]);
        const unreadable = bad.length + (takesBytes ? 2 : 1);
        await scene.waitFor(source, unreadable + 1);
        await eventually(queue.depth, 0, PATIENCE_MS);
        const events = await scene.stored(source);
        const failed = events.filter((event) => event.event_type === 'broker.unreadable');
        expect(failed).toHaveLength(unreadable);
        expect(failed.every(({ status }) => status === 'Failure')).toBe(true);
        for (const [body, reason] of bad) {
          const kept = body.slice(0, 65_536);
          const event = failed.find(({ payload }) => payload.toString() === kept);
          expect(event?.failure_reason, kept.slice(0, 100)).toContain(reason);
        }
        if (takesBytes)
          expect(failed.find(({ payload }) => payload[0] === 0xff)?.failure_reason).toBe(
            'The message is not JSON.',
          );
        expect(failed.some(({ failure_reason }) => failure_reason?.includes('no endpoint_id'))).toBe(true);
        expect(events.filter((event) => event.event_type === 'broker.test')).toHaveLength(1);
      },
    );

    checkEnvelope(
      'functions turn foreign messages into events, and a failed message can be replayed through a mended one',
      async () => {
        const scene = await BrokerScene.on(app);
        const receiver = await Receiver.start();
        await subscribe(scene.project, receiver.url, { eventTypes: ['order.paid'] });
        const queue = await driver.open();
        const source = await scene.source(queue.settings, {
          header_function: `function transform(headers) { return { ...headers, 'x-convoy-message-type': 'broadcast' }; }`,
          body_function: `function transform(message) { return { event_type: 'order.' + message.kind, data: message.order.total }; }`,
        });
        await queue.publish([
          { body: JSON.stringify({ kind: 'paid', order: { total: 12 } }) },
          { body: JSON.stringify({ kind: 'paid', no: 'order' }) },
        ]);
        await scene.waitFor(source, 2);
        await receiver.received(1);
        expect(receiver.requests[0]?.json).toBe(12);
        const [failed] = (await scene.stored(source)).filter(
          ({ event_type }) => event_type === 'broker.unreadable',
        );
        expect(failed?.failure_reason).toContain('A function of the source failed');
        await scene.project.put(`/sources/${source.uid}`, {
          body_function: `function transform(message) { return { event_type: 'order.paid', data: message.no ?? message.order.total }; }`,
        });
        await scene.project.put(`/events/${failed?.id}/replay`, undefined, 200);
        await receiver.received(2);
        expect(receiver.requests[1]?.json).toBe('order');
        // The function takes effect for new messages too, without a new connection.
        await queue.publish([{ body: JSON.stringify({ no: 'more' }) }]);
        await receiver.received(3);
        await receiver.stop();
      },
    );

    // differs Brokers: A message that cannot be stored now is not acknowledged, and the source goes on by
    //   itself. Convoy acknowledges it after a panic.
    check(
      'while the database is away nothing is acknowledged; when it is back all is stored once',
      async () => {
        const relay = await startDatabaseRelay();
        const quiet = await startScene({ POSTHORN_ROLES: 'api' });
        const node = await quiet.addNode({
          POSTHORN_ROLES: 'broker',
          DATABASE_URL: relay.urlOf(quiet.database.name),
        });
        const scene = await BrokerScene.on(quiet);
        const queue = await driver.open();
        const source = await scene.source(queue.settings);
        await queue.publish([numbered(0)]);
        await scene.waitFor(source, 1);
        // Between receiving and committing: the statement is done, its answer and the commit are lost.
        relay.loseAnswersTo('accept-events');
        await queue.publish(numberedFrom(1, 100));
        await eventually(
          async () => metric(await node.metrics(), 'posthorn_broker_sources{state="waiting"}'),
          1,
          PATIENCE_MS,
        );
        expect(await scene.count(source)).toBe(1);
        expect(await queue.depth()).toBe(99);
        relay.loseAnswersTo(null);
        await scene.waitFor(source, 100);
        await eventually(queue.depth, 0, PATIENCE_MS);
        expect((await scene.numbers(source)).toSorted((a, b) => a - b)).toEqual(range(0, 100));
        await quiet.stop();
        relay.close();
      },
    );

    // differs Brokers: Saving a source contacts no broker. The status says what is wrong. Convoy answers 500.
    check(
      'wrong credentials show in the status and cause no hot loop; right ones take effect within seconds',
      async () => {
        const scene = await BrokerScene.on(app);
        const [queue, other] = [await driver.open(), await driver.open()];
        const untouched = await scene.source(other.settings);
        const failures = async () =>
          (await scrape(app.url)).value(`posthorn_broker_failures_total{broker="${broker}"}`);
        const [failedBefore, startedMs] = [await failures(), performance.now()];
        const source = await scene.source(queue.refused);
        await queue.publish([numbered(1)]);
        const waiting = await scene.status(source, 'waiting');
        expect(waiting.reason).toBe(queue.refusedReason);
        expect(waiting.last_error).toBe(waiting.reason);
        const [listed] = (await scene.project.get('/sources')).content.filter(
          ({ uid }: { uid: string }) => uid === source.uid,
        );
        expect(listed.status.state).toMatch(/waiting|connecting/);
        const tested = await scene.tested(source);
        expect(tested).toEqual({ ok: false, reason: waiting.reason });
        // Between five tries are at least 0.25, 0.5, 1 and 2 s.
        await eventually(failures, atLeast(failedBefore + 5), PATIENCE_MS);
        expect(performance.now() - startedMs).toBeGreaterThan(3_500);
        await scene.project.put(`/sources/${source.uid}`, fieldsOf(queue.authenticated));
        await scene.waitFor(source, 1);
        await scene.status(source, 'running');
        expect(await scene.tested(source)).toEqual({
          ok: true,
          reason: '',
        });
        await other.publish([numbered(2)]);
        await scene.waitFor(untouched, 1);
        expect((await scene.status(untouched, 'running')).last_error).toBe('');
      },
    );

    // differs Brokers: A disabled source takes no messages. Convoy does not look.
    check('a disabled source takes nothing, an enabled one goes on, a deleted one ends', async () => {
      const scene = await BrokerScene.on(app);
      const queue = await driver.open();
      const source = await scene.source(queue.settings, { is_disabled: true });
      await queue.publish([numbered(1)]);
      expect((await scene.status(source, 'disabled')).reason).toBe('');
      const gone = async () =>
        app.database.query('select 1 from broker_status where source_id = $1', [source.uid]);
      await scene.project.put(`/sources/${source.uid}`, { is_disabled: false });
      await scene.waitFor(source, 1);
      await scene.project.put(`/sources/${source.uid}`, { is_disabled: true });
      await eventually(gone, { length: 0 }, PATIENCE_MS);
      await queue.publish([numbered(2)]);
      await scene.project.put(`/sources/${source.uid}`, { is_disabled: false });
      await scene.waitFor(source, 2);
      await scene.project.delete(`/sources/${source.uid}`);
      await eventually(gone, { length: 0 }, PATIENCE_MS);
      await queue.publish([numbered(3)]);
      const depth = await eventually(queue.depth, 1, PATIENCE_MS);
      expect(depth).toBe(1);
      expect(await scene.count(source)).toBe(2);
    });

    // differs Brokers: AMQP: the prefetch is bounded. Convoy sets no limit.
    check(`three nodes take ${many} messages once, and what waits stays in the broker`, async () => {
      const three = await startScene();
      await Promise.all([three.addNode(), three.addNode()]);
      const scene = await BrokerScene.on(three);
      const queue = await driver.open(6);
      const text = 'x'.repeat(4_000);
      for (let from = 0; from < many; from += 1_000)
        await queue.publish(
          range(from, from + 1_000).map((n) => ({ ...numbered(n, { text }), part: n % 6 })),
        );
      const before = process.memoryUsage().arrayBuffers;
      const settings = { ...queue.settings, workers: 2 };
      const source = await scene.source(settings, { rate_limit: 1, rate_limit_duration: 3600 });
      await scene.status(source, 'waiting');
      let most = 0;
      for (const _ of range(0, 30)) {
        most = Math.max(most, process.memoryUsage().arrayBuffers - before);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      expect(most, `bytes that three nodes hold of ${many * 4_000}`).toBeLessThan(24_000_000);
      await scene.project.put(`/sources/${source.uid}`, { rate_limit: 0 });
      // While they flow, too.
      const flowing = async () => {
        const held = (await queue.held?.()) ?? 0;
        expect(held, 'messages that six workers hold').toBeLessThanOrEqual(6 * maxHeld);
        return scene.count(source);
      };
      await eventually(flowing, atLeast(many), PATIENCE_MS);
      await scene.waitFor(source, many);
      await eventually(queue.depth, 0, PATIENCE_MS);
      expect((await scene.numbers(source)).toSorted((a, b) => a - b)).toEqual(range(0, many));
      await three.stop();
    });

    // differs Brokers: A message that fails is never passed over. Convoy's next offset covers it.
    checkAtOnce('a full limit is waited for: nothing is lost, dropped or refused', async () => {
      const scene = await BrokerScene.on(app);
      const queue = await driver.open();
      const source = await scene.source(queue.settings, { rate_limit: 20, rate_limit_duration: 3600 });
      await queue.publish(numberedFrom(0, 50));
      await eventually(() => scene.count(source), 20, PATIENCE_MS);
      const { reason } = await scene.status(source, 'waiting');
      expect(reason).toContain('The limit of 20 per 3600 s is used up');
      await scene.project.put(`/sources/${source.uid}`, { rate_limit: 0 });
      await scene.waitFor(source, 50);
      const numbers = await scene.numbers(source);
      expect(isOrdered ? numbers : numbers.toSorted((a, b) => a - b)).toEqual(range(0, 50));
    });

    checkAtOnce(
      'neither kill -9 between commit and acknowledgement nor a broker that dies loses or repeats a message',
      async () => {
        const own = await driver.startOwn();
        const quiet = await startScene({ POSTHORN_ROLES: 'api' });
        const scene = await BrokerScene.on(quiet);
        const source = await scene.source(own.queue.settings);
        const first = startBrokerNode(quiet);
        let second: Program | undefined;
        try {
          await own.queue.publish([numbered(0)]);
          await scene.waitFor(source, 1);
          // The lot waits here after its events are written, and before it is committed.
          const holder = await quiet.app.db.dedicated();
          await holder.query('begin; lock table broker_positions, broker_messages in exclusive mode');
          await own.queue.publish(numberedFrom(1, 60));
          const waits = async () =>
            quiet.database.query(
              `select from pg_locks where not granted and
               database = (select oid from pg_database where datname = current_database())`,
            );
          await eventually(waits, { length: atLeast(1) }, PATIENCE_MS);
          own.muteService();
          await holder.query('commit');
          await holder.end();
          // How many messages are in a lot is up to the kind.
          await eventually(() => scene.count(source), atLeast(2), PATIENCE_MS);
          await first.kill();
          own.unmuteService();
          expect(await own.queue.depth()).toBe(59);
          second = startBrokerNode(quiet);
          await eventually(own.queue.depth, 0, PATIENCE_MS);
          await scene.waitFor(source, 60);
          const numbers = await scene.numbers(source);
          expect(isOrdered ? numbers : numbers.toSorted((a, b) => a - b)).toEqual(range(0, 60));

          await own.kill();
          await scene.status(source, 'waiting');
          await own.resume();
          await own.queue.publish(numberedFrom(60, 120));
          await scene.waitFor(source, 120);
          await scene.status(source, 'running');
          expect((await scene.numbers(source)).toSorted((a, b) => a - b)).toEqual(range(0, 120));
        } finally {
          await first.end();
          await second?.end();
          await quiet.stop();
          await own.stop();
        }
      },
    );
  });
}

export function metric(page: string, series: string): number {
  const line = page.split('\n').find((one) => one.startsWith(series));
  return line === undefined ? Number.NaN : Number(line.slice(line.lastIndexOf(' ')));
}
