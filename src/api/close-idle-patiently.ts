import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Closes connections of callers that have been idle for as long as they may be. Node closes them in a timer, before it
 * reads the sockets: after this process stood still, a request that had come would be thrown away unread. Here the
 * sockets are polled once more, and a connection with something to read stays.
 */
export function closeIdlePatiently(server: Server): void {
  server.on('timeout', (socket: Socket) => {
    const readBytes = socket.bytesRead;
    setImmediate(() => {
      if (socket.bytesRead === readBytes) socket.destroy();
    });
  });
}
