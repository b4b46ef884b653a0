import { BlockedAddress } from '../dispatch/address/egress.ts';
import type { MessageSender, OutgoingMessage } from '../dispatch/client/message-sender.ts';
import { ExchangeFailure, type Outcome, type Timings } from '../dispatch/connection/outcome.ts';
import type { Turn } from '../dispatch/connection/turn.ts';
import type { Destination } from '../domain/config/destination.ts';
import type { Logger } from '../platform/logger.ts';
import { SharedRoom } from '../platform/shared-room.ts';
import { Tasks } from '../platform/tasks.ts';
import { Deadline } from './deadline.ts';
import { Link } from './link.ts';
import { messageHeaders } from './message-headers.ts';
import { BrokerError, nestedErrors } from './module/broker-error.ts';
import type { NetworkContext } from './module/broker-module.ts';
import type { Producer, Receipt } from './module/producer.ts';
import { WorkloadError } from './module/workload.ts';
import { destinationModule } from './modules.ts';

/**
 * Sends deliveries to brokers, over a bounded number of connections. Endpoints whose connections have the same settings and
 * credentials share one. Other credentials are another connection, so a change has effect with the next message, and the
 * old connection ends when it is idle. A connection that fails is given up. One that does not answer
 * in time gets no new messages, and the messages on it have their own time.
 */
const IDLE_MS = 60_000;
const LOOK_EVERY_MS = 10_000;
const MAX_LINKS = 256;
/** A project that is alone has three quarters of the connections at most. Each other one finds room. */
const PROJECT_GREED = 3;
const MAX_TEXT = 500;
/** A fact that a broker tells, such as the id of a message. */
const MAX_FACT = 256;
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
/** The broker, or its protocol, has no room for the message: it did not arrive. */
const REFUSED: ReadonlySet<string> = new Set(['message_too_large', 'message_unfit', 'unroutable']);

export class Destinations implements MessageSender {
  readonly #context: Omit<NetworkContext, 'signal'>;
  readonly #log: Logger;
  readonly #room: SharedRoom;
  readonly #links = new Map<string, Link>();
  /** The key of settings that are in use, which is long to make. */
  readonly #keys = new WeakMap<Destination, Promise<string>>();
  /** These get no new messages, and close after their last one. */
  readonly #left = new Set<Link>();
  readonly #closing = new Tasks();
  readonly #timer: NodeJS.Timeout;
  #isClosed = false;

  constructor(context: Omit<NetworkContext, 'signal'>, { maxLinks = MAX_LINKS, idleMs = IDLE_MS } = {}) {
    this.#context = context;
    this.#log = context.log;
    this.#room = new SharedRoom(maxLinks, PROJECT_GREED);
    this.#timer = setInterval(() => this.#closeIdle(idleMs), Math.min(idleMs, LOOK_EVERY_MS));
    this.#timer.unref();
  }

  /** Connections that are open or opening. */
  get size(): number {
    return this.#links.size + this.#left.size;
  }

