import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Connection } from '@platformatic/kafka';
import { expect, onTestFinished, test, vi } from 'vitest';
import { networkOf, outgoing } from '../../../test/support/brokers/outgoing-message.ts';
import {
  type Api,
  type KafkaRequest,
  type Script,
  ScriptedKafka,
  signInAnswer,
} from '../../../test/support/brokers/scripted-kafka.ts';
import { eventually } from '../../../test/support/eventually.ts';
import type { OutgoingMessage } from '../../dispatch/client/message-sender.ts';
import { Destinations } from '../destinations.ts';
import { consume, testSource } from '../modules.ts';
import { CONNECTS } from './guard-connections.ts';

/** A broker may be anyone's. Whatever it does costs its own messages, and not the process or the node. */
async function scene(
  script: (server: () => ScriptedKafka) => Script = () => ({}),
  auth: object | null = null,
) {
  const server: ScriptedKafka = await ScriptedKafka.start(script(() => server));
  const destinations = new Destinations(networkOf());
  onTestFinished(async () => {
    await destinations.close();
    await server.close();
  });
  const destination = { type: 'kafka', kafka: { brokers: [server.broker], topic: 't', auth } } as never;
  const send = (n: number, more: Partial<OutgoingMessage> = {}) =>
    destinations.send(outgoing(destination, { body: Buffer.from(`{"n":${n}}`), timeoutMs: 20_000, ...more }));
  return { server, send };
}

const taken = { kind: 'response', isConfirm: true };
const PLAIN = { type: 'plain', hash: '', username: 'u', password: 'p', tls: false };
const SCRAM = { ...PLAIN, type: 'scram', hash: 'SHA512' };
const LARGE = 10;
const SIGN_IN_FAILED = 58;
const INVALID_RECORD = 87;
const TOO_FEW_REPLICAS = 19;
const LONGEST = 4 * 1024 * 1024;

test('a connection that is reset, at whatever step, ends nothing but itself', async () => {
  const steps: readonly [Api, object | null][] = [
    ['versions', null],
    ['versions', PLAIN],
    ['handshake', PLAIN],
    ['authenticate', PLAIN],
    ['authenticate', SCRAM],
    ['metadata', null],
    ['produce', null],
  ];
  const reset = ({ socket }: KafkaRequest) => void socket.resetAndDestroy();
  const scenes = await Promise.all(steps.map(([api, auth]) => scene(() => ({ [api]: reset }), auth)));
  const outcomes = await Promise.all(scenes.map(({ send }) => send(1, { timeoutMs: 1_500 })));
  for (const outcome of outcomes)
    expect(outcome).toMatchObject({
      kind: 'error',
      code: expect.stringMatching(/^(connection_reset|timeout)$/) as string,
    });
});

const NOT_KAFKA = 'The broker breaks the protocol of Kafka.';
const first = (nonce: (given: string) => string) => (request: KafkaRequest) => {
  const given = /r=([^,]+)/.exec(request.body.toString())?.[1] ?? '';
  request.answer(signInAnswer(nonce(given)));
};

test.each([
  ['nothing that can be read', first(() => 'x'), NOT_KAFKA],
  ['no salt', first((nonce) => `r=${nonce}x,i=5000`), NOT_KAFKA],
  [
    'two million iterations',
    first((nonce) => `r=${nonce}x,s=c2FsdA==,i=2000000`),
    'The broker wants more than 100000 iterations of SCRAM.',
  ],
])('a sign-in whose answer has %s fails with that reason', async (_, authenticate, message) => {
  const { send } = await scene(() => ({ authenticate }), SCRAM);
  expect(await send(1, { timeoutMs: 5_000 })).toMatchObject({ kind: 'error', message });
});

test('a connection whose sign-in failed closes, though the broker keeps its side open', async () => {
  const refused = ({ answer }: KafkaRequest) => answer(signInAnswer('', SIGN_IN_FAILED));
  const { server, send } = await scene(() => ({ authenticate: refused }), PLAIN);
  expect(await send(1)).toMatchObject({ code: 'sign_in_refused' });
  await eventually(() => server.open(), 0);
});

