import type { DeliverySink } from '../domain/delivery-sink.ts';
import { AppError } from '../domain/errors.ts';
import type { EventId } from '../domain/ids.ts';
import type { Metrics } from '../metrics/metrics.ts';
import {
  keepMessages,
  lockPositions,
  messageName,
  movePositions,
  type StreamPosition,
  streamName,
} from '../store/brokers/broker-lots.ts';
import type { Database, HotQueryable } from '../store/database/database.ts';
import {
  because,
  isConnectionError,
  isDataError,
  isMissingPartition,
  isUndone,
} from '../store/database/pg-errors.ts';
import { type AcceptResult, acceptEventsIn } from '../store/queue/accept-events.ts';
import type { DeliveryPlaces } from './delivery-places.ts';
import type { IntakeLimits } from './intake-limits.ts';
import type { Lot, LotMessage } from './lot.ts';
import type { NewEvent } from './new-event.ts';
import { acceptBatch, type PreparedEvent } from './prepare-event.ts';
import { RETRY_SECONDS } from './store-error.ts';
import { STALE } from './store-events.ts';

/**
 * Stores lots of brokers, all of a batch in one transaction: positions are locked, repeats dropped, the rest stored by
 * the statement that stores every event, the positions moved, commit. So an event is stored exactly if its place in the
 * broker is stored. A redelivery finds the place and writes nothing.
 *
 * The results of a lot:
 *   stored     -> all its messages may be acknowledged;
 *   over limit -> those before the limit are stored, the rest is handed back;
 *   stale      -> its project's config moved on since matching: nothing of it is stored, it is matched again;
 *   poisoned   -> lots, then their messages, are halved until the one that the database refuses stands alone, and
 *                 what `refused` makes of it is stored in its place;
 *   no partition -> partitions are made and the batch goes again;
 *   failed     -> nothing of it is known to be stored; handed in again, it is stored or found to be.
 */
export interface PreparedLot {
  lot: Lot;
  /** One for each message, in order. */
  items: PreparedEvent[];
}

export interface LotResult {
  done: number;
  stored: number;
  repeats: number;
  error: Error | typeof STALE | null;
}

export interface LotStoreDeps {
  db: Database;
  nodeId: string;
  sink: DeliverySink;
  metrics: Metrics;
  limits: IntakeLimits;
  places: DeliveryPlaces;
  makePartitions(): Promise<void>;
  prepare(event: NewEvent, eventId?: EventId): Promise<PreparedEvent>;
}

type Accepted = Pick<AcceptResult, 'duplicates' | 'waiting'>;

/** Thrown inside of a transaction, to undo it. */
class StaleProjects extends Error {
  readonly ids: ReadonlySet<string>;

  constructor(ids: ReadonlySet<string>) {
    super('the config of a project moved on');
    this.ids = ids;
  }
}

const REFUSED = 'The message holds text that cannot be stored.';

export class LotStore {
  readonly #deps: LotStoreDeps;

  constructor(deps: LotStoreDeps) {
    this.#deps = deps;
  }

  /** One result for each lot, in order. */
  async store(lots: readonly PreparedLot[]): Promise<LotResult[]> {
    const refused = await this.#deps.limits.refused(lots.flatMap(({ items }) => items));
    const admitted = lots.map((one) => {
      const end = one.items.findIndex((item) => refused.has(item));
      return end === -1 ? one : slice(one, 0, end);
    });
    const results = await this.#storeTogether(admitted);
    return results.map((result, n) => {
      const next = lots[n]?.items[result.done];
      const overLimit = next === undefined ? undefined : refused.get(next);
      return result.error === null && overLimit !== undefined ? { ...result, error: overLimit } : result;
    });
  }

