import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import type { Connection } from '@platformatic/kafka';
import { BrokerError } from '../module/broker-error.ts';
import { AnswerLengths } from './answer-lengths.ts';
import { NOT_KAFKA } from './kafka-error.ts';

/**
 * Keeps a broker that breaks the protocol, or the connection, from ending the process or filling its memory. The client has
 * no settings for that, so each of its connections is changed when it begins to connect, before the sign-in:
 *
 * - A connection may emit two errors, and its pool hears one. Without a listener the second would end the process.
 * - A connection that failed is forgotten by its pool. It closes though the broker keeps its side open.
 * - An exception of the client ends the connection on which the answer came, and not the process.
 * - A connection whose broker announces a longer answer than `maxAnswerBytes` ends before the answer is in memory. The client
 *   would collect up to 2 GiB.
 * - A broker says how long a sign-in lasts. The client follows each wish, and takes more than 24 days for none: it would hash
 *   the password all the time. So one that wants it more often than every SIGN_IN_EVERY_MS gets no further sign-in.
 */
const SIGN_IN_EVERY_MS = 10_000;
export const CONNECTS = 'tracing:plt:kafka:connections:connects:start';

/** The `context` of a client. */
export interface ConnectionLimits {
  maxAnswerBytes: number;
  /** The client threw an exception. What it was doing may never end. */
  broken(error: Error): void;
}

subscribe(CONNECTS, (message) => {
  const { connection } = message as { connection?: Connection };
  const limits = connection?.context as ConnectionLimits | undefined;
  if (connection === undefined || limits === undefined) return;
  // Its pool tells those who wait for it. The client then ends its own side only.
  connection.on('error', () => {
    setImmediate(() => (connection.socket as Socket | undefined)?.destroy());
  });
  const signIn = connection.reauthenticate.bind(connection);
  let lastMs = performance.now();
  connection.reauthenticate = () => {
    // The timer goes on after the end. Its error would have the pool forget the connection that came after.
    if (!connection.isConnected() || performance.now() - lastMs < SIGN_IN_EVERY_MS) return;
    lastMs = performance.now();
    signIn();
  };
  // The socket is made in this turn, and connects in a later one.
  queueMicrotask(() => {
    const { socket } = connection;
    // The client's types leave out that there is none when the address is wrong.
    if ((socket as Socket | undefined) !== undefined) guard(socket, limits);
  });
});

function guard(socket: Socket, { maxAnswerBytes, broken }: ConnectionLimits): void {
  const lengths = new AnswerLengths(maxAnswerBytes);
  socket.on('data', (chunk: Buffer) => {
    // Without an error: during a sign-in the client would throw it where nothing catches it. It goes by the end.
    if (!lengths.areAllowed(chunk)) socket.destroy();
  });
  const emit = socket.emit.bind(socket) as (...event: unknown[]) => boolean;
  socket.emit = (...event: unknown[]) => {
    try {
      return emit(...event);
    } catch (error) {
      broken(new BrokerError(NOT_KAFKA, { cause: error }));
      socket.destroy();
      return true;
    }
  };
}