test('a connection that comes while another to the same address fails is closed too', async () => {
  let signIns = 0;
  const { server, send } = await scene(
    (get) => ({
      authenticate: ({ answer }) => answer(signInAnswer('', signIns++ % 2 === 1 ? SIGN_IN_FAILED : 0)),
      produce: ({ body, answer, socket }) => {
        answer(get().produce(body, { 0: INVALID_RECORD }));
        socket.end();
      },
    }),
    PLAIN,
  );
  for (let n = 0; n < 4; n += 1) expect(await send(n)).toMatchObject({ kind: 'error' });
  expect(signIns).toBeGreaterThan(4);
  await eventually(
    () => server.open(),
    (count) => count <= 1,
  );
});

test.each([1n, 2n ** 40n])(
  'a sign-in that is said to last %d ms is not repeated all the time',
  async (lifetimeMs) => {
    let signIns = 0;
    const authenticate = ({ answer }: KafkaRequest) => {
      signIns += 1;
      answer(signInAnswer('', 0, lifetimeMs));
    };
    const { server, send } = await scene(() => ({ authenticate }), PLAIN);
    for (let n = 0; n < 50; n += 1) expect(await send(n)).toMatchObject(taken);
    expect(signIns).toBe(server.connections());
  },
);

test('a sign-in is repeated when it is time, and not on a connection that has ended', async () => {
  const made: Connection[] = [];
  const see = (message: unknown) => made.push((message as { connection: Connection }).connection);
  subscribe(CONNECTS, see);
  let signIns = 0;
  const { send } = await scene(
    (get) => ({
      authenticate: ({ answer }) => {
        signIns += 1;
        answer(signInAnswer('', 0, 3_600_000n));
      },
      produce: ({ body, answer, socket }) => {
        answer(get().produce(body));
        if (body.includes('{"n":2}')) socket.end();
      },
    }),
    PLAIN,
  );
  expect(await send(1)).toMatchObject(taken);
  unsubscribe(CONNECTS, see);
  const leader = made.at(-1) as Connection;
  const [before, now] = [signIns, performance.now.bind(performance)];
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 11_000);
  onTestFinished(() => clock.mockRestore());
  leader.reauthenticate();
  await eventually(() => signIns, before + 1);
  expect(await send(2)).toMatchObject(taken);
  await eventually(() => leader.status, 'closed');
  clock.mockImplementation(() => now() + 22_000);
  leader.reauthenticate();
  expect(leader.status).toBe('closed');
});

test('an answer to another request, and one that is too long, end their connection', async () => {
  const wrong = ({ socket }: KafkaRequest) =>
    void socket.write(Buffer.from([0, 0, 0, 8, 0, 0, 0, 99, 0, 0, 0, 0]));
  const long = ({ socket }: KafkaRequest) => {
    const length = Buffer.alloc(4);
    length.writeInt32BE(LONGEST + 1);
    socket.write(length);
    // As a hostile broker does it: bytes without an end.
    const more = () => {
      while (!socket.destroyed && socket.write(Buffer.alloc(65_536)));
    };
    socket.on('drain', more);
    more();
  };
  const scenes = await Promise.all([wrong, long].map((metadata) => scene(() => ({ metadata }))));
  const outcomes = await Promise.all(scenes.map(({ send }) => send(1, { timeoutMs: 10_000 })));
  const message = expect.stringMatching(/^The broker (closed the connection|breaks the protocol)/) as string;
  expect(outcomes).toMatchObject([
    { kind: 'error', message },
    { kind: 'error', message },
  ]);
});

test('a source ends its try too, with that reason', async () => {
  const broken: ScriptedKafka = await ScriptedKafka.start({ authenticate: first(() => 'x') });
  onTestFinished(() => broken.close());
  const own = { brokers: [broken.broker], topic_name: 't', consumer_group_id: 'g', auth: SCRAM };
  const settings = { type: 'kafka', workers: 1, kafka: own } as never;
  const context = { ...networkOf(), lag: () => undefined } as never;
  await expect(testSource(settings, context)).rejects.toThrow(NOT_KAFKA);
  await expect(consume(settings, context)).rejects.toThrow(NOT_KAFKA);
});

