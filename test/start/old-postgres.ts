import type { Socket } from 'node:net';
import { type LoopbackServer, listenTcp } from '../support/servers/loopback-server.ts';

/**
 * Enough of a PostgreSQL server to be asked for its version: it lets everybody in and answers every query with
 * one row, its version as a number and as text.
 */
export function oldPostgres(text: string, number: number): Promise<LoopbackServer> {
  return listenTcp((socket) => {
    let pending = Buffer.alloc(0);
    let isStarted = false;
    socket.on('data', (chunk: Buffer) => {
      pending = Buffer.concat([pending, chunk]);
      // The first message has no type byte; the others do.
      for (let head = isStarted ? 1 : 0; pending.length >= head + 4; head = isStarted ? 1 : 0) {
        const end = head + pending.readInt32BE(head);
        if (pending.length < end) return;
        const type = isStarted ? String.fromCharCode(pending[0]!) : '';
        pending = pending.subarray(end);
        isStarted = true;
        answer(socket, type, [String(number), text]);
      }
    });
  });
}

function answer(socket: Socket, type: string, row: string[]): void {
  if (type === '') socket.write(Buffer.concat([message('R', int32(0)), message('Z', Buffer.from('I'))]));
  if (type !== 'Q') return;
  const fields = ['version', 'text'].map((name, i) =>
    Buffer.concat([
      cString(name),
      int32(0),
      int16(0),
      int32(i === 0 ? 23 : 25),
      int16(-1),
      int32(-1),
      int16(0),
    ]),
  );
  const values = row.map((value) => Buffer.concat([int32(value.length), Buffer.from(value)]));
  socket.write(
    Buffer.concat([
      message('T', int16(2), ...fields),
      message('D', int16(2), ...values),
      message('C', cString('SELECT 1')),
      message('Z', Buffer.from('I')),
    ]),
  );
}

function message(type: string, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

const cString = (text: string): Buffer => Buffer.from(`${text}\0`);
