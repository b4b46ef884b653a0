/**
 * Work that ends when a signal aborts. One signal ends all requests of a node, and adding a listener to a signal walks through
 * all that it has. So a signal has one listener here, and what it ends is in a set.
 */
const bySignal = new WeakMap<AbortSignal, Set<Abortable>>();

interface Abortable {
  abort(): void;
}

export function addAbortListener(signal: AbortSignal, work: Abortable): void {
  let listeners = bySignal.get(signal);
  if (listeners === undefined) {
    const added = new Set<Abortable>();
    signal.addEventListener('abort', () => {
      for (const listener of added) listener.abort();
    });
    bySignal.set(signal, added);
    listeners = added;
  }
  listeners.add(work);
}

export function removeAbortListener(signal: AbortSignal, work: Abortable): void {
  bySignal.get(signal)?.delete(work);
}
