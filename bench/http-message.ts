/**
 * Just enough HTTP/1.1 for both ends of a measurement: finds where a message that carries Content-Length ends. The
 * bench's own processes share the machine with what they measure, so they must cost as little as they can.
 */
export interface Message {
  bodyAt: number;
  end: number;
}

const HEAD_END = Buffer.from('\r\n\r\n');

/** null while the message is not whole. */
export function wholeMessage(buffer: Buffer, from: number): Message | null {
  const headEnd = buffer.indexOf(HEAD_END, from);
  if (headEnd === -1) return null;
  const bodyAt = headEnd + HEAD_END.length;
  const end = bodyAt + contentLength(buffer.toString('latin1', from, headEnd));
  return buffer.length < end ? null : { bodyAt, end };
}

function contentLength(head: string): number {
  const match = /\r\ncontent-length: *(\d+)/i.exec(head);
  if (match === null) throw new Error(`a message without Content-Length: ${head}`);
  return Number(match[1]);
}

/** Cuts a socket's bytes into messages. A chunk is nearly always one whole message and is then not copied. */
export function readMessages(onMessage: (buffer: Buffer, at: number, message: Message) => void) {
  let rest: Buffer | null = null;
  return (chunk: Buffer): void => {
    const buffer: Buffer = rest === null ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    while (at < buffer.length) {
      const message = wholeMessage(buffer, at);
      if (message === null) break;
      onMessage(buffer, at, message);
      at = message.end;
    }
    rest = at === buffer.length ? null : buffer.subarray(at);
  };
}
