import {
  keepMessages,
  lockPositions,
  messageName,
  movePositions,
  type StreamPosition,
  streamName,
} from '../store/brokers/broker-lots.ts';
import type { Database, HotQueryable } from '../store/database/database.ts';
import { type AcceptResult, acceptEventsIn } from '../store/queue/accept-events.ts';
import type { Lot, LotMessage } from './lot.ts';
import { acceptBatch, type PreparedEvent } from './prepare-event.ts';

/**
 * Stores lots of brokers in one transaction: positions are locked, repeats dropped, the rest stored by the statement that
 * stores every event, the positions moved, commit. So an event is stored exactly if its place in the broker is stored. A
 * redelivery finds the place and writes nothing.
 */
export interface PreparedLot {
  lot: Lot;
  /** One for each message, in order. */
  items: readonly PreparedEvent[];
}

/** The config of these projects moved on since matching. Nothing of the transaction is stored. */
export class StaleProjects extends Error {
  readonly ids: ReadonlySet<string>;

  constructor(ids: ReadonlySet<string>) {
    super('the config of a project moved on');
    this.ids = ids;
  }
}

interface InsertedLots extends Pick<AcceptResult, 'duplicates' | 'waiting'> {
  /** They were stored before. */
  repeats: ReadonlySet<PreparedEvent>;
}

export function insertLots(
  db: Database,
  lots: readonly PreparedLot[],
  nodeId: string,
): Promise<InsertedLots> {
  return db.hotTransaction(async (tx) => {
    const { fresh, repeats, positions } = await freshItems(tx, lots);
    if (fresh.length === 0) return { duplicates: new Map(), waiting: new Set(), repeats };
    const { staleProjects, ...accepted } = await acceptEventsIn(tx, acceptBatch(fresh, nodeId));
    if (staleProjects.size > 0) throw new StaleProjects(staleProjects);
    await movePositions(tx, positions);
    return { ...accepted, repeats };
  });
}

/** The messages that were not stored before, and the positions of the streams after them. */
async function freshItems(
  tx: HotQueryable,
  lots: readonly PreparedLot[],
): Promise<{ fresh: PreparedEvent[]; repeats: Set<PreparedEvent>; positions: StreamPosition[] }> {
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
  const fresh: PreparedEvent[] = [];
  const repeats = new Set<PreparedEvent>();
  for (const { lot, items } of lots)
    for (const [n, item] of items.entries())
      if (isNew(lot, lot.messages[n] as LotMessage)) fresh.push(item);
      else repeats.add(item);
  return {
    fresh,
    repeats,
    positions: [...streams].map(([name, lot]) => ({ ...lot, position: positions.get(name) ?? '' })),
  };
}

/** As the database compares them, by bytes. */
const isAfter = (key: string, position: string): boolean =>
  Buffer.compare(Buffer.from(key), Buffer.from(position)) > 0;