test('a key has the partition that the Java client finds for it', async () => {
  const { server, send } = await scene();
  server.partitions = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
  // The hashes of Kafka's own tests, without their sign.
  const hashes = {
    21: 1_173_551_340,
    foobar: 1_357_151_166,
    abc: 479_470_107,
    'a-little-bit-longer-string': 661_178_819,
  };
  for (const [orderingKey, hash] of Object.entries(hashes))
    expect(await send(1, { orderingKey })).toMatchObject({ headers: { partition: [String(hash % 10)] } });
});

test('a topic that is made again with fewer partitions costs one attempt', async () => {
  const { server, send } = await scene((get) => ({
    produce: ({ body, answer }) => {
      const gone = Object.fromEntries([0, 1, 2, 3, 4, 5].slice(get().partitions.length).map((n) => [n, 3]));
      answer(get().produce(body, gone));
    },
  }));
  server.partitions = [0, 1, 2, 3, 4, 5];
  const keys = Array.from({ length: 12 }, (_, n) => `k${n}`);
  const all = () => Promise.all(keys.map((orderingKey, n) => send(n, { orderingKey })));
  expect(await all()).toMatchObject(keys.map(() => taken));
  server.partitions = [0, 1];
  for (const outcome of await all()) expect(['response', 'error']).toContain(outcome.kind);
  expect(await all()).toMatchObject(keys.map(() => taken));
});

test('an answer that leaves out a partition confirms nothing', async () => {
  const { send } = await scene(() => ({ produce: ({ answer }) => answer(Buffer.alloc(8)) }));
  expect(await send(1)).toMatchObject({
    code: 'broker_refused',
    message: 'The broker did not confirm each partition.',
  });
});

test.each([[[0, 7]], [[-1, -2]], [[0, 2_000_000_000]]])(
  'partitions with the numbers %j are refused at once',
  async (partitions) => {
    const { server, send } = await scene();
    server.partitions = partitions;
    expect(await send(1)).toMatchObject({
      kind: 'error',
      message: 'The broker does not number the partitions of the topic one by one.',
    });
  },
);

test('each partition fails for its own reason, and parts that are refused for a message are sent in halves', async () => {
  const large = ({ body }: KafkaRequest) => body.includes('{"n":7}');
  const { server, send } = await scene((get) => ({
    produce: (request) => {
      const isWhole = request.body.includes('{"n":6}') || request.body.includes('{"n":8}');
      const codes = large(request) ? { 0: LARGE, ...(isWhole && { 1: TOO_FEW_REPLICAS }) } : {};
      request.answer(get().produce(request.body, codes));
    },
  }));
  server.partitions = [0, 1];
  const keyOf = (n: number) => (n < 10 ? 'foobar' : 'abc');
  await Promise.all([send(0, { orderingKey: 'foobar' }), send(0, { orderingKey: 'abc' })]);
  const numbers = [5, 6, 7, 8, 10];
  const ends = await Promise.all(numbers.map((n) => send(n, { orderingKey: keyOf(n) })));
  expect(ends).toMatchObject([
    taken,
    taken,
    { code: 'message_too_large' },
    taken,
    { code: 'broker_refused', message: 'Too few replicas of the partition are in sync.' },
  ]);
  expect(server.stored.slice(2).toSorted()).toEqual(['0 {"n":5}', '0 {"n":6}', '0 {"n":8}']);
});

test('a message that goes at most once may have arrived if the connection ends after it was sent', async () => {
  const { server, send } = await scene((get) => ({
    produce: ({ body, socket }) => {
      get().produce(body);
      socket.end();
    },
  }));
  const outcome = await send(1, { isAtMostOnce: true });
  expect(outcome).toMatchObject({ kind: 'error', mayHaveArrived: true });
  expect(server.stored.length).toBeGreaterThan(0);
});

test('a message whose time is over while it waits is not sent', async () => {
  const [held, seen] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { server, send } = await scene((get) => ({
    produce: ({ body, answer }) => {
      const bytes = get().produce(body);
      seen.resolve();
      void held.promise.then(() => answer(bytes));
    },
  }));
  const slow = send(1);
  await seen.promise;
  expect(await send(2, { timeoutMs: 50 })).toMatchObject({ code: 'timeout' });
  const stop = new AbortController();
  const aborted = send(3);
  stop.abort();
  held.resolve();
  expect(await slow).toMatchObject(taken);
  expect(await aborted).toMatchObject(taken);
  expect(server.stored).not.toContain('0 {"n":2}');
});
