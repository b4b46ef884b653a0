import { connect, type Socket } from 'node:net';
import { type LoopbackServer, listenTcp } from './loopback-server.ts';

/** A port of this machine, or the path of a socket. */
type Target = number | string;

/**
 * A way to a server of the tests, with the faults of a network. Each direction of a connection passes its data in order.
 * Frozen, connections stay open and new ones are accepted, but no data passes, as with a peer that vanished without
 * closing; what came meanwhile passes when it thaws. Without a target it ends every connection.
 */
export class Relay {
  readonly #lines = new Set<Line>();
  readonly #upstreams = new Set<Socket>();
  #server!: LoopbackServer;
  #target: Target | null;
  #isCut = false;
  #swallowed: 'requests' | 'answers' | null = null;
  #isFrozen = false;
  #givenUp = 0;
  #answerMs = 0;
  #lost: { text: string; times: number } | null = null;
  #spoil: ((answer: Buffer) => Buffer | null) | null = null;
  #counted: string[] = [];
  #trips = 0;

  private constructor(target: Target | null) {
    this.#target = target;
  }

  static async start(target: Target | null = null): Promise<Relay> {
    const relay = new Relay(target);
    relay.#server = await listenTcp((client) => relay.#accept(client));
    return relay;
  }

  get port(): number {
    return this.#server.port;
  }

  /** Connections of clients so far. */
  get accepted(): number {
    return this.#server.connections();
  }

  /** Open connections. */
  get open(): number {
    return this.#server.sockets.size;
  }

  /** Connections that the client closed while the relay was frozen. */
  get givenUp(): number {
    return this.#givenUp;
  }

  to(target: Target): void {
    this.#target = target;
  }

  /** Ends every connection, and each new one at once, until it is mended. */
  cut(): void {
    this.#isCut = true;
    for (const socket of [...this.#server.sockets, ...this.#upstreams]) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  /** Requests of clients are swallowed. */
  mute(): void {
    this.#swallowed = 'requests';
  }

  /** Answers of the server are swallowed: it has done the work, and the client does not learn it. */
  loseAnswers(): void {
    this.#swallowed = 'answers';
  }

  unmute(): void {
    this.#swallowed = null;
  }

  freeze(): void {
    this.#isFrozen = true;
  }

  thaw(): void {
    this.#isFrozen = false;
    for (const line of this.#lines) line.pass();
  }

  /** Every answer is late from now on, as from a server far away. */
  slow(answerMs: number): void {
    this.#answerMs = answerMs;
  }

  /** The answer to a request with this text is lost, and with it the connection, so many times. Null: none is. */
  loseAnswersTo(text: string | null, times = Number.POSITIVE_INFINITY): void {
    this.#lost = text === null ? null : { text, times };
  }

  /** An answer for which this returns bytes is replaced by them, and the connection ends. Null: none is. */
  spoilAnswers(spoil: ((answer: Buffer) => Buffer | null) | null): void {
    this.#spoil = spoil;
  }

  /**
   * Round trips from now on, of the connections that send one of these texts: requests after an answer. Answers must be
   * slow enough for what the client sends together to arrive together.
   */
  countTrips(...texts: string[]): () => number {
    this.#counted = texts;
    this.#trips = 0;
    return () => this.#trips;
  }

  close(): void {
    this.#isFrozen = false;
    for (const socket of this.#upstreams) socket.destroy();
    void this.#server.close();
  }

  #accept(client: Socket): void {
    const target = this.#target;
    if (target === null || this.#isCut) return void client.destroy();
    client.setNoDelay();
    const upstream = typeof target === 'number' ? connect(target, '127.0.0.1') : connect(target);
    this.#upstreams.add(upstream);
    upstream.on('error', () => upstream.destroy()).on('close', () => this.#upstreams.delete(upstream));
    const [requests, answers] = [this.#line(), this.#line()];
    let isLost = false;
    let isCounted = false;
    let wasAnswered = true;
    client.on('data', (chunk: Buffer) => {
      isLost ||= this.#loses(chunk);
      isCounted ||= this.#counted.some((text) => chunk.includes(text));
      if (isCounted && wasAnswered) this.#trips += 1;
      wasAnswered = false;
      if (this.#swallowed !== 'requests') requests.add(0, () => upstream.write(chunk));
    });
    upstream.on('data', (chunk: Buffer) => {
      if (isLost) return void client.destroy();
      if (this.#swallowed === 'answers') return;
      const spoilt = this.#spoil?.(chunk) ?? null;
      answers.add(this.#answerMs, () => {
        wasAnswered = true;
        if (spoilt === null) client.write(chunk);
        else client.end(spoilt);
      });
    });
    client.on('close', () => {
      if (this.#isFrozen) this.#givenUp += 1;
      requests.add(0, () => upstream.destroy());
      this.#lines.delete(answers);
    });
    upstream.on('close', () => {
      answers.add(this.#answerMs, () => client.destroy());
      this.#lines.delete(requests);
    });
  }

  #line(): Line {
    const line = new Line(() => this.#isFrozen);
    this.#lines.add(line);
    return line;
  }

  #loses(request: Buffer): boolean {
    if (this.#lost === null || this.#lost.times === 0 || !request.includes(this.#lost.text)) return false;
    this.#lost.times -= 1;
    return true;
  }
}

/** One direction of a connection: each piece passes after the one before it, not before its time, and none while it is held. */
class Line {
  readonly #waiting: { at: number; pass(): void }[] = [];
  readonly #isHeld: () => boolean;
  #timer: NodeJS.Timeout | undefined;

  constructor(isHeld: () => boolean) {
    this.#isHeld = isHeld;
  }

  add(lateMs: number, pass: () => void): void {
    const at = Math.max(performance.now() + lateMs, this.#waiting.at(-1)?.at ?? 0);
    this.#waiting.push({ at, pass });
    this.pass();
  }

  pass(): void {
    clearTimeout(this.#timer);
    for (let next = this.#waiting[0]; next !== undefined && !this.#isHeld(); next = this.#waiting[0]) {
      const waitMs = next.at - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.pass(), waitMs);
        return;
      }
      this.#waiting.shift();
      next.pass();
    }
  }
}