  async send(message: OutgoingMessage, signal?: AbortSignal): Promise<Outcome> {
    const deadline = new Deadline(message.timeoutMs, signal);
    const course: Course = { startedMs: performance.now(), timings: {} };
    let link: Link | null = null;
    try {
      const key = await this.#keyOf(message.destination);
      for (;;) {
        link = this.#linkTo(key, message);
        link.begin(deadline);
        const producer = link.opened ?? (await this.#opening(link, course, deadline));
        const turn = message.turn?.take() ?? 'now';
        if (turn === 'now') return confirmed(course, await sendOn(producer, message, { course, deadline }));
        if (turn === 'never') throw new ExchangeFailure('aborted', 'the message was given up', true);
        // It takes the connection that there is then.
        link.end(deadline);
        link = null;
        await deadline.wait(message.turn as Turn);
        course.startedMs = performance.now();
      }
    } catch (error) {
      const failure = failureOf(error);
      if (link !== null && !ABOUT_MESSAGE.has(failure.code)) this.#leave(link);
      const mayHaveArrived = maybeArrived(deadline, failure);
      return failed(course, { failure, mayHaveArrived, address: link?.opened?.address ?? null });
    } finally {
      deadline.clear();
      link?.end(deadline);
    }
  }

  async #opening(link: Link, course: Course, deadline: Deadline): Promise<Producer> {
    const producer = await deadline.limit(link.producer, 'The broker did not let us in');
    course.timings.connectMs = performance.now() - course.startedMs;
    return producer;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const link of [...this.#links.values(), ...this.#left]) this.#drop(link, CLOSED);
    await this.#closing.settled();
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
    if (this.#isClosed) throw CLOSED;
    const known = this.#links.get(key);
    if (known !== undefined) return known;
    this.#makeRoom(message.projectId);
    const lost = (error: Error) => this.#drop(link, failureOf(error));
    const link: Link = new Link(message, { ...this.#context, lost });
    this.#room.take(message.projectId);
    this.#links.set(key, link);
    return link;
  }

  /** An idle connection makes room for a new one: of the same project first. */
  #makeRoom(projectId: string): void {
    const isFull = () => this.#room.left(projectId) < 1;
    if (isFull()) this.#closeLongestIdle((link) => link.projectId === projectId);
    if (isFull()) this.#closeLongestIdle(() => true);
    if (isFull())
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

  /** Returns whether it could get new messages until now. */
  #forget(link: Link): boolean {
    for (const [key, one] of this.#links) if (one === link) return this.#links.delete(key);
    return false;
  }

  #leave(link: Link): void {
    if (!this.#forget(link)) return;
    this.#left.add(link);
    link.whenUnused(() => this.#drop(link));
  }

  /** `failure`: that of the messages that are under way. An idle connection has none. */
  #drop(link: Link, failure = CLOSED): void {
    if (!this.#forget(link) && !this.#left.delete(link)) return;
    this.#room.leave(link.projectId);
    this.#closing.add(() =>
      link
        .close(failure)
        .catch((error: unknown) => this.#log.debug({ err: error }, 'a connection to a broker did not close')),
    );
  }
}

const CLOSED = new ExchangeFailure('aborted', 'the connections to brokers are closed', true);

interface Course {
  startedMs: number;
  timings: Omit<Timings, 'totalMs'>;
}

async function sendOn(
  producer: Producer,
  message: OutgoingMessage,
  { course, deadline }: { course: Course; deadline: Deadline },
): Promise<Receipt> {
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
    limit: deadline,
  });
  const receipt = await deadline.limit(sending, 'The broker did not confirm the message');
  course.timings.firstByteMs = performance.now() - course.startedMs;
  return receipt;
}

const timesOf = ({ startedMs, timings }: Course) => ({
  startedMs,
  timings: { ...timings, totalMs: performance.now() - startedMs },
  certificates: null,
});

/** Words of a broker, which are stored. */
const words = (text: string, most: number): string => text.slice(0, most).toWellFormed().replaceAll('\0', '');

const confirmed = (course: Course, { address, facts }: Receipt): Outcome => ({
  kind: 'response',
  isConfirm: true,
  status: 200,
  statusText: '',
  headers: Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, [words(value, MAX_FACT)]])),
  body: Buffer.alloc(0),
  truncated: false,
  address,
  ...timesOf(course),
});

/** Undefined if the client had yet to connect: then the code of the error tells, but for a stop of ours. */
function maybeArrived({ begun }: Deadline, { code }: ExchangeFailure): boolean | undefined {
  if (begun === null) return false;
  if (begun === 'connected') return !REFUSED.has(code);
  return code === 'aborted' ? true : undefined;
}

const failed = (
  course: Course,
  {
    failure: { code, message, ours },
    mayHaveArrived,
    address,
  }: { failure: ExchangeFailure; mayHaveArrived: boolean | undefined; address: string | null },
): Outcome => ({
  kind: 'error',
  code,
  message: words(message, MAX_TEXT),
  ours,
  dropped: false,
  ...(mayHaveArrived !== undefined && { mayHaveArrived }),
  address,
  ...timesOf(course),
});

/** Any error of a module, in a word and a sentence. */
function failureOf(error: unknown): ExchangeFailure {
  if (error instanceof ExchangeFailure) return error;
  const all = [...nestedErrors(error as Error)];
  const own = all.find((one) => one instanceof BrokerError);
  const blocked = all.find((one) => one instanceof BlockedAddress);
  const isOurs = own instanceof WorkloadError || blocked?.isOurs === true;
  return new ExchangeFailure(
    own?.code ?? blocked?.code ?? 'broker_refused',
    own?.message ?? 'The broker failed.',
    isOurs,
  );
}