  async #storeTogether(lots: PreparedLot[]): Promise<LotResult[]> {
    if (lots.length === 0) return [];
    try {
      return await this.#commit(lots);
    } catch (error) {
      if (error instanceof StaleProjects) return this.#withoutStale(lots, error.ids);
      if (isDataError(error)) return lots.length > 1 ? this.#halved(lots) : [await this.#sifted(lots[0]!)];
      return lots.map(() => ({ done: 0, stored: 0, repeats: 0, error: lotError(error) }));
    }
  }

  async #withoutStale(lots: PreparedLot[], stale: ReadonlySet<string>): Promise<LotResult[]> {
    const others = lots.filter(({ lot }) => !stale.has(lot.projectId));
    const results = (await this.#storeTogether(others)).values();
    return lots.map(({ lot }) =>
      stale.has(lot.projectId)
        ? { done: 0, stored: 0, repeats: 0, error: STALE }
        : (results.next().value as LotResult),
    );
  }

  async #halved(lots: PreparedLot[]): Promise<LotResult[]> {
    const half = Math.ceil(lots.length / 2);
    const first = await this.#storeTogether(lots.slice(0, half));
    return [...first, ...(await this.#storeTogether(lots.slice(half)))];
  }

  /** One lot with a message that the database refuses. */
  async #sifted(one: PreparedLot): Promise<LotResult> {
    const { lot, items } = one;
    if (items.length > 1) {
      const half = Math.ceil(items.length / 2);
      const [first] = (await this.#storeTogether([slice(one, 0, half)])) as [LotResult];
      if (first.error !== null) return first;
      const [second] = (await this.#storeTogether([slice(one, half)])) as [LotResult];
      return {
        done: first.done + second.done,
        stored: first.stored + second.stored,
        repeats: first.repeats + second.repeats,
        error: second.error,
      };
    }
    const message = lot.messages[0] as LotMessage;
    const instead = await this.#deps.prepare(message.refused(REFUSED), items[0]?.event.id);
    try {
      const [result] = (await this.#commit([{ lot, items: [instead] }])) as [LotResult];
      return result;
    } catch (error) {
      const isStale = error instanceof StaleProjects;
      return { done: 0, stored: 0, repeats: 0, error: isStale ? STALE : lotError(error) };
    }
  }

  async #commit(lots: readonly PreparedLot[]): Promise<LotResult[]> {
    const { db, places, makePartitions } = this.#deps;
    for (let tries = 1; ; tries++) {
      const reserved: PreparedEvent[] = [];
      try {
        const { fresh, accepted } = await db.hotTransaction((tx) => this.#insert(tx, lots, reserved));
        return fresh.map((items, n) => this.#stored(items, accepted, lots[n]!));
      } catch (error) {
        places.unreserve(reserved);
        // The commit may have been done: then deliveries are leased by this node that the dispatcher does not know.
        if (isConnectionError(error) && !isUndone(error)) places.unsure(reserved);
        if (!isMissingPartition(error) || tries > 1) throw error;
        await makePartitions();
      }
    }
  }

  async #insert(
    tx: HotQueryable,
    lots: readonly PreparedLot[],
    reserved: PreparedEvent[],
  ): Promise<{ fresh: PreparedEvent[][]; accepted: Accepted }> {
    const { fresh, positions } = await freshItems(tx, lots);
    const items = fresh.flat();
    if (items.length === 0) return { fresh, accepted: { duplicates: new Map(), waiting: new Set() } };
    this.#deps.places.reserve(items);
    reserved.push(...items);
    const accepted = await acceptEventsIn(tx, acceptBatch(items, this.#deps.nodeId));
    if (accepted.staleProjects.size > 0) throw new StaleProjects(accepted.staleProjects);
    await movePositions(tx, positions);
    return { fresh, accepted };
  }

  #stored(
    items: readonly PreparedEvent[],
    { duplicates, waiting }: Accepted,
    { lot }: PreparedLot,
  ): LotResult {
    const { metrics, places } = this.#deps;
    if (items.length > 0) metrics.batchSize.accept.observe(items.length);
    for (const item of items) {
      if (duplicates.has(item.event.id)) {
        places.unreserve([item]);
        metrics.events.duplicate.inc();
        continue;
      }
      places.stored(item, waiting);
      if (item.event.status === 'Failure') metrics.events.unmatched.inc();
      else metrics.events.stored.inc();
    }
    const { length } = lot.messages;
    return { done: length, stored: items.length, repeats: length - items.length, error: null };
  }
}

const slice = ({ lot, items }: PreparedLot, from: number, to?: number): PreparedLot => ({
  lot: { ...lot, messages: lot.messages.slice(from, to) },
  items: items.slice(from, to),
});

/** The messages of each lot that were not stored before, and the positions of the streams after them. */
async function freshItems(
  tx: HotQueryable,
  lots: readonly PreparedLot[],
): Promise<{ fresh: PreparedEvent[][]; positions: StreamPosition[] }> {
  const ordered = lots
    .filter(({ lot }) => lot.order === 'ordered')
    .map(({ lot }) => [streamName(lot), lot] as const);
  const streams = new Map(ordered);
  const positions = await lockPositions(tx, [...streams.values()]);
  const keyed = lots.flatMap(({ lot }) => {
    const { order } = lot;
    if (order === 'ordered') return [];
    const keys = lot.messages.flatMap(({ key }) => key ?? []);
    return keys.map((messageId) => ({ ...lot, messageId, keepMs: order.keepMs }));
  });
  const news = await keepMessages(tx, keyed);
  // A message may come twice in a batch, even in a lot.
  const isNew = (lot: Lot, { key }: LotMessage): boolean => {
    if (key === null) return true;
    if (lot.order !== 'ordered') return news.delete(messageName(lot, key));
    const name = streamName(lot);
    if (!isAfter(key, positions.get(name) ?? '')) return false;
    positions.set(name, key);
    return true;
  };
  const fresh = lots.map(({ lot, items }) =>
    items.filter((_, n) => isNew(lot, lot.messages[n] as LotMessage)),
  );
  return {
    fresh,
    positions: [...streams].map(([name, lot]) => ({ ...lot, position: positions.get(name) ?? '' })),
  };
}

/** As the database compares them, by bytes. */
const isAfter = (key: string, position: string): boolean =>
  Buffer.compare(Buffer.from(key), Buffer.from(position)) > 0;

function lotError(error: unknown): Error {
  if (isConnectionError(error))
    return new AppError('database_unavailable', { retry: RETRY_SECONDS }, because(error));
  return error instanceof Error ? error : new Error(String(error));
}
