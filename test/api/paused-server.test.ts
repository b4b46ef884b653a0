import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { Program } from '../support/program.ts';

async function ask(socket: Socket, path = '/'): Promise<string> {
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  return answer.toString().split('\r\n')[0] ?? '';
}

test('a request that came while the node stood still is answered, and an idle connection closed', async ({
  onTestFinished,
}) => {
  const script = new URL('./paused-server.ts', import.meta.url).pathname;
  const server = new Program({ command: [process.execPath, script] });
  onTestFinished(() => server.kill());
  const port = await eventually(
    async () => Number(server.stdout.split('\n')[0]),
    (number) => number > 0,
  );
  const socket = connect(port, '127.0.0.1');
  expect(await ask(socket)).toBe('HTTP/1.1 200 OK');
  const other = connect(port, '127.0.0.1');
  onTestFinished(() => void other.destroy());
  const still = ask(other, '/still');
  await eventually(
    async () => server.stdout,
    (text) => text.includes('still'),
  );
  expect(await ask(socket)).toBe('HTTP/1.1 200 OK');
  await still;
  // Idle from now on: the server ends it.
  await once(socket.resume(), 'close');
});
