/**
 * A minimal HTTP/1.1 parser for both ends of a measurement: it finds the end of a message with
 * Content-Length. The bench's own processes share the machine with the measured ones, so they must be cheap.
 */
export interface Message {
  bodyAt: number;
  end: number;
}

const HEAD_END = Buffer.from('\r\n\r\n');

/** Null while the message is incomplete. */
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

/** Splits a socket's bytes into messages. A chunk is nearly always one whole message and is then not copied. */
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
