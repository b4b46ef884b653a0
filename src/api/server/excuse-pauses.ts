import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { stoodStillMs } from '../../platform/time/patient-timer.ts';

/**
 * Callers have a time limit to send a request, and Node checks all connections periodically. Time in which
 * this process stalled does not count, so the limit of requests that may have begun before the stall is
 * longer by it. Node reads the limit at each check, and it is computed then. `looks` has the stalled time at
 * earlier checks: one from before any request within the limit, and those since.
 */
export function excusePauses(server: Server, limitMs: number): void {
  let looks = [{ at: performance.now(), stoodStill: stoodStillMs() }];
  const limit = (): number => {
    const now = { at: performance.now(), stoodStill: stoodStillMs() };
    looks.push(now);
    const ranMs = (since: (typeof looks)[number]) => now.at - since.at - (now.stoodStill - since.stoodStill);
    const first = looks.findLastIndex((look) => ranMs(look) > limitMs);
    looks = looks.slice(Math.max(first, 0));
    return limitMs + now.stoodStill - (looks[0] ?? now).stoodStill;
  };
  for (const name of ['requestTimeout', 'headersTimeout'])
    Object.defineProperty(server, name, { get: limit });
}

/**
 * Closes connections of callers at their idle limit. Node closes them in a timer, before it reads the
 * sockets. After a stall of this process it would drop a request unread. Here the sockets are polled once
 * more, and a connection with unread data stays open.
 */
export function closeIdlePatiently(server: Server): void {
  server.on('timeout', (socket: Socket) => {
    const readBytes = socket.bytesRead;
    setImmediate(() => {
      if (socket.bytesRead === readBytes) socket.destroy();
    });
  });
}
