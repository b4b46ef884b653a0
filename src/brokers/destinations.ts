import type { MessageSender, OutgoingMessage } from '../dispatch/client/message-sender.ts';
import { ExchangeFailure, type Outcome, type Timings } from '../dispatch/connection/outcome.ts';
import type { Destination } from '../domain/config/destination.ts';
import type { Logger } from '../platform/logger.ts';
import { Deadline } from './deadline.ts';
import { destinationModule } from './destination-modules.ts';
import { Link } from './link.ts';
import { messageHeaders } from './message-headers.ts';
import type { NetworkContext } from './module/broker-module.ts';
import { failureOf } from './module/failure-of.ts';
import type { Receipt } from './module/producer.ts';

/**
 * Sends deliveries to brokers, over a bounded number of connections. Endpoints whose connections have the same settings and
 * credentials share one. Other credentials are another connection, so a change has effect with the next message, and the
 * old connection ends when it is idle. A connection that fails is given up. One that does not answer
 * in time gets no new messages, and the messages on it have their own time.
 */
const IDLE_MS = 60_000;
const LOOK_EVERY_MS = 10_000;
const MAX_LINKS = 256;
/** One project has at most this part of the connections: a quarter. */
const SHARES = 4;
const MAX_TEXT = 500;
/** After these the connection is as good as before. */
const ABOUT_MESSAGE: ReadonlySet<string> = new Set([
  'message_too_large',
  'message_unfit',
  'unroutable',
  'target_not_found',
  'not_permitted',
  'broker_refused',
  'aborted',
]);

export class Destinations implements MessageSender {
  readonly #context: Omit<NetworkContext, 'signal'>;
  readonly #log: Logger;
  readonly #maxLinks: number;
  readonly #links = new Map<string, Link>();
  /** The key of settings that are in use, which is long to make. */
  readonly #keys = new WeakMap<Destination, Promise<string>>();
  /** These get no new messages, and close after their last one. */
  readonly #left = new Set<Link>();
  readonly #closing = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  #isClosed = false;

  constructor(context: Omit<NetworkContext, 'signal'>, { maxLinks = MAX_LINKS, idleMs = IDLE_MS } = {}) {
    this.#context = context;
    this.#log = context.log;
    this.#maxLinks = maxLinks;
    this.#timer = setInterval(() => this.#closeIdle(idleMs), Math.min(idleMs, LOOK_EVERY_MS));
    this.#timer.unref();
  }

  /** Connections that are open or opening. */
  get size(): number {
    return this.#links.size + this.#left.size;
  }

