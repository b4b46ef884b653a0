import type { Server } from 'node:http';
import type { Socket } from 'node:net';

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
