import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { Program } from '../support/program.ts';

/** Longer than the server gives its callers. */
const PAUSE_MS = 3_000;
const HALF = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n1';

async function startServer(): Promise<{ server: Program; port: number }> {
  const script = join(import.meta.dirname, 'paused-server.ts');
  const server = new Program({ command: [process.execPath, script] });
  const text = await eventually(async () => server.stdout, /listening/);
  return { server, port: Number(/\d+/.exec(text)?.[0]) };
}

function answerOn(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    socket.once('data', (bytes) => resolve(bytes.toString()));
    socket.once('error', reject);
  });
}

async function sendHalf(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await new Promise((resolve) => {
    socket.write(HALF, resolve);
  });
  return socket;
}

test('a request that arrived while the server was stalled is answered, not timed out', async ({
  onTestFinished,
}) => {
  const { server, port } = await startServer();
  onTestFinished(() => server.kill());
  const socket = await sendHalf(port);
  onTestFinished(() => void socket.destroy());
  const answer = answerOn(socket);
  await eventually(async () => server.stdout, /received/);
  server.signal('SIGSTOP');
  await delay(PAUSE_MS);
  socket.write('2');
  server.signal('SIGCONT');
  expect(await answer).toMatch(/^HTTP\/1\.1 200 /);
});

test('after that the limit applies again', async ({ onTestFinished }) => {
  const { server, port } = await startServer();
  onTestFinished(() => server.kill());
  server.signal('SIGSTOP');
  await delay(PAUSE_MS);
  server.signal('SIGCONT');
  const socket = await sendHalf(port);
  onTestFinished(() => void socket.destroy());
  expect(await answerOn(socket)).toMatch(/^HTTP\/1\.1 408 /);
});
