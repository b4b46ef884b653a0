import { isEventTypePattern } from './subscription.ts';

interface Takes {
  readonly id: string;
  readonly source_id: string;
  readonly event_types: readonly string[];
}

/** An event type, or the types that begin with a text. */
interface Taken<T> {
  by: T;
  text: string;
  isPrefix: boolean;
}

/**
 * Two subscriptions that may match the same event, the older first, if there are any. Filters are not compared: no one knows the events to
 * come. In their sorted order the types that begin with a text follow it, so one pass compares each type only with the
 * patterns that it is in.
 */
export function overlapOf<T extends Takes>(subscriptions: readonly T[]): [T, T] | undefined {
  const sorted = subscriptions.flatMap(takenBy).sort(byText);
  const around: { one: Taken<T>; isFirst: boolean }[] = [];
  // The subscriptions of the types in `around`, by their source. No two of them overlap.
  const open = new Map<string, T>();
  for (const one of sorted) {
    for (let last = around.at(-1); last !== undefined && !isIn(one, last.one); last = around.at(-1)) {
      if (last.isFirst) open.delete(last.one.by.source_id);
      around.pop();
    }
    const { by } = one;
    const other = rivalOf(by, open);
    if (other !== undefined) return other.id < by.id ? [other, by] : [by, other];
    around.push({ one, isFirst: !open.has(by.source_id) });
    open.set(by.source_id, by);
  }
  return undefined;
}

function takenBy<T extends Takes>(by: T): Taken<T>[] {
  return by.event_types.map((type) => {
    const isPrefix = isEventTypePattern(type);
    return { by, text: isPrefix ? type.slice(0, -1) : type, isPrefix };
  });
}

/** By code units, and a pattern before the type of the same text, which is in it. */
function byText(a: Taken<unknown>, b: Taken<unknown>): number {
  if (a.text !== b.text) return a.text < b.text ? -1 : 1;
  return Number(b.isPrefix) - Number(a.isPrefix);
}

const isIn = (one: Taken<unknown>, around: Taken<unknown>): boolean =>
  around.isPrefix ? one.text.startsWith(around.text) : one.text === around.text;

/** Without a source a subscription takes the events of all of them. */
function rivalOf<T extends Takes>(by: T, open: ReadonlyMap<string, T>): T | undefined {
  const rivals = by.source_id === '' ? [...open.values()] : [open.get(''), open.get(by.source_id)];
  return rivals.find((each) => each !== undefined && each.id !== by.id);
}