  async send(message: OutgoingMessage, signal?: AbortSignal): Promise<Outcome> {
    const course: Course = { startedAt: Date.now(), startedMs: performance.now(), timings: {} };
    const deadline = new Deadline(message.timeoutMs, signal);
    let link: Link | undefined;
    try {
      const key = await this.#keyOf(message.destination);
      link = this.#linkTo(key, message);
      link.begin();
      return confirmed(course, await this.#sendOn(link, message, { course, deadline }));
    } catch (error) {
      const failure = failureOf(error);
      if (link !== undefined && !ABOUT_MESSAGE.has(failure.code)) this.#leave(link);
      return failed(course, failure, link?.opened?.address ?? null);
    } finally {
      deadline.clear();
      link?.end();
    }
  }

  async #sendOn(
    link: Link,
    message: OutgoingMessage,
    { course, deadline }: { course: Course; deadline: Deadline },
  ): Promise<Receipt> {
    let producer = link.opened;
    if (producer === null) {
      producer = await deadline.limit(link.producer, 'The broker did not let us in');
      course.timings.connectMs = performance.now() - course.startedMs;
    }
    if (message.turn !== undefined && (await deadline.turn(message.turn))) {
      course.startedAt = Date.now();
      course.startedMs = performance.now();
    }
    const { destination, id, eventType, body, orderingKey, isAtMostOnce } = message;
    const headers = messageHeaders(message);
    const sending = producer.send({
      destination,
      id,
      eventType,
      headers,
      body,
      orderingKey,
      isAtMostOnce,
    });
    const receipt = await deadline.limit(sending, 'The broker did not confirm the message');
    course.timings.firstByteMs = performance.now() - course.startedMs;
    return receipt;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const link of [...this.#links.values(), ...this.#left]) this.#drop(link);
    await Promise.all(this.#closing);
  }

  #keyOf(destination: Destination): Promise<string> {
    let key = this.#keys.get(destination);
    if (key === undefined) {
      key = destinationModule(destination.type).then(
        (module) => `${destination.type} ${JSON.stringify(module.connectionOf(destination))}`,
      );
      this.#keys.set(destination, key);
    }
    return key;
  }

  #linkTo(key: string, message: OutgoingMessage): Link {
    if (this.#isClosed) throw new ExchangeFailure('aborted', 'the connections to brokers are closed', true);
    const known = this.#links.get(key);
    if (known !== undefined) return known;
    this.#makeRoom(message.projectId);
    const link: Link = new Link(message, {
      load: () => destinationModule(message.destination.type),
      context: this.#context,
      lost: () => this.#drop(link),
    });
    this.#links.set(key, link);
    return link;
  }

  /** One project cannot take the connections of all others. An idle one makes room for a new one. */
  #makeRoom(projectId: string): void {
    const share = Math.max(1, Math.floor(this.#maxLinks / SHARES));
    const own = (link: Link) => link.projectId === projectId;
    const ownSize = () => [...this.#links.values(), ...this.#left].filter(own).length;
    if (ownSize() >= share) this.#closeLongestIdle(own);
    if (ownSize() >= share)
      throw new ExchangeFailure('local_resource', 'the project uses too many connections to brokers', true);
    if (this.size >= this.#maxLinks) this.#closeLongestIdle(() => true);
    if (this.size >= this.#maxLinks)
      throw new ExchangeFailure('local_resource', 'too many connections to brokers are in use', true);
  }

  #closeLongestIdle(among: (link: Link) => boolean): void {
    const idle = [...this.#links.values()].filter((link) => link.idleMs > 0 && among(link));
    idle.sort((a, b) => b.idleMs - a.idleMs);
    for (const link of idle.slice(0, 1)) this.#drop(link);
  }

  #closeIdle(idleMs: number): void {
    for (const link of this.#links.values()) if (link.idleMs > idleMs) this.#drop(link);
  }

  #forget(link: Link): void {
    for (const [key, one] of this.#links) if (one === link) this.#links.delete(key);
  }

  #leave(link: Link): void {
    this.#forget(link);
    if (this.#left.has(link)) return;
    this.#left.add(link);
    link.whenUnused(() => this.#drop(link));
  }

  #drop(link: Link): void {
    this.#forget(link);
    this.#left.delete(link);
    const closing = link
      .close()
      .catch((error: unknown) => this.#log.debug({ err: error }, 'a connection to a broker did not close'))
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}

interface Course {
  startedAt: number;
  startedMs: number;
  timings: Omit<Timings, 'totalMs'>;
}

const timesOf = ({ startedAt, startedMs, timings }: Course) => ({
  startedAt,
  timings: { ...timings, totalMs: performance.now() - startedMs },
  certificates: null,
});

const confirmed = (course: Course, { address, facts }: Receipt): Outcome => ({
  kind: 'response',
  isConfirm: true,
  status: 200,
  statusText: '',
  headers: Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, [value]])),
  body: Buffer.alloc(0),
  truncated: false,
  address,
  ...timesOf(course),
});

const failed = (
  course: Course,
  { code, message, ours }: ExchangeFailure,
  address: string | null,
): Outcome => ({
  kind: 'error',
  code,
  // Some have the words of the broker.
  message: message.slice(0, MAX_TEXT),
  ours,
  dropped: false,
  address,
  ...timesOf(course),
});
