import { constants, createSecureServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { expect, type TestContext, test } from 'vitest';
import { HttpClient } from '../../src/dispatch/client/http-client.ts';
import type { Turn } from '../../src/dispatch/connection/turn.ts';
import { pem } from '../support/certificates/pem.ts';
import { eventually } from '../support/eventually.ts';
import { listen } from '../support/servers/loopback-server.ts';

/** Requests over HTTP/2 whose turn has not come: parked on an open connection that others use meanwhile. */
async function startScene({ onTestFinished }: TestContext) {
  const seen: string[] = [];
  const sessions = new Set<ServerHttp2Session>();
  const h2 = createSecureServer({ cert: pem('endpoint.pem'), key: pem('endpoint.key') })
    .on('session', (session) => sessions.add(session))
    .on('stream', (stream: ServerHttp2Stream, headers) => {
      stream.on('error', () => {});
      seen.push(String(headers[constants.HTTP2_HEADER_PATH]));
      stream.respond({ ':status': 200 });
      stream.end();
    })
    .on('sessionError', () => {});
  const server = await listen(h2);
  onTestFinished(() => server.close());
  const http = new HttpClient({ egress: 'any', caPem: pem('ca.pem') });
  onTestFinished(() => http.close());
  const send = (path: string, turn?: Turn) =>
    http.send({
      url: `https://localhost:${server.port}${path}`,
      headers: [],
      body: Buffer.from('{}'),
      timeoutMs: 30_000,
      maxResponseBytes: 1_000,
      ...(turn && { turn }),
    });
  return { seen, sessions, server, send };
}

/** A turn that the test gives: `later` until it says otherwise. */
class TestTurn implements Turn {
  answer: 'now' | 'later' | 'never' = 'later';
  asked = 0;
  again: (() => void) | undefined;

  take(): 'now' | 'later' | 'never' {
    this.asked += 1;
    return this.answer;
  }

  wait(again: () => void): () => void {
    this.again = again;
    return () => {
      this.again = undefined;
    };
  }

  give(answer: 'now' | 'never'): void {
    this.answer = answer;
    this.again?.();
  }
}

const parked = (turns: TestTurn[]) =>
  eventually(async () => turns.filter(({ again }) => again !== undefined).length, turns.length);

test('parked requests are not written, keep no other from the connection, and are written once each', async (context) => {
  const { seen, server, send } = await startScene(context);
  await send('/first');
  const turns = Array.from({ length: 5 }, () => new TestTurn());
  const outcomes = turns.map((turn, n) => send(`/parked-${n}`, turn));
  await parked(turns);
  expect((await send('/beside')).kind).toBe('response');
  expect(seen).toEqual(['/first', '/beside']);
  for (const turn of turns) turn.give('now');
  const kinds = (await Promise.all(outcomes)).map((outcome) => outcome.kind);
  expect(kinds).toEqual(Array.from({ length: 5 }, () => 'response'));
  expect(seen.slice(2).toSorted()).toEqual([0, 1, 2, 3, 4].map((n) => `/parked-${n}`));
  expect(server.connections()).toBe(1);
  expect(turns.map(({ asked }) => asked)).toEqual([2, 2, 2, 2, 2]);
});

test('a parked request that is given up is not written', async (context) => {
  const { seen, send } = await startScene(context);
  const turn = new TestTurn();
  const outcome = send('/parked', turn);
  await parked([turn]);
  turn.give('never');
  expect(await outcome).toMatchObject({ kind: 'error', code: 'aborted', ours: true });
  expect((await send('/after')).kind).toBe('response');
  expect(seen).toEqual(['/after']);
});

test('a parked request whose connection closes is written once on another, after it asked again', async (context) => {
  const { seen, sessions, server, send } = await startScene(context);
  const turn = new TestTurn();
  const outcome = send('/parked', turn);
  await parked([turn]);
  for (const session of sessions) session.destroy();
  await eventually(async () => server.sockets.size, 0);
  turn.give('now');
  expect((await outcome).kind).toBe('response');
  expect(seen).toEqual(['/parked']);
  expect(server.connections()).toBe(2);
});
