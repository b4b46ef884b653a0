/**
 * The frames of messages to publish, one message behind the other in one buffer: for each the method, the properties and
 * the body. Messages are persistent and mandatory, and headers are texts.
 */
export interface Publication {
  exchange: string;
  routingKey: string;
  messageId: string;
  type: string;
  contentType: string;
  /** Seconds. */
  timestamp: number;
  headers: readonly (readonly [string, string])[];
  body: Buffer;
}

const FRAME = { method: 1, header: 2, body: 3 };
const FRAME_END = 0xce;
const BASIC = 60;
const PUBLISH = 40;
const MANDATORY = 1;
const PERSISTENT = 2;
const LONG_STRING = 'S'.charCodeAt(0);
/** Content type, headers, delivery mode, message id, timestamp and type, by their bits. */
const PROPERTIES = 0x8000 | 0x2000 | 0x1000 | 0x80 | 0x40 | 0x20;
/** A unit of a string has so many bytes in UTF-8 at most. */
const BYTES_PER_UNIT = 3;
const MAX_SHORT_STRING = 255;
/** At most, next to the texts and the body. */
const BYTES_PER_MESSAGE = 80;
const BYTES_PER_HEADER = 6;

export class MessageFrames {
  readonly #channel: number;
  readonly #bytes: Buffer;
  #at = 0;

  constructor(channel: number, size: number) {
    this.#channel = channel;
    this.#bytes = Buffer.allocUnsafe(size);
  }

  /** Returns whether there was room. */
  add(message: Publication): boolean {
    if (this.#at + mostBytes(message) > this.#bytes.length) return false;
    this.#addMethod(message);
    this.#addProperties(message);
    if (message.body.length > 0) this.#addBody(message.body);
    return true;
  }

  /** Returns the frames so far, and begins again. */
  take(): Buffer {
    const taken = Buffer.from(this.#bytes.subarray(0, this.#at));
    this.#at = 0;
    return taken;
  }

  #addMethod({ exchange, routingKey }: Publication): void {
    const start = this.#begin(FRAME.method);
    this.#uint16(BASIC);
    this.#uint16(PUBLISH);
    this.#uint16(0);
    this.#shortString(exchange);
    this.#shortString(routingKey);
    this.#uint8(MANDATORY);
    this.#end(start);
  }

  #addProperties({ contentType, headers, messageId, timestamp, type, body }: Publication): void {
    const start = this.#begin(FRAME.header);
    this.#uint16(BASIC);
    this.#uint16(0);
    this.#uint64(body.length);
    this.#uint16(PROPERTIES);
    this.#shortString(contentType);
    this.#table(headers);
    this.#uint8(PERSISTENT);
    this.#shortString(messageId);
    this.#uint64(timestamp);
    this.#shortString(type);
    this.#end(start);
  }

  #addBody(body: Buffer): void {
    const start = this.#begin(FRAME.body);
    this.#at += body.copy(this.#bytes, this.#at);
    this.#end(start);
  }

  #begin(type: number): number {
    this.#uint8(type);
    this.#uint16(this.#channel);
    return this.#beginLength();
  }

  #end(start: number): void {
    this.#endLength(start);
    this.#uint8(FRAME_END);
  }

  #table(entries: Publication['headers']): void {
    const start = this.#beginLength();
    for (const [name, value] of entries) {
      this.#shortString(name);
      this.#uint8(LONG_STRING);
      const text = this.#beginLength();
      this.#at += this.#bytes.write(value, this.#at);
      this.#endLength(text);
    }
    this.#endLength(start);
  }

  /** A length is known when all that it counts is written. */
  #beginLength(): number {
    this.#at += 4;
    return this.#at;
  }

  #endLength(start: number): void {
    this.#bytes.writeUInt32BE(this.#at - start, start - 4);
  }

  #shortString(text: string): void {
    const length = this.#bytes.write(text, this.#at + 1);
    this.#uint8(length);
    this.#at += length;
  }

  #uint8(value: number): void {
    this.#bytes[this.#at++] = value;
  }

  #uint16(value: number): void {
    this.#at = this.#bytes.writeUInt16BE(value, this.#at);
  }

  #uint64(value: number): void {
    this.#at = this.#bytes.writeUIntBE(value, this.#at + 2, 6);
    this.#bytes.writeUInt16BE(0, this.#at - 8);
  }
}

/** A bound that needs no look at the texts. Infinity: one of them may be too long for a short string. */
function mostBytes(message: Publication): number {
  const { exchange, routingKey, messageId, type, contentType, headers, body } = message;
  let longest = Math.max(
    exchange.length,
    routingKey.length,
    messageId.length,
    type.length,
    contentType.length,
  );
  let units = exchange.length + routingKey.length + messageId.length + type.length + contentType.length;
  for (const [name, value] of headers) {
    longest = Math.max(longest, name.length);
    units += name.length + value.length;
  }
  if (longest * BYTES_PER_UNIT > MAX_SHORT_STRING) return Number.POSITIVE_INFINITY;
  return BYTES_PER_MESSAGE + headers.length * BYTES_PER_HEADER + units * BYTES_PER_UNIT + body.length;
}
