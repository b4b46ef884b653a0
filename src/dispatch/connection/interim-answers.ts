import type { Socket } from 'node:net';

/**
 * Lets undici read a response after an unrequested `100 Continue`. A client must ignore any 1xx (RFC 9110,
 * section 15.2). undici does so for all but 100, on which it closes the connection. So the status 100 is
 * changed to 102 in the bytes undici reads (docs/adr/0011). No byte is delayed, cut or copied. undici still
 * parses every head and applies its own limits.
 *
 * States, for the bytes read since a request was started:
 *   off    -> nothing is inspected: no request is running, or its final response has begun;
 *   status -> the first 12 bytes of a head, `HTTP/1.1 100`; a status that does not begin with 1 leads to off;
 *   fields -> the rest of an interim head; its empty line leads back to status.
 */
const OFF = -1;
/** The position of the three status digits in a head. */
const FIRST_DIGIT = 9;
const LAST_DIGIT = 11;
const [LINE_FEED, CARRIAGE_RETURN, ZERO, ONE, TWO] = [0x0a, 0x0d, 0x30, 0x31, 0x32];

export class InterimAnswers {
  /** Bytes of the current head seen so far. It does not advance beyond the status. */
  #at = OFF;
  #isContinue = false;
  #lineBytes = 0;

  constructor(socket: Socket) {
    const read = socket.read;
    socket.read = (size?: number): Buffer | null => {
      const chunk = read.call(socket, size) as Buffer | null;
      if (this.#at !== OFF && chunk !== null) this.#scan(chunk);
      return chunk;
    };
  }

  /** A request is about to be written. The next bytes are the head of a response. */
  expect(): void {
    this.#at = 0;
  }

  #scan(chunk: Buffer): void {
    // The common case: the whole status is here and is final.
    const isFinal = this.#at === 0 && chunk.length > FIRST_DIGIT && chunk[FIRST_DIGIT] !== ONE;
    if (isFinal && !isLineEnd(chunk[0] as number)) {
      this.#at = OFF;
      return;
    }
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i] as number;
      if (this.#at > LAST_DIGIT) this.#inFields(byte);
      else if (this.#at > 0 || !isLineEnd(byte)) {
        if (this.#at === FIRST_DIGIT && byte !== ONE) {
          this.#at = OFF;
          return;
        }
        if (this.#inStatus(byte)) chunk[i] = TWO;
      }
    }
  }

  /** True for the last digit of 100. */
  #inStatus(byte: number): boolean {
    const at = this.#at++;
    if (at < FIRST_DIGIT) return false;
    this.#isContinue = at === FIRST_DIGIT || (this.#isContinue && byte === ZERO);
    this.#lineBytes = at;
    return at === LAST_DIGIT && this.#isContinue;
  }

  #inFields(byte: number): void {
    if (byte !== LINE_FEED) {
      if (byte !== CARRIAGE_RETURN) this.#lineBytes++;
      return;
    }
    if (this.#lineBytes === 0) this.#at = 0;
    this.#lineBytes = 0;
  }
}

/** The parser skips empty lines before a head, so they are skipped here too. */
function isLineEnd(byte: number): boolean {
  return byte === LINE_FEED || byte === CARRIAGE_RETURN;
}
