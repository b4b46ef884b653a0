import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import Client from 'undici/lib/dispatcher/client.js';
import type { Connector, Progress, Target, TlsOffer } from './connector.ts';
import type { Exchange, Line } from './exchange.ts';
import { InterimAnswers } from './interim-answers.ts';
import type { ExchangeFailure } from './outcome.ts';

/**
 * Room for one connection: an undici Client, which connects when first needed and again after its connection
 * closed. A slot serves one exchange at a time, or many once its connection turned out to be HTTP/2.
 *
 * Invariants: `active` is the number of exchanges placed here and not yet released. A slot is `listed` as
 * available only while it has an open connection that is not too old and has room (or is new and unused).
 * Once `discarded` it serves no exchange and its socket is closing.
 */

const H2_STREAMS = 100;
/**
 * Node, Apache and others close a connection after 5 s idle. We close first, so we never write to a
 * connection that is being closed. An endpoint may state its own limit (`Keep-Alive: timeout=N`). It is used,
 * less a second for the network.
 */
const IDLE_MS = 4_000;
const MAX_IDLE_MS = 60_000;
const IDLE_MARGIN_MS = 1_000;
/** A busy connection is renewed too, so that a change in DNS takes effect. */
const MAX_AGE_MS = 300_000;
const MAX_HEADER_BYTES = 16_384;
/** How much of a response an endpoint may send before we have read any of it. */
const H2_WINDOW_BYTES = 65_535;

/** The pool of an origin, as its slots see it. */
export interface SlotOwner {
  readonly target: Target;
  readonly tls: TlsOffer | null;
  readonly connector: Connector;
  setAvailable(slot: Slot, available: boolean): void;
  /** It was idle and is now in use. */
  taken(slot: Slot): void;
  released(slot: Slot): void;
  removed(slot: Slot, closing: Promise<void>): void;
  /** The protocol of the first connection is known. */
  endHold(): void;
  drain(): void;
}

export class Slot implements Line {
  progress: Progress = { stage: 'dns', address: null, certificates: null };
  active = 0;
  listed = false;
  discarded = false;
  readonly #owner: SlotOwner;
  readonly #client: Client;
  readonly #exchanges = new Set<Exchange>();
  #capacity = 1;
  #uses = 0;
  #open = false;
  #full = false;
  #openedMs = 0;
  #connecting: AbortController | null = null;
  /** Null for HTTP/2, which has separate frames for them. */
  #interimAnswers: InterimAnswers | null = null;

  constructor(owner: SlotOwner) {
    this.#owner = owner;
    this.#client = new Client(owner.target.origin, {
      connect: (_options, callback) => void this.#connect(callback),
      pipelining: 1,
      allowH2: true,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: MAX_IDLE_MS,
      keepAliveTimeoutThreshold: IDLE_MARGIN_MS,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: MAX_HEADER_BYTES,
      initialWindowSize: H2_WINDOW_BYTES,
      maxConcurrentStreams: H2_STREAMS,
    });
    this.#client.on('disconnect', () => this.#disconnected());
    this.#client.on('drain', () => this.#drained());
  }

  get worthKeeping(): boolean {
    return this.#open && !this.discarded && performance.now() - this.#openedMs < MAX_AGE_MS;
  }

  serve(exchange: Exchange, waited: boolean): void {
    this.active++;
    this.#exchanges.add(exchange);
    if (this.active === 1) this.#owner.taken(this);
    if (this.active >= this.#capacity) this.#owner.setAvailable(this, false);
    exchange.place(this, waited);
    const takesMore = this.#client.dispatch(exchange.job.options, exchange);
    // An endpoint may allow fewer streams than we would use. undici reports that, and again when there is
    // room. An exchange that was refused at once is no sign of it.
    if (takesMore || this.#capacity === 1 || exchange.isDone) return;
    this.#full = true;
    this.#owner.setAvailable(this, false);
  }

  use(): boolean {
    this.#interimAnswers?.expect();
    return this.#uses++ > 0;
  }

  release(exchange: Exchange): void {
    if (!this.#exchanges.delete(exchange)) return;
    this.active--;
    this.#offer();
    this.#owner.released(this);
  }

  abandon(): void {
    if (this.active === 1 && this.#connecting !== null) this.discard();
  }

  unpark(exchange: Exchange): void {
    this.#client.dispatch(exchange.job.options, exchange);
  }

  discard(): void {
    if (this.discarded) return;
    this.discarded = true;
    this.#connecting?.abort();
    this.#owner.removed(this, this.#client.destroy());
  }

  close(failure: ExchangeFailure): void {
    for (const exchange of this.#exchanges) exchange.fail(failure);
    this.discard();
  }

  async #connect(callback: buildConnector.Callback): Promise<void> {
    const aborter = new AbortController();
    const progress: Progress = { stage: 'dns', address: null, certificates: null };
    this.progress = progress;
    this.#connecting = aborter;
    this.#uses = 0;
    const { target, tls, connector } = this.#owner;
    let socket: Socket;
    try {
      socket = await connector.open({ target, tls, progress, signal: aborter.signal });
    } catch (error) {
      this.#connecting = null;
      callback(error as Error, null);
      this.#owner.endHold();
      return;
    }
    this.#connecting = null;
    this.#open = true;
    this.#openedMs = performance.now();
    const isH2 = 'alpnProtocol' in socket && socket.alpnProtocol === 'h2';
    this.#capacity = isH2 ? H2_STREAMS : 1;
    this.#interimAnswers = isH2 ? null : new InterimAnswers(socket);
    callback(null, socket);
    // The endpoint's settings give the number of streams. `drain` follows them.
    if (isH2) this.#full = true;
    else this.#owner.endHold();
  }

  #offer(): void {
    if (this.#full || this.active >= this.#capacity || !this.worthKeeping) return;
    this.#owner.setAvailable(this, true);
  }

  #drained(): void {
    if (!this.#full) return;
    this.#full = false;
    this.#offer();
    this.#owner.endHold();
    this.#owner.drain();
  }

  #disconnected(): void {
    this.#open = false;
    this.#full = false;
    this.#capacity = 1;
    if (this.active === 0) this.discard();
    else this.#owner.setAvailable(this, false);
  }
}
