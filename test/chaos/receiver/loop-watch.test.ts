import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { LoopWatch } from './loop-watch.ts';

/** Each new connection keeps the loop busy for so long. */
const BUSY_MS = 30;
const CONNECTIONS = 8;

test('connections of a burst that a busy loop accepts one by one are dated before the burst', async ({
  onTestFinished,
}) => {
  const watch = new LoopWatch();
  onTestFinished(() => watch.stop());
  const seen: { after: number; lastLook: number }[] = [];
  const server = createServer((socket) => {
    seen.push({ after: watch.accepted(), lastLook: watch.lastLook });
    const until = Date.now() + BUSY_MS;
    while (Date.now() < until);
    socket.destroy();
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const madeAt = Date.now();
  for (let n = 0; n < CONNECTIONS; n++) connect(port, '127.0.0.1').on('error', () => {});
  await eventually(async () => seen.length, CONNECTIONS);
  expect(seen.filter(({ after }) => after > madeAt)).toEqual([]);
  // The looks alone would date the last of them after they were made.
  expect(seen.at(-1)?.lastLook).toBeGreaterThan(madeAt);
});
