/**
 * Functions that run when a signal aborts. One signal ends all requests of a node, and adding a listener to a signal walks through
 * all that it has. So a signal has one listener here, and what it calls is in a set.
 */
const bySignal = new WeakMap<AbortSignal, Set<() => void>>();

export function addAbortListener(signal: AbortSignal, run: () => void): void {
  let listeners = bySignal.get(signal);
  if (listeners === undefined) {
    const added = new Set<() => void>();
    signal.addEventListener('abort', () => {
      for (const listener of added) listener();
    });
    bySignal.set(signal, added);
    listeners = added;
  }
  listeners.add(run);
}

export function removeAbortListener(signal: AbortSignal, run: () => void): void {
  bySignal.get(signal)?.delete(run);
}
