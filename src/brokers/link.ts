import type { ExchangeFailure } from '../dispatch/connection/outcome.ts';
import type { Destination } from '../domain/config/destination.ts';
import type { Deadline } from './deadline.ts';
import type { Producer, ProducerContext } from './module/producer.ts';
import { destinationModule } from './modules.ts';

/**
 * One connection to a broker, shared by all endpoints with the same settings and credentials.
 *
 *   opening ──> open ──> closed (it failed, it is idle, or the node stops)
 *
 * A closed link is never used again: the next message makes a new one. Messages that are under way fail with it. So a link
 * that is only left, because one message got no answer in time, closes after the last of the others.
 */
export class Link {
  readonly producer: Promise<Producer>;
  /** The project of the message that opened it. */
  readonly projectId: string;
  readonly #end = new AbortController();
  readonly #users = new Set<Deadline>();
  #idleSince = performance.now();
  #whenUnused: (() => void) | null = null;
  /** Null: it is not open yet. */
  opened: Producer | null = null;

  /** `lost` is called when it is of no use any more. */
  constructor(
    { destination, projectId }: { destination: Destination; projectId: string },
    context: Omit<ProducerContext, 'signal'>,
  ) {
    this.projectId = projectId;
    this.producer = this.#open(destination, context);
    // Callers that wait for the producer learn of it too.
    this.producer.then((producer) => (this.opened = producer), context.lost);
  }

  async #open(destination: Destination, context: Omit<ProducerContext, 'signal'>): Promise<Producer> {
    const module = await destinationModule(destination.type);
    const { signal } = this.#end;
    const producer = await module.open(destination, {
      ...context,
      signal,
      lost: (error) => {
        context.log.debug({ err: error }, 'a connection to a broker was lost');
        context.lost(error);
      },
    });
    if (signal.aborted) await producer.close();
    signal.throwIfAborted();
    return producer;
  }

  /** For how long nothing has used it. */
  get idleMs(): number {
    return this.#users.size > 0 ? 0 : performance.now() - this.#idleSince;
  }

  begin(message: Deadline): void {
    this.#users.add(message);
  }

  end(message: Deadline): void {
    this.#users.delete(message);
    this.#idleSince = performance.now();
    if (this.#users.size === 0) this.#whenUnused?.();
  }

  /** Calls back when the messages that are under way have ended. */
  whenUnused(call: () => void): void {
    this.#whenUnused = call;
    if (this.#users.size === 0) call();
  }

  /** `failure`: that of the messages that are under way. */
  async close(failure: ExchangeFailure): Promise<void> {
    this.#end.abort();
    for (const message of this.#users) message.end(failure);
    const producer = await this.producer.catch(() => null);
    await producer?.close();
  }
}
